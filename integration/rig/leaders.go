package rig

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/integration/cluster"
)

func (w *Rig) Node(id int) *cluster.Node { return w.Cluster.Nodes[id-1] }

// Leader is the broker that leads a partition now, -1 if none does.
func (w *Rig) Leader(topic string, partition int32) int {
	w.Helper()
	leader := -1
	w.Eventually(time.Minute, func() error {
		topics, err := w.Admin().ListTopics(w.Ctx, topic)
		if err == nil {
			leader = int(topics[topic].Partitions[partition].Leader)
		}
		return err
	})
	return leader
}

// InSync waits until all replicas are in sync.
func (w *Rig) InSync(topic string) {
	w.Helper()
	w.Eventually(time.Minute, func() error {
		topics, err := w.Admin().ListTopics(w.Ctx, topic)
		if err != nil {
			return err
		}
		for _, p := range topics[topic].Partitions {
			if len(p.ISR) != len(p.Replicas) {
				return fmt.Errorf("partition %d: in sync are %v of %v", p.Partition, p.ISR, p.Replicas)
			}
		}
		return nil
	})
}

// AllInSync waits until all replicas of all topics, Kafka's own among them, are in sync.
func (w *Rig) AllInSync() {
	w.Helper()
	w.Eventually(2*time.Minute, func() error {
		topics, err := w.Admin().ListTopicsWithInternal(w.Ctx)
		if err != nil {
			return err
		}
		for _, t := range topics {
			for _, p := range t.Partitions {
				if len(p.ISR) != len(p.Replicas) {
					return fmt.Errorf("%s-%d: in sync are %v of %v", t.Topic, p.Partition, p.ISR, p.Replicas)
				}
			}
		}
		return nil
	})
}

// Prefer moves the leadership of the first three partitions to their preferred replicas.
func (w *Rig) Prefer(topic string) {
	w.Helper()
	set := kadm.TopicsSet{}
	set.Add(topic, 0, 1, 2)
	if _, err := w.Admin().ElectLeaders(w.Ctx, kadm.ElectPreferredReplica, set); err != nil {
		w.Fatal(err)
	}
}
