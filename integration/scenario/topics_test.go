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

// TestTopics: what an operator does to topics that are, or cannot be, tables.
func TestTopics(t *testing.T) {
	w := start(t, cluster.Options{Version: "4.4.0", Tables: true, JVMArgs: quick})
	w.AwaitLog(0, "tables.ready", time.Minute) // on a cluster where no topic is tiered yet
	w.refused()
	w.deleted()
	w.Done("unfit topics refused with the reason; a deleted topic's segments became rows; a topic of the same name is another table")
}

// refused checks the words for what cannot be a table.
func (w *world) refused() {
	w.Helper()
	w.Topic("tiered", 1, nil)
	w.Topic("compacted", 1, map[string]string{"remote.storage.enable": "false", "cleanup.policy": "compact", "local.retention.ms": "-2"})
	w.Topic("local", 1, map[string]string{"remote.storage.enable": "false", "local.retention.ms": "-2"})
	broken := filepath.Join(w.Cluster.Dir(), "broken.json")
	odd := filepath.Join(w.Cluster.Dir(), "odd.json")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			w.Fatal(err)
		}
	}
	write(broken, "{\n  \"type\": \"object\",\n  \"properties\" {}\n}\n")
	write(odd, `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"shape"}}}}}`)
	w.CreateTable("tiered")
	for _, c := range []struct {
		args  []string
		words []string
	}{
		{[]string{"--topic", "compacted"}, []string{"cleanup.policy", "compact"}},
		{[]string{"--topic", "local"}, []string{"remote.storage.enable"}},
		{[]string{"--topic", "nowhere"}, []string{"nowhere", "does not exist"}},
		{[]string{"--topic", "tiered"}, []string{"tiered", "already"}},
		{[]string{"--topic", "tiered", "--format", "json", "--schema", broken}, []string{"line 3 column"}},
		{[]string{"--topic", "tiered", "--format", "json", "--schema", odd}, []string{"/properties/a/properties/b/type", "line 1, column"}},
		{[]string{"--topic", "tiered", "--format", "json"}, []string{"--schema"}},
		{[]string{"--topic", "tiered", "--format", "avro"}, []string{"avro", "raw", "json"}},
		{[]string{"--topic", "tiered", "--name", "x__quarantine"}, []string{"__quarantine", "--name"}},
	} {
		out, err := w.Tidemark(append([]string{"table", "create"}, c.args...)...)
		if err == nil {
			w.Errorf("table create %v succeeded: %s", c.args, out)
			continue
		}
		for _, word := range c.words {
			if !strings.Contains(err.Error(), word) {
				w.Errorf("table create %v does not say %q: %v", c.args, word, err)
			}
		}
	}
}

// deleted deletes a topic whose segments wait and makes another of the same name.
func (w *world) deleted() {
	w.Helper()
	const topic = "again"
	s := rig.NewSeeded(3)
	w.Topic(topic, 2, nil)
	w.CreateTable(topic)
	_, oldID := w.TopicID(topic)
	old := w.write2(s, topic, 1<<20)
	w.TierAll(topic)
	w.Covered(topic)
	if out, err := w.Tidemark("table", "pause", topic); err != nil {
		w.Fatal(err, out)
	}
	w.AwaitLog(0, "to=PAUSED", 30*time.Second)
	old = append(old, w.write2(s, topic, 3<<20)...)
	w.TierAll(topic)
	if _, err := w.Admin().DeleteTopic(w.Ctx, topic); err != nil {
		w.Fatal(err)
	}
	w.Topic(topic, 2, nil)
	_, newID := w.TopicID(topic)
	if newID == oldID {
		w.Fatal("the topic is not another")
	}
	out, err := w.Tidemark("table", "create", "--topic", topic)
	if err == nil || !strings.Contains(err.Error(), "--name") || !strings.Contains(err.Error(), "kafka.again") {
		w.Errorf("the name of the deleted topic's table was given away, or not in words: %v %s", err, out)
	}
	w.CreateTable(topic, "--name", "again2")
	fresh := w.write2(s, topic, 2<<20)
	w.TierAll(topic)
	if out, err := w.Tidemark("table", "resume", oldID); err != nil {
		w.Fatal(err, out)
	}
	w.Covered(newID)
	w.Eventually(time.Minute, func() error {
		if n := len(w.Rows(topic, rig.RawValue).Rows); n != len(old) {
			return fmt.Errorf("the table of the deleted topic has %d rows of %d", n, len(old))
		}
		return nil
	})
	w.SameRows(w.Rows(topic, rig.RawValue), old)
	w.SameRows(w.Rows("again2", rig.RawValue), fresh)
	if _, err := w.Show(topic); err == nil || !strings.Contains(err.Error(), "topic id") {
		w.Errorf("two tables of topics of one name, and table show does not ask which: %v", err)
	}
	w.Eventually(time.Minute, func() error {
		if left := w.Stored(oldID); len(left) > 0 {
			return fmt.Errorf("%d segments of the deleted topic are still stored, although the table has them", len(left))
		}
		return nil
	})
	if out, err := w.Tidemark("table", "drop", oldID); err != nil {
		w.Fatal(err, out)
	}
	w.SameRows(w.Rows("again2", rig.RawValue), fresh)
}

// write2 produces size bytes to each of two partitions.
func (w *world) write2(s rig.Seeded, topic string, size int) []rig.Record {
	w.Helper()
	cl := w.Client()
	return append(w.Fill(cl, s, topic, 0, size), w.Fill(cl, s, topic, 1, size)...)
}
