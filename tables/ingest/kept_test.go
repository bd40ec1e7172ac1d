package ingest

import (
	"strings"
	"testing"
	"time"

	"tidemark/catalog"
	"tidemark/internal/status"
)

// keep says that segments are kept; none is in any list unless the test gives one.
func (w *world) keep(unlistable bool, segments ...Segment) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range segments {
		w.kept = append(w.kept, Kept{TopicID: topic, Partition: s.Partition.Partition, ID: s.ID, Base: s.Base, End: s.End, Unlistable: unlistable})
	}
}

func (w *world) descriptions() int { w.mu.Lock(); defer w.mu.Unlock(); return w.described }

// What retention removed before it was a row, or what waits in a hold file only, is found again at the start.
func TestKeptSegmentsAreFoundAgain(t *testing.T) {
	in(t, func(w *world) {
		segments := w.rolled(0, 0, 6)
		w.keep(true, segments[:2]...)
		w.keep(false, segments[1:3]...)
		w.live(0)
		w.listed(part(0), segments[3:], nil)
		w.pass(5 * time.Second)
		w.want(0, 6, "v0", "v1", "v2", "v3", "v4", "v5")
		if strings.Contains(w.log.String(), "GAP") || w.descriptions() != 3 {
			t.Errorf("%d descriptions; log:\n%s", w.descriptions(), w.log)
		}
	})
}

func TestAGapIsSaidOnlyAfterALookAtWhatIsKept(t *testing.T) {
	in(t, func(w *world) {
		segments := w.rolled(0, 0, 3)
		w.keep(true, segments[0])
		w.describe = status.Errorf(status.Transient, "store is away")
		w.live(0)
		w.listed(part(0), segments[2:], nil)
		w.pass(20 * time.Second)
		if got := w.reason(0); !strings.Contains(got, "store is away") || strings.Contains(w.log.String(), "table.gap") {
			t.Errorf("reason %q", got)
		}
		w.mu.Lock()
		w.describe = nil
		w.mu.Unlock()
		w.pass(20 * time.Second)
		w.want(0, 1, "v0")
		w.listed(part(0), segments[2:], nil)
		w.pass(20 * time.Second)
		if got := w.reason(0); !strings.Contains(got, "GAP: offsets [1, 2)") || !w.in.Behind(topic) {
			t.Errorf("reason %q", got)
		}
		w.keep(false, segments[1])
		w.listed(part(0), segments[2:], nil)
		w.pass(20 * time.Second)
		w.want(0, 3, "v0", "v1", "v2")
	})
}

// A damaged or missing object of a kept segment stops nothing else and is not asked for all the time.
func TestKeptSegmentsThatAreGone(t *testing.T) {
	in(t, func(w *world) {
		segments := w.rolled(0, 0, 2)
		w.keep(true, Segment{Partition: part(0), ID: [16]byte{0xee}, Base: 0, End: 1}, segments[0])
		w.live(0)
		w.listed(part(0), segments[1:], nil)
		w.pass(time.Hour)
		w.want(0, 2, "v0", "v1")
		if n := w.descriptions(); n != 2 {
			t.Errorf("%d descriptions", n)
		}
		w.keep(true, Segment{Partition: part(5), ID: [16]byte{0xef}, Base: 0, End: 1})
		w.in.Adopt(topic, "t")
		w.pass(time.Minute)
		if w.in.Adopt(topic, "t") || len(w.in.Led()[topic]) != 1 {
			t.Errorf("taken up again although there is nothing: %v", w.in.Led())
		}
	})
}

// After a leader move the new leader cannot see what retention removed under the old one: the old one converts it, when it is its turn.
func TestAnOldLeaderConvertsWhatOnlyItKeeps(t *testing.T) {
	in(t, func(w *world) {
		segments := w.rolled(0, 0, 4)
		w.keep(true, segments[2:]...)
		if w.in.Adopt(topic, "t") {
			t.Error("taken up without a ledger")
		}
		w.publish()
		if !w.in.Behind(topic) || !w.in.Adopt(topic, "t") || w.in.Adopt(catalog.TopicID{9}, "other") {
			t.Error("not taken up")
		}
		w.in.SetTable(w.table())
		w.pass(time.Minute)
		w.want(0, 0)
		if got := w.reason(0); !strings.Contains(got, "[0, 2) come first") || strings.Contains(w.log.String(), "table.gap") {
			t.Errorf("reason %q", got)
		}
		if len(w.wanted()) != 0 {
			t.Error("asks for a list of what it does not lead")
		}
		w.mu.Lock()
		w.move(0, 2, 0) // by the leader
		w.mu.Unlock()
		w.publish()
		w.pass(10 * time.Second)
		w.want(0, 4, "v2", "v3")
		if len(w.in.Led()) != 0 || w.in.Adopt(topic, "t") {
			t.Errorf("still led: %v", w.in.Led())
		}
	})
}

func TestLeadingWhatWasTakenUp(t *testing.T) {
	in(t, func(w *world) {
		segments := w.rolled(0, 0, 3)
		w.keep(true, segments[1])
		w.publish()
		w.in.Adopt(topic, "t")
		w.in.SetTable(w.table())
		w.pass(time.Second)
		if fresh := w.in.Lead([]Partition{part(0)}, nil); len(fresh) != 1 {
			t.Errorf("newly led: %v", fresh)
		}
		if fresh := w.in.Lead([]Partition{part(0)}, nil); len(fresh) != 0 {
			t.Errorf("newly led again: %v", fresh)
		}
		w.listed(part(0), []Segment{segments[0], segments[2]}, nil)
		w.pass(10 * time.Second)
		w.want(0, 3, "v0", "v1", "v2")
	})
}
