package scenario

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
	layout "tidemark/internal/objectstore/key"
)

// TestSweep: what a killed copy, a lost journal and a topic that nobody deleted here leave in the store goes; the segments that Kafka knows
// stay, byte for byte.
func TestSweep(t *testing.T) {
	w := start(t, cluster.Options{Version: "4.4.0", Tables: true, JVMArgs: quick, Properties: map[string]string{
		"rsm.config.sweep.interval.ms": "1000", "rsm.config.sweep.dry.run": "false", "rsm.config.sweep.grace.ms": "10000",
		"remote.log.manager.task.interval.ms": "500", "broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "500",
	}})
	c := &crashes{world: w, topic: "swept", seed: rand.New(rand.NewPCG(3, 4))}
	w.Topic(c.topic, crashPartitions, nil)
	var id [16]byte
	id, c.id = w.TopicID(c.topic)
	stored := filepath.Join(c.StoreDir(), "segments", c.id, "*", "*")

	b := c.ProduceBeside(c.topic, crashPartitions, 700<<10)
	b.GoesOn(500)
	c.killAt(moment{"copying: a log object is there and its sidecar is not", func() func() bool { return func() bool { return c.torn(stored) } }})
	left := withoutSidecar(stored)
	lost, _ := layout.Segment(id, 0, 0, [16]byte{0xee, 1})
	gone, _ := layout.Segment([16]byte{0xee, 2}, 3, 100, [16]byte{0xee, 3})
	for _, name := range []string{lost, gone} {
		path := filepath.Join(c.StoreDir(), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("left behind"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.startAgain()
	b.GoesOn(100)
	acked := b.Stop()
	log := c.Consume(c.topic)
	c.InLog(log, acked)
	files := c.Save(c.topic)
	c.TierAll(c.topic)
	from := time.Now()
	c.Eventually(2*time.Minute, func() error {
		if n := len(withoutSidecar(stored)); n > 0 {
			return fmt.Errorf("%d log objects have no sidecar", n)
		}
		for _, name := range []string{lost, gone} {
			if _, err := os.Stat(filepath.Join(c.StoreDir(), name)); err == nil {
				return fmt.Errorf("%s is still there", name)
			}
		}
		return nil
	})
	c.Took("swept", from)
	segments := c.SameStored(c.id, files)
	for p := range int32(crashPartitions) {
		if d := rig.Different(c.FetchAll(c.topic, p), files.Whole(p)); d != "" {
			c.Errorf("partition %d: what Fetch returns differs from the local log: %s", p, d)
		}
	}
	for _, reason := range []string{"copy-abandoned", "reason=orphan"} {
		if len(left) > 0 && !strings.Contains(c.Cluster.Nodes[0].Log(), reason) {
			c.Errorf("the log does not say %s", reason)
		}
	}
	c.Done("%d orphans of a killed copy gone, %d segments of %d records equal", len(left), segments, len(log))
}

// withoutSidecar are the log objects of copies that did not end.
func withoutSidecar(pattern string) (names []string) {
	files, _ := filepath.Glob(pattern)
	for _, name := range files {
		if side, is := strings.CutSuffix(name, ".log"); is {
			if _, err := os.Stat(side + ".sidecar"); err != nil {
				names = append(names, name)
			}
		}
	}
	return names
}
