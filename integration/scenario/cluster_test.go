package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

// TestCluster: three brokers, leaders that are killed and move while records are produced and tiered; the table has every record once.
func TestCluster(t *testing.T) {
	w := start(t, cluster.Options{Version: "4.4.0", Nodes: 3, Tables: true, Heap: "384m", JVMArgs: quick, Properties: map[string]string{
		"rsm.config.tables.linger.ms": "500", "rsm.config.tables.list.interval.ms": "5000",
		"broker.session.timeout.ms": "6000", "controller.quorum.election.timeout.ms": "1000", "min.insync.replicas": "2",
	}})
	const topic, partitions = "moving", 3
	w.Topic(topic, partitions, nil)
	w.CreateTable(topic)
	_, id := w.TopicID(topic)
	b := w.ProduceBeside(topic, partitions, 250<<10)
	b.GoesOn(600)

	first := w.Leader(topic, 0)
	w.Node(first).Kill()
	w.Eventually(time.Minute, func() error {
		if l := w.Leader(topic, 0); l == first || l < 0 {
			return fmt.Errorf("partition 0 is still led by broker %d, which is dead", l)
		}
		return nil
	})
	b.GoesOn(600)
	if err := w.Node(first).Start(w.Ctx); err != nil {
		t.Fatal(err)
	}
	w.InSync(topic)
	w.Prefer(topic) // the leaders move back while everything runs
	b.GoesOn(300)
	second := w.Leader(topic, 1)
	w.Node(second).Stop(time.Minute)
	b.GoesOn(600)
	if err := w.Node(second).Start(w.Ctx); err != nil {
		t.Fatal(err)
	}
	w.InSync(topic)
	w.Prefer(topic)
	third := w.pausedLeader(topic, 2, b)
	acked := b.Stop()

	log := w.Consume(topic)
	w.InLog(log, acked)
	w.TierAll(topic)
	w.InLog(w.Consume(topic), acked) // from the store, whoever copied it
	w.Covered(topic)
	w.SameRows(w.Rows(topic, rig.RawValue), log)
	w.Verify(topic)
	for _, s := range w.Stored(id) {
		if s.Complete {
			continue
		}
		if info, err := os.Stat(s.Log); err == nil {
			t.Logf("a copy that a crash interrupted is left in the store: %s, %d bytes", filepath.Base(s.Log), info.Size())
		}
	}
	w.Done("broker %d killed, broker %d stopped, broker %d paused until another led and woken: %d records are rows once", first, second, third, len(log))
}

// pausedLeader stops the process of a leader in the middle of its work until another broker leads, and lets it go on with what it
// believes to be its own.
func (w *world) pausedLeader(topic string, partition int32, b *rig.Background) int {
	w.Helper()
	paused := w.Leader(topic, partition)
	before := strings.Count(w.Node(paused).Log(), "table.converted")
	w.Eventually(time.Minute, func() error {
		if strings.Count(w.Node(paused).Log(), "table.converted") == before {
			return fmt.Errorf("broker %d converts nothing", paused)
		}
		return nil
	})
	w.Node(paused).Pause()
	defer w.Node(paused).Resume()
	w.Eventually(time.Minute, func() error {
		if l := w.Leader(topic, partition); l == paused || l < 0 {
			return fmt.Errorf("partition %d is still led by broker %d, which sleeps", partition, l)
		}
		return nil
	})
	b.GoesOn(900)
	w.Node(paused).Resume()
	w.InSync(topic)
	b.GoesOn(300)
	return paused
}
