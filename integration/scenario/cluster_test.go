package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/integration/cluster"
)

// TestCluster: three brokers, leaders that are killed and move while records are produced and tiered; the table has every record once.
func TestCluster(t *testing.T) {
	w := start(t, cluster.Options{Version: "4.4.0", Nodes: 3, Tables: true, Heap: "384m", JVMArgs: quick, Properties: map[string]string{
		"rsm.config.tables.linger.ms": "500", "rsm.config.tables.list.interval.ms": "5000",
		"broker.session.timeout.ms": "6000", "controller.quorum.election.timeout.ms": "1000", "min.insync.replicas": "2",
	}})
	const topic, partitions = "moving", 3
	w.topic(topic, partitions, nil)
	w.createTable(topic)
	_, id := w.topicID(topic)
	b := w.produceBeside(topic, partitions, 250<<10)
	b.goesOn(600)

	first := w.leader(topic, 0)
	w.node(first).Kill()
	w.eventually(time.Minute, func() error {
		if l := w.leader(topic, 0); l == first || l < 0 {
			return fmt.Errorf("partition 0 is still led by broker %d, which is dead", l)
		}
		return nil
	})
	b.goesOn(600)
	if err := w.node(first).Start(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.inSync(topic)
	w.prefer(topic) // the leaders move back while everything runs
	b.goesOn(300)
	second := w.leader(topic, 1)
	w.node(second).Stop(time.Minute)
	b.goesOn(600)
	if err := w.node(second).Start(w.ctx); err != nil {
		t.Fatal(err)
	}
	w.inSync(topic)
	w.prefer(topic)
	third := w.pausedLeader(topic, 2, b)
	acked := b.stop()

	log := w.consume(topic)
	w.inLog(log, acked)
	w.tierAll(topic)
	w.inLog(w.consume(topic), acked) // from the store, whoever copied it
	w.covered(topic)
	w.sameRows(w.rows(topic, rawValue), log)
	w.verify(topic)
	for _, s := range w.stored(id) {
		if s.complete {
			continue
		}
		if info, err := os.Stat(s.log); err == nil {
			t.Logf("a copy that a crash interrupted is left in the store: %s, %d bytes", filepath.Base(s.log), info.Size())
		}
	}
	w.done("broker %d killed, broker %d stopped, broker %d paused until another led and woken: %d records are rows once", first, second, third, len(log))
}

// pausedLeader stops the process of a leader in the middle of its work until another broker leads, and lets it go on with what it
// believes to be its own.
func (w *world) pausedLeader(topic string, partition int32, b *background) int {
	w.Helper()
	paused := w.leader(topic, partition)
	before := strings.Count(w.node(paused).Log(), "table.converted")
	w.eventually(time.Minute, func() error {
		if strings.Count(w.node(paused).Log(), "table.converted") == before {
			return fmt.Errorf("broker %d converts nothing", paused)
		}
		return nil
	})
	w.node(paused).Pause()
	defer w.node(paused).Resume()
	w.eventually(time.Minute, func() error {
		if l := w.leader(topic, partition); l == paused || l < 0 {
			return fmt.Errorf("partition %d is still led by broker %d, which sleeps", partition, l)
		}
		return nil
	})
	b.goesOn(900)
	w.node(paused).Resume()
	w.inSync(topic)
	b.goesOn(300)
	return paused
}

func (w *world) node(id int) *cluster.Node { return w.cluster.Nodes[id-1] }

// leader is the broker that leads a partition now, -1 if none does.
func (w *world) leader(topic string, partition int32) int {
	w.Helper()
	leader := -1
	w.eventually(time.Minute, func() error {
		topics, err := w.admin().ListTopics(w.ctx, topic)
		if err == nil {
			leader = int(topics[topic].Partitions[partition].Leader)
		}
		return err
	})
	return leader
}

// inSync waits until all replicas are in sync.
func (w *world) inSync(topic string) {
	w.Helper()
	w.eventually(time.Minute, func() error {
		topics, err := w.admin().ListTopics(w.ctx, topic)
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

// prefer moves every leadership to the preferred replica.
func (w *world) prefer(topic string) {
	w.Helper()
	set := kadm.TopicsSet{}
	set.Add(topic, 0, 1, 2)
	if _, err := w.admin().ElectLeaders(w.ctx, kadm.ElectPreferredReplica, set); err != nil {
		w.Fatal(err)
	}
}
