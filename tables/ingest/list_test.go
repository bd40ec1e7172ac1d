package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/internal/status"
)

// answer answers what is wanted as the metadata manager does: segments above From by base offset, a page of them.
func (w *world) page(all []Segment, size int) (asked int) {
	for _, want := range w.in.Wanted() {
		asked++
		l := List{From: want.From}
		for _, s := range all {
			if s.End <= want.From {
				continue
			}
			if len(l.Segments) == size {
				l.More = true
				break
			}
			l.Segments = append(l.Segments, s)
		}
		w.in.Listed(want.Partition, l, nil)
	}
	return asked
}

func TestABacklogLongerThanAListIsReadInParts(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		all := w.rolled(0, 0, 23)
		asked := 0
		for range 60 {
			asked += w.page(all, 4)
			w.pass(time.Second)
		}
		var want []string
		for i := range all {
			want = append(want, fmt.Sprintf("v%d", i))
		}
		w.want(0, 23, want...)
		if strings.Contains(w.log.String(), "GAP") || asked > 20 {
			t.Errorf("asked %d times in a minute; reason %q", asked, w.reason(0))
		}
	})
}

func TestAGapAtTheEndOfAPartOfTheList(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		all := w.rolled(0, 0, 12)
		holed := append(all[:4:4], all[6:]...)
		for range 60 {
			w.page(holed, 4)
			w.pass(time.Second)
		}
		w.want(0, 4, "v0", "v1", "v2", "v3")
		if got := w.reason(0); !strings.Contains(got, "GAP: offsets [4, 6)") {
			t.Errorf("reason %q", got)
		}
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
		w.page(all, 100)
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
