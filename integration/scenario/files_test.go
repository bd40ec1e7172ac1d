package scenario

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

// TestNothingStaysOpen: after a thousand copies, copies that failed and reads from the store, what retention expires and the topics that are
// deleted leave the store, and the broker holds no deleted file and no descriptor below the store: the space that Kafka frees is free.
func TestNothingStaysOpen(t *testing.T) {
	w := start(t, cluster.Options{Version: "4.4.0", Tables: true, JVMArgs: quick, Properties: map[string]string{
		"log.segment.delete.delay.ms": "100", "log.initial.task.delay.ms": "1000", "file.delete.delay.ms": "100"}})
	const many, table, partitions, rounds = "many", "rows", 20, 54
	w.Topic(many, partitions, map[string]string{"segment.ms": "1"}) // each record closes the segment before it
	w.Topic(table, 1, nil)
	w.CreateTable(table)
	_, id := w.TopicID(many)
	s, cl := rig.NewSeeded(12), w.Client(kgo.ProducerLinger(0))
	w.Fill(cl, s, table, 0, 2500<<10)
	store := dirOutage(w.StoreDir())
	for round := range rounds {
		if round == rounds/2 { // copies fail for a while
			if err := store.down(); err != nil {
				t.Fatal(err)
			}
			w.AwaitLog(0, "Error occurred while copying log segments", time.Minute)
			if err := store.up(); err != nil {
				t.Fatal(err)
			}
		}
		var records []*kgo.Record
		for p := range int32(partitions) {
			records = append(records, &kgo.Record{Topic: many, Partition: p, Value: s.Value(2<<10, "round %d partition %d ", round, p)})
		}
		w.Produce(cl, records...)
	}
	failures := strings.Count(w.Cluster.Nodes[0].Log(), "Error occurred while copying log segments")
	w.TierAll(many)
	w.TierAll(table)
	w.Covered(table)
	copies := len(w.Stored(id))
	if copies < 1000 || failures == 0 {
		t.Errorf("%d segments were copied and %d copies failed; a thousand and some are to be tested", copies, failures)
	}
	if n := len(w.Consume(many)); n != rounds*partitions {
		t.Errorf("%d records were read from the store, %d were produced", n, rounds*partitions)
	}
	w.NothingDeletedIsHeld() // local segments were deleted
	w.Alter(many, "retention.ms", "1000")
	w.Eventually(2*time.Minute, func() error {
		for _, left := range w.Stored(id) {
			if !w.gaveUp(left) {
				return fmt.Errorf("%s is older than retention and still stored, complete: %v", left.Log, left.Complete)
			}
		}
		return nil
	})
	_, id = w.TopicID(table)
	if stored := len(w.Stored(id)); stored < 2 {
		t.Errorf("the other topic has %d segments in the store", stored)
	}
	if _, err := w.Admin().DeleteTopics(w.Ctx, many, table); err != nil {
		t.Fatal(err)
	}
	w.Eventually(2*time.Minute, func() error {
		if left := w.Stored(id); len(left) > 0 {
			return fmt.Errorf("%d segments of the deleted topic are still stored", len(left))
		}
		for _, pattern := range []string{many + "-*", table + "-*"} {
			if left, _ := filepath.Glob(filepath.Join(w.Cluster.Nodes[0].LogDirs[0], pattern)); len(left) > 0 {
				return fmt.Errorf("%d directories of deleted topics are left, such as %s", len(left), left[0])
			}
		}
		return nil
	})
	w.NothingDeletedIsHeld()
	w.Eventually(time.Minute, func() error {
		if open := w.OpenBelow(1, w.StoreDir()); open > 0 {
			return fmt.Errorf("%d files of the store are open", open)
		}
		return nil
	})
	w.Done("%d copies, %d tasks that failed; retention and two deleted topics left no object and no deleted file that is held", copies, failures)
}

// gaveUp tells that the copy of a stored segment failed. What is left of it goes minutes later, because a store may apply a put late; that is
// proved beside the code.
func (w *world) gaveUp(s rig.StoredSegment) bool {
	return strings.Contains(w.Cluster.Nodes[0].Log(), filepath.Base(s.Log)+" failed in stage")
}
