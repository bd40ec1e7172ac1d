package tables

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/catalog"
)

func TestLineage(t *testing.T) {
	w := newWorld(t)
	id := w.topic("t", nil)
	if got := w.tables.Lineage(t.Context(), id, 0, 5, 0); got != catalog.NotKnown {
		t.Errorf("before the broker is known: %v", got)
	}
	w.define(definitionOf(id, "t"))
	w.ready()
	w.want(id, Idle)
	for range 3 {
		if err := w.client.Produce(t.Context(), "t", []byte("k"), nil); err != nil {
			t.Fatal(err)
		}
	}
	var end int64
	var p int32
	for p = range int32(2) {
		if _, _, end, _ = w.client.Offsets(t.Context(), "t", p); end > 0 {
			break
		}
	}
	for _, c := range []struct {
		what   string
		offset int64
		epoch  int32
		want   catalog.Lineage
	}{
		{"covered by the log", end, 0, catalog.OnChain}, {"nothing covered", 0, -1, catalog.OnChain},
		{"above the log's end", end + 1, 0, catalog.OffChain},
	} {
		if got := w.tables.Lineage(t.Context(), id, p, c.offset, c.epoch); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
	if got := w.tables.Lineage(t.Context(), catalog.TopicID{1}, 0, 5, 0); got != catalog.NotKnown {
		t.Errorf("a topic without a definition: %v", got)
	}
	w.tables.mu.Lock()
	known := w.tables.entries[id].name
	w.tables.mu.Unlock()
	forget := func() { known.mu.Lock(); defer known.mu.Unlock(); known.at = time.Time{} }
	if err := w.k.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	forget()
	if got := w.tables.Lineage(t.Context(), id, p, end+1, 0); got != catalog.OnChain {
		t.Errorf("a topic that is gone has no leader to ask: %v", got)
	}
	w.topic("t", nil)
	forget()
	if got := w.tables.Lineage(t.Context(), id, p, end+1, 0); got != catalog.OnChain {
		t.Errorf("its successor of the same name is not asked: %v", got)
	}
}

// The partitions of a commit are asked about at the same time: whose topic the name is, is asked once.
func TestTheNameIsLookedUpOnceForAll(t *testing.T) {
	w := newWorld(t)
	id := w.topic("t", nil)
	w.define(definitionOf(id, "t"))
	w.ready()
	w.want(id, Idle)
	var looks atomic.Int32
	w.k.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.k.KeepControl()
		for _, topic := range req.(*kmsg.MetadataRequest).Topics {
			if topic.Topic != nil && *topic.Topic == "t" {
				looks.Add(1)
			}
		}
		return nil, nil, false
	})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got := w.tables.Lineage(t.Context(), id, 0, 0, -1); got != catalog.OnChain {
				t.Errorf("%v", got)
			}
		})
	}
	wg.Wait()
	if n := looks.Load(); n < 1 || n > 2 { // a look at the table itself may come between
		t.Errorf("%d requests", n)
	}
}
