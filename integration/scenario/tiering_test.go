package scenario

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

// TestTiering: a topic of every kind of batch is tiered; the stored objects and what Fetch returns are equal to the local
// files, byte for byte.
func TestTiering(t *testing.T) {
	for _, c := range []struct {
		kafka, jdk string
		tables     bool
		dirs       int
	}{
		{"4.0.2", "25", false, 1}, // TestTable runs both versions with both plugin classes on the default JDK
		{"4.4.0", "25", true, 2},
		{"4.4.0", "17", false, 2},
	} {
		manager := "stock metadata manager"
		if c.tables {
			manager = "both plugin classes"
		}
		t.Run(fmt.Sprintf("Kafka %s, JDK %s, %s, %d log dirs", c.kafka, c.jdk, manager, c.dirs), func(t *testing.T) {
			java, ok := cluster.JDKs(c.jdk)[c.jdk]
			if !ok {
				t.Skipf("SKIPPED: no JDK %s on this machine", c.jdk)
			}
			w := start(t, cluster.Options{Version: c.kafka, Java: java, Tables: c.tables, LogDirs: c.dirs})
			w.tierMixed(c.dirs, c.tables)
		})
	}
}

func (w *world) tierMixed(dirs int, tables bool) {
	const topic, partitions = "mixed", 2
	w.Topic(topic, partitions, nil)
	_, id := w.TopicID(topic)
	w.produceMixed(topic, partitions)
	files := w.Save(topic)
	for p := range int32(partitions) {
		codecs, control := rig.BatchKinds(files.Whole(p))
		if len(codecs) != 5 || control != 2 || len(files[p]) < 3 {
			w.Fatalf("partition %d is not what is to be tested: batches %v, %d control batches, %d segments", p, codecs, control, len(files[p]))
		}
	}
	if used := w.usedDirs(topic); used != dirs {
		w.Fatalf("the topic's partitions are in %d log dirs instead of %d", used, dirs)
	}
	visible := w.Consume(topic)
	w.TierAll(topic)
	segments := w.SameStored(id, files)
	size := 0
	for p := range int32(partitions) {
		got := w.FetchAll(topic, p)
		if d := rig.Different(got, files.Whole(p)); d != "" {
			w.Errorf("partition %d: what Fetch returns differs from the local log: %s", p, d)
		}
		size += len(got)
	}
	if tables {
		w.CreateTable(topic)
		w.Covered(topic)
		w.SameRows(w.Rows(topic, rig.RawValue), visible)
		w.Verify(topic)
	}
	w.Done("%d segments, %d bytes equal in the store and through Fetch; %d rows equal: %v", segments, size, len(visible), tables)
}

// usedDirs is how many log dirs hold partitions of a topic.
func (w *world) usedDirs(topic string) (used int) {
	for _, dir := range w.Cluster.Nodes[0].LogDirs {
		if found, _ := filepath.Glob(filepath.Join(dir, topic+"-*")); len(found) > 0 {
			used++
		}
	}
	return used
}

// produceMixed writes batches of all codecs, null and empty keys and values, headers, a committed and an aborted transaction.
func (w *world) produceMixed(topic string, partitions int32) {
	w.Helper()
	codecs := []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
	s := rig.NewSeeded(1)
	for c, codec := range codecs {
		cl := w.Client(kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(5*time.Millisecond))
		for round := range 16 {
			var records []*kgo.Record
			for i := range 8 * int(partitions) {
				r := &kgo.Record{Topic: topic, Partition: int32(i) % partitions, Key: fmt.Append(nil, "key ", i)}
				r.Value = append(s.Value(6<<10+i*100, "codec %d round %d record %d ", c, round, i), bytes.Repeat([]byte("compressible "), 100)...)
				vary(r, i)
				records = append(records, r)
			}
			w.Produce(cl, records...)
		}
	}
	for _, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		cl := w.Client(kgo.TransactionalID(fmt.Sprint("mixed ", end)))
		if err := cl.BeginTransaction(); err != nil {
			w.Fatal(err)
		}
		for p := range partitions {
			w.Fill(cl, s, topic, p, 100<<10)
		}
		if err := cl.EndTransaction(w.Ctx, end); err != nil {
			w.Fatal(err)
		}
	}
	w.Decided(topic)
}

// vary makes some records special.
func vary(r *kgo.Record, i int) {
	if i%3 == 0 {
		r.Key = nil
	}
	switch i {
	case 4, 5:
		r.Value = nil
	case 6, 7:
		r.Key, r.Value = []byte{}, []byte{}
	case 8, 9:
		r.Headers = []kgo.RecordHeader{{Key: "a", Value: []byte("1")}, {Key: "a", Value: nil}, {Key: "", Value: []byte{}}}
	}
}
