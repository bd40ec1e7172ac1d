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
)

// TestCrash: a broker that is killed at every point of its work, and stopped in order, goes on where it was: the log is whole, the
// store holds it byte for byte, and the table has every record once.
func TestCrash(t *testing.T) {
	for _, version := range []string{"4.4.0", "4.0.2"} {
		t.Run("Kafka "+version, func(t *testing.T) {
			c := newCrashes(t, version)
			moments := c.moments()
			if version == "4.0.2" { // its restarts take long: the moments that differ by version
				moments = moments[:3]
			}
			c.run(moments, len(moments)/3)
		})
	}
}

type crashes struct {
	*world
	topic string
	id    string
	seed  *rand.Rand
	did   []string
}

const crashPartitions = 2

func newCrashes(t *testing.T, version string) *crashes {
	t.Helper()
	// Small pauses make the broker do something worth interrupting all the time.
	w := start(t, cluster.Options{Version: version, Tables: true, LogDirs: 2, JVMArgs: quick, Properties: map[string]string{
		"rsm.config.tables.linger.ms": "200", "rsm.config.tables.list.interval.ms": "5000", "remote.log.manager.task.interval.ms": "500",
		"broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "500", // a restart waits until the old session has ended
	}})
	c := &crashes{world: w, topic: "crashing", seed: rand.New(rand.NewPCG(1, 2))}
	w.Topic(c.topic, crashPartitions, nil)
	w.CreateTable(c.topic)
	_, c.id = w.TopicID(c.topic)
	return c
}

// moment is a state of the broker's work in which it is killed.
type moment struct {
	name string
	// arm notes how things are and returns what tells that the moment has come.
	arm func() (come func() bool)
}

// moments are listed in the order of the work. What is seen in the directories is exact; the log follows by milliseconds.
func (c *crashes) moments() []moment {
	stored := filepath.Join(c.StoreDir(), "segments", c.id, "*", "*")
	scratch := filepath.Join(c.Cluster.Nodes[0].Dir(), "tidemark", "scratch", "convert-*", "*")
	data := filepath.Join(c.StoreDir(), "tables", c.id, "*", "*", "data", "*", "*", "*.parquet")
	metadata := filepath.Join(c.StoreDir(), "tables", c.id, "*", "*", "metadata", "*")
	claims := filepath.Join(c.StoreDir(), "catalog", "groups", c.id, "claims", "*", "*")
	return []moment{
		{"copying: a log object is there and its sidecar is not", func() func() bool { return func() bool { return c.torn(stored) } }},
		{"converting: a file is being written", func() func() bool { return func() bool { return glob(scratch) > 0 } }},
		{"right after a commit", func() func() bool { return more(claims) }},
		{"uploading: a new data file is there", func() func() bool { return more(data) }},
		{"committing: a new metadata file is there", func() func() bool { return more(metadata) }},
		{"event table.converted", func() func() bool { return c.event("table.converted") }},
		{"event commit.applied", func() func() bool { return c.event("commit.applied") }},
	}
}

func glob(pattern string) int { found, _ := filepath.Glob(pattern); return len(found) }

// more tells whether files have been added since it was made.
func more(pattern string) func() bool {
	before := glob(pattern)
	return func() bool { return glob(pattern) > before }
}

// torn tells whether a log object has no sidecar: a copy is between its two objects.
func (c *crashes) torn(pattern string) bool {
	files, _ := filepath.Glob(pattern)
	for _, name := range files {
		if side, is := strings.CutSuffix(name, ".log"); is {
			if _, err := os.Stat(side + ".sidecar"); err != nil {
				if _, err := os.Stat(name); err == nil {
					info, _ := os.Stat(name)
					return info != nil && time.Since(info.ModTime()) < time.Second // not one of an earlier crash
				}
			}
		}
	}
	return false
}

func (c *crashes) event(name string) func() bool {
	before := strings.Count(c.Cluster.Nodes[0].Log(), name)
	return func() bool { return strings.Count(c.Cluster.Nodes[0].Log(), name) > before }
}

// killAt kills the broker as soon as the moment has come.
func (c *crashes) killAt(m moment) {
	c.Helper()
	armed, come := time.Now(), m.arm()
	deadline := time.Now().Add(90 * time.Second)
	for !come() {
		if time.Now().After(deadline) {
			c.Fatalf("the moment %q has not come", m.name)
		}
		time.Sleep(200 * time.Microsecond) // the resolution of the moment, not a wait for it
	}
	c.Cluster.Nodes[0].Kill()
	c.did = append(c.did, m.name)
	c.Took("killed "+m.name, armed)
}

func (c *crashes) startAgain() {
	c.Helper()
	defer c.Took("serves again", time.Now())
	if err := c.Cluster.Nodes[0].Start(c.Ctx); err != nil {
		c.Fatalf("after %q: %v", c.did[len(c.did)-1], err)
	}
}

func (c *crashes) run(moments []moment, random int) {
	b := c.ProduceBeside(c.topic, crashPartitions, 700<<10)
	b.GoesOn(500)
	for _, m := range moments {
		c.killAt(m)
		c.startAgain()
		b.GoesOn(100)
	}
	if !c.Cluster.Nodes[0].Stop(time.Minute) {
		c.Errorf("the broker did not stop in order within a minute")
	}
	c.did = append(c.did, "clean restart")
	c.startAgain()
	for range random {
		b.GoesOn(1 + c.seed.IntN(600))
		c.Cluster.Nodes[0].Kill()
		c.did = append(c.did, "any time")
		c.startAgain()
	}
	b.GoesOn(100)
	acked := b.Stop()
	log := c.Consume(c.topic)
	c.InLog(log, acked)
	files := c.Save(c.topic)
	c.TierAll(c.topic)
	segments := c.SameStored(c.id, files)
	for p := range int32(crashPartitions) {
		if d := rig.Different(c.FetchAll(c.topic, p), files.Whole(p)); d != "" {
			c.Errorf("partition %d: what Fetch returns differs from the local log: %s", p, d)
		}
	}
	c.Covered(c.topic)
	c.SameRows(c.Rows(c.topic, rig.RawValue), log)
	c.Verify(c.topic)
	c.Eventually(time.Minute, func() error {
		for _, dir := range c.Cluster.Nodes[0].LogDirs {
			if n := glob(filepath.Join(dir, "tidemark-*.hold")); n > 0 {
				return fmt.Errorf("%d hold files are left in %s although the table has everything", n, dir)
			}
		}
		return nil
	})
	c.Done("%d crashes and restarts (%s): %d records are rows once, %d segments equal", len(c.did), strings.Join(c.did, "; "), len(log), segments)
}
