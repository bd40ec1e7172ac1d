package remotestorage

import (
	"reflect"
	"testing"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

// A deleted segment that a table needs is described by its sidecar alone, also in the next life.
func TestDescribeWhatIsDeleted(t *testing.T) {
	log := logtest.NewSegment(1000)
	log.Epochs = []kafkalog.EpochStart{{Epoch: 0, Start: 10}}
	log.Produce(kafkalog.None, "a", "b")
	cfg, store, c := config(t), storetest.NewMemory(), write(t, log)
	c.Epochs = []Epoch{{Epoch: 0, Start: 10}}
	m := start(t, cfg, store, Deps{Holds: everything{}})
	copied(t, m, &c)
	must(t, m.Delete(deadline(t), c.Segment))
	m.Close(deadline(t))
	m = start(t, cfg, store, Deps{Holds: everything{}})
	list := m.Deleting()
	if len(list) != 1 || list[0].Identity != c.identity() || list[0].End != c.EndOffset+1 {
		t.Fatalf("deleting %+v", list)
	}
	got, err := m.Describe(deadline(t), Segment{TopicID: c.TopicID, Partition: c.Partition, ID: c.ID, BaseOffset: c.BaseOffset})
	if err != nil {
		t.Fatal(err)
	}
	want := c.Segment
	want.Custom = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("described as\n%+v\nwant\n%+v", got, want)
	}
	if _, err := m.Describe(deadline(t), Segment{TopicID: c.TopicID, Partition: c.Partition, ID: [16]byte{0xee}, BaseOffset: c.BaseOffset}); !status.Is(err, status.NotFound) {
		t.Errorf("a segment that is not there: %v", err)
	}
}

type everything struct{}

func (everything) Held([16]byte, int32, int64, int64) bool { return true }

// fill reads until p is full.
func fill(t testing.TB, s *Stream, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		if m, err = s.Next(deadline(t), p[n:]); m == 0 {
			break
		}
		n += m
	}
	return n, err
}

// After a restart a segment that was read is read again without the store: bytes, indexes and manifest. Its delete empties the disk cache.
func TestDiskCacheServesAndForgetsSegments(t *testing.T) {
	cfg, store, c := config(t), storetest.Faulty(storetest.NewMemory()), segment(t, 1000)
	cfg.DiskCache.Dir = t.TempDir()
	m := start(t, cfg, store, Deps{})
	usable := func() bool { return metric(t, m, "fetch_disk_usable") == 1 }
	until(t, "the disk cache is open", usable)
	copied(t, m, &c)
	readBack(t, m, c)
	m.Close(deadline(t))
	m = start(t, cfg, store, Deps{})
	until(t, "the disk cache is open", usable)
	store.Add(storetest.Fault{Op: storetest.Range, Times: -1, Effect: storetest.Fail})
	readBack(t, m, c)
	store.Heal()
	must(t, m.Delete(deadline(t), c.Segment))
	until(t, "the disk cache is empty", func() bool { return metric(t, m, "fetch_disk_blocks") == 0 })
}
