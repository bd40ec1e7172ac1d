package rig

import (
	"fmt"
	"slices"
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

// Place puts a partition onto brokers, waits until all of them are in sync and no other has it, and makes the first the leader.
func (w *Rig) Place(topic string, partition int32, brokers ...int32) {
	w.Helper()
	var req kadm.AlterPartitionAssignmentsReq
	req.Assign(topic, partition, brokers)
	w.Eventually(time.Minute, func() error {
		answers, err := w.Admin().AlterPartitionAssignments(w.Ctx, req)
		if err != nil {
			return err
		}
		return answers.Error()
	})
	w.Eventually(2*time.Minute, func() error {
		topics, err := w.Admin().ListTopics(w.Ctx, topic)
		if err != nil {
			return err
		}
		p := topics[topic].Partitions[partition]
		if !slices.Equal(p.Replicas, brokers) || len(p.ISR) != len(brokers) {
			return fmt.Errorf("%s-%d is on %v, in sync are %v; wanted is %v", topic, partition, p.Replicas, p.ISR, brokers)
		}
		return nil
	})
	w.Elect(topic, partition, int(brokers[0]))
}

// Elect makes the preferred replica of a partition its leader and waits until it is.
func (w *Rig) Elect(topic string, partition int32, preferred int) {
	w.Helper()
	set := kadm.TopicsSet{}
	set.Add(topic, partition)
	w.Eventually(time.Minute, func() error {
		if l := w.Leader(topic, partition); l != preferred {
			_, err := w.Admin().ElectLeaders(w.Ctx, kadm.ElectPreferredReplica, set)
			return fmt.Errorf("%s-%d is led by broker %d instead of %d: %w", topic, partition, l, preferred, err)
		}
		return nil
	})
}
