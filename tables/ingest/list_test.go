package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/catalog"
	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/status"
)

// page is what the metadata manager answers to a Want.
func page(w Want, all []Segment, most int) List {
	list := List{From: w.From}
	for _, s := range all {
		if s.End <= w.From {
			continue
		}
		if list.More = len(list.Segments) == most; list.More {
			break
		}
		list.Segments = append(list.Segments, s)
	}
	return list
}

// serve answers every second, as the metadata manager does, until the table covers end or tries are over, and returns the Froms.
func (w *world) serve(all []Segment, most int, end int64, tries int) (froms []int64) {
	for range tries {
		for _, want := range w.in.Wanted() {
			froms = append(froms, want.From)
			w.in.Listed(want.Partition, page(want, all, most), nil)
		}
		w.pass(time.Second)
		if w.in.Status(topic)[0].Next >= end {
			break
		}
	}
	return froms
}

func TestFiveThousandSegmentsAreFoundInParts(t *testing.T) {
	in(t, func(w *world) {
		const segments, most = 5000, 1000
		all := w.rolled(0, 0, segments)
		w.live(0)
		froms := w.serve(all, most, segments, 600)
		w.mu.Lock()
		next := w.ledger.Progress(0).Next
		w.mu.Unlock()
		if next != segments || len(w.rows(0)) != segments {
			t.Fatalf("next %d, %d rows; asked from %v; %s", next, len(w.rows(0)), froms, w.reason(0))
		}
		for _, from := range []int64{0, 1000, 2000, 3000, 4000} {
			if !slices.Contains(froms, from) {
				t.Errorf("no list was asked from %d: %v", from, froms)
			}
		}
		if strings.Contains(w.log.String(), "table.gap") {
			t.Error("a gap was reported")
		}
	})
}

func TestTheNextPartIsAskedForAtOnce(t *testing.T) {
	in(t, func(w *world) {
		all := w.rolled(0, 0, 20)
		w.live(0)
		if froms := w.serve(all, 10, 20, 10); !slices.Equal(froms, []int64{0, 10}) {
			t.Errorf("asked from %v", froms)
		}
		w.want(0, 20, values(0, 20)...)
		if len(w.in.Wanted()) != 0 {
			t.Error("the list is complete, and another is wanted")
		}
		w.pass(time.Minute)
		if got := w.in.Wanted(); len(got) != 1 || got[0].From != 20 {
			t.Errorf("wanted %v, not what the table does not cover", got)
		}
	})
}

// A part says nothing of what comes after it, neither does a segment handed over far above it.
func TestNoGapBeyondAPart(t *testing.T) {
	in(t, func(w *world) {
		all := w.rolled(0, 0, 12)
		w.live(0)
		w.in.Wanted()
		w.in.Listed(part(0), page(Want{}, all, 4), nil)
		w.in.HandOver(all[11])
		w.pass(30 * time.Second)
		w.want(0, 4, values(0, 4)...)
		if w.reason(0) != "" || strings.Contains(w.log.String(), "table.gap") {
			t.Fatalf("reason %q", w.reason(0))
		}
		holed := slices.Delete(slices.Clone(all[:11]), 6, 7)
		w.serve(holed, 4, 12, 60)
		w.want(0, 6, values(0, 6)...)
		if got := w.reason(0); !strings.Contains(got, "GAP: offsets [6, 7)") {
			t.Fatalf("reason %q", got)
		}
		w.serve(all, 4, 12, 60)
		w.want(0, 12, values(0, 12)...)
	})
}

// A transaction may stay open over more segments than a list has.
func TestAnOpenTransactionLongerThanAPart(t *testing.T) {
	in(t, func(w *world) {
		p := logtest.Producer{ID: 7}
		s := logtest.NewSegment(0).InTxn(p, "a")
		all := []Segment{w.tiered(0, s)}
		for n := range 9 {
			s = s.Roll().Produce(kafkalog.None, fmt.Sprint("plain", n))
			all = append(all, w.tiered(0, s))
		}
		s = s.Roll().End(p, kafkalog.ControlCommit)
		all = append(all, w.tiered(0, s))
		w.live(0)
		w.serve(all, 3, 11, 120)
		if rows := w.rows(0); len(rows) != 10 {
			t.Errorf("%d rows; %s", len(rows), w.reason(0))
		}
	})
}

func TestAListFromBeyondWhatIsKnownIsIgnored(t *testing.T) {
	in(t, func(w *world) {
		all := w.rolled(0, 0, 8)
		w.live(0)
		w.serve(all, 4, 4, 1)
		w.pass(5 * time.Second)
		w.in.Published(topic, catalog.NewLedger([16]byte{2}, w.ledger.Claim)) // another table: from the beginning
		w.in.Listed(part(0), page(Want{From: 4}, all, 4), nil)
		if st := w.in.Status(topic)[0]; st.Waiting != 0 {
			t.Errorf("%+v: the list from 4 lacks what lies below", st)
		}
		if got := w.in.Wanted(); len(got) != 1 || got[0].From != 0 {
			t.Errorf("wanted %v", got)
		}
	})
}

// A part that cannot be read is asked for again, not faster than other lists.
func TestAPartThatFails(t *testing.T) {
	in(t, func(w *world) {
		all := w.rolled(0, 0, 8)
		w.live(0)
		w.serve(all, 4, 4, 6)
		asked := 0
		for range 20 {
			for _, want := range w.in.Wanted() {
				asked++
				w.in.Listed(want.Partition, List{}, errors.New("broken"))
			}
			w.pass(time.Second)
		}
		if asked > 6 {
			t.Errorf("asked %d times in 20 s", asked)
		}
		if got := w.reason(0); !strings.Contains(got, "broken") {
			t.Errorf("reason %q", got)
		}
		w.serve(all, 4, 8, 60)
		w.want(0, 8, values(0, 8)...)
	})
}

// A list that was asked for from an offset above what is needed now says nothing of what lies between.
func TestAListFromTooFarUpIsNotTaken(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		all := w.rolled(0, 0, 5)
		w.in.Listed(part(0), List{From: 3, Segments: all[3:]}, nil)
		w.pass(10 * time.Second)
		if got := w.reason(0); strings.Contains(got, "GAP") || w.submitted() != 0 {
			t.Errorf("reason %q", got)
		}
		w.serve(all, 100, 5, 1)
		w.pass(10 * time.Second)
		w.want(0, 5, "v0", "v1", "v2", "v3", "v4")
	})
}

// Beyond the part that was read nothing is known to be missing from the list.
func TestSegmentsBeyondThePartStayListed(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.in.Pause(topic)
		all := w.rolled(0, 0, 6)
		w.in.Listed(part(0), List{Segments: all}, nil)
		w.in.Listed(part(0), List{Segments: all[:2], More: true}, nil)
		w.fail[all[4].ID] = status.Errorf(status.NotFound, "not there at the moment")
		w.in.SetTable(w.table())
		w.pass(10 * time.Second)
		if st := w.in.Status(topic)[0]; st.Waiting != 6 {
			t.Errorf("%+v: the segment is in the list and must not be forgotten", st)
		}
	})
}

func TestComplete(t *testing.T) {
	list := List{Segments: []Segment{seg(0, 100, 1, 1), seg(10, 20, 1, 2)}, More: true}
	if base, end := list.complete(); base != 10 || end != 100 {
		t.Errorf("%d, %d", base, end)
	}
}

func values(from, to int) (out []string) {
	for n := from; n < to; n++ {
		out = append(out, fmt.Sprint("v", n))
	}
	return out
}
