package ingest

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/catalog"
	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/status"
)

func TestHandedOverSegmentsAreGatheredAndConverted(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.listed(part(0), nil, nil)
		a := logtest.NewSegment(0).Produce(kafkalog.None, "a", "b")
		b := a.Roll().Produce(kafkalog.Snappy, "c")
		w.in.HandOver(w.tiered(0, a))
		w.in.HandOver(w.tiered(0, b))
		w.pass(5 * time.Second)
		w.want(0, 3, "a", "b", "c")
		if w.taken() != 1 || w.released["7/0"] != 3 {
			t.Errorf("%d commits for two segments within the linger; released %v", w.taken(), w.released)
		}
		if files := w.memory.Keys(); len(files) != 1 || !strings.HasPrefix(files[0], "tables/main/data/") {
			t.Errorf("objects %v", files)
		}
		w.in.HandOver(w.tiered(0, b.Roll().Produce(kafkalog.None, "d")))
		w.pass(5 * time.Second)
		w.want(0, 4, "a", "b", "c", "d")
		if left, _ := slices.Collect(maps.Values(w.released)), 0; left[0] != 4 {
			t.Errorf("released %v", w.released)
		}
	})
}

// In whatever order leadership, table, ledger, list and segment come, the segment is converted.
func TestEveryOrderOfEvents(t *testing.T) {
	events := []string{"lead", "table", "ledger", "list"}
	var orders [][]string
	var permute func(done, left []string)
	permute = func(done, left []string) {
		if len(left) == 0 {
			orders = append(orders, done)
		}
		for i := range left {
			permute(append(slices.Clone(done), left[i]), slices.Delete(slices.Clone(left), i, i+1))
		}
	}
	permute(nil, events)
	for _, order := range orders {
		in(t, func(w *world) {
			seg := w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a"))
			for _, e := range order {
				switch e {
				case "lead":
					w.in.Lead([]Partition{part(0)}, nil)
				case "table":
					w.in.SetTable(w.table())
				case "ledger":
					w.publish()
				case "list":
					w.listed(part(0), []Segment{seg}, nil) // nobody asked if it is early
				}
				w.pass(time.Second)
			}
			w.pass(time.Second)
			for _, p := range w.wanted() {
				w.listed(p, []Segment{seg}, nil)
			}
			w.pass(5 * time.Second)
			w.want(0, 1, "a")
			if t.Failed() {
				t.Fatalf("order %v", order)
			}
		})
	}
}

// Leadership that comes after the ledger was published takes the ledger that is known.
func TestLeadershipAfterTheLedger(t *testing.T) {
	in(t, func(w *world) {
		a := logtest.NewSegment(0).Produce(kafkalog.None, "a")
		b := a.Roll().Produce(kafkalog.None, "b")
		segments := []Segment{w.tiered(1, a), w.tiered(1, b)}
		w.live(0)
		w.mu.Lock()
		w.move(1, 1, 0)
		w.mu.Unlock()
		w.publish()
		w.pass(time.Minute)
		w.in.Lead([]Partition{part(1)}, nil)
		if got := w.wanted(); !slices.Contains(got, part(1)) {
			t.Errorf("wanted %v", got)
		}
		w.listed(part(1), segments, nil)
		w.pass(5 * time.Second)
		w.want(1, 2, "b")
	})
}

func TestAnOlderLedgerThatArrivesLateChangesNothing(t *testing.T) {
	in(t, func(w *world) {
		old := w.ledger
		w.live(0)
		w.listed(part(0), []Segment{w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a"))}, nil)
		w.pass(5 * time.Second)
		w.want(0, 1, "a")
		w.in.Published(topic, old)
		w.pass(5 * time.Second)
		if got := w.in.Status(topic)[0]; got.Next != 1 || w.submitted() != 1 {
			t.Errorf("%+v after %d submits", got, w.submitted())
		}
		// Another table, or a later generation, counts from its own beginning.
		fresh := catalog.NewLedger([16]byte{2}, old.Claim)
		w.in.Published(topic, fresh)
		if got := w.in.Status(topic)[0]; got.Next != 0 || !slices.Contains(w.wanted(), part(0)) {
			t.Errorf("%+v: the list is needed again", got)
		}
	})
}

func TestSegmentsAreFoundAgainAfterARestart(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.listed(part(0), nil, nil)
		w.mu.Lock()
		w.gate = make(chan struct{})
		w.mu.Unlock()
		seg := w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a", "b"))
		w.in.HandOver(seg)
		w.pass(5 * time.Second)
		w.close() // in the middle of the conversion
		w.mu.Lock()
		w.gate = nil
		w.mu.Unlock()
		w.start(w.in.cfg)
		w.live(0)
		if got := w.wanted(); !slices.Equal(got, []Partition{part(0)}) {
			t.Fatalf("wanted %v", got)
		}
		w.listed(part(0), []Segment{seg}, nil)
		w.pass(5 * time.Second)
		w.want(0, 2, "a", "b")
	})
}

func TestNothingIsConvertedWithoutLeadershipTableOrLedger(t *testing.T) {
	in(t, func(w *world) {
		seg := func(n int32) Segment {
			return w.tiered(n, logtest.NewSegment(0).Produce(kafkalog.None, "a"))
		}
		w.live(0)
		w.in.Lead([]Partition{part(1)}, []Partition{part(2)})
		w.in.Lead(nil, []Partition{part(1)})
		for n := range int32(3) {
			if n > 0 {
				w.in.HandOver(seg(n))
				w.listed(part(n), []Segment{seg(n)}, nil)
			}
		}
		w.pass(time.Minute)
		if w.submitted() != 0 || w.opens() != 0 {
			t.Errorf("%d submits, %d opened", w.submitted(), w.opens())
		}
		if got := w.in.Led(); !reflect.DeepEqual(got, map[catalog.TopicID][]Partition{topic: {part(0)}}) {
			t.Errorf("led %v", got)
		}
		if got := w.wanted(); !slices.Equal(got, []Partition{part(0)}) {
			t.Errorf("wanted %v", got)
		}
		other := Partition{TopicID: catalog.TopicID{8}, Topic: "no table", Partition: 0}
		w.in.Lead([]Partition{other}, nil)
		w.in.HandOver(Segment{Partition: other, End: 5})
		if st := w.in.Status(other.TopicID); st[0].Waiting != 0 {
			t.Errorf("segments of a topic without a table are kept: %+v", st)
		}
	})
}

func TestListsAreAskedForOnceInAWhile(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		if len(w.wanted()) != 1 || len(w.wanted()) != 0 {
			t.Error("asked for not once at the start")
		}
		w.pass(6 * time.Second)
		if len(w.wanted()) != 1 {
			t.Error("an answer that does not come is not asked for again")
		}
		w.listed(part(0), nil, nil)
		w.pass(20 * time.Second)
		if len(w.wanted()) != 0 {
			t.Error("asked for too early")
		}
		w.pass(10 * time.Second)
		if len(w.wanted()) != 1 {
			t.Error("not asked for after the interval")
		}
	})
}

func TestAListThatFailsKeepsWhatIsKnown(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.listed(part(0), nil, status.Errorf(status.Transient, "not ready"))
		if got := w.reason(0); !strings.Contains(got, "not ready") {
			t.Errorf("reason %q", got)
		}
		seg := w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a"))
		w.in.HandOver(seg)
		w.listed(part(0), nil, status.Errorf(status.Transient, "not ready"))
		w.pass(time.Minute)
		if w.submitted() != 0 || !strings.Contains(w.reason(0), "not ready") {
			t.Errorf("converted before the first list came: what the last leader left may be missing; reason %q", w.reason(0))
		}
		w.listed(part(0), nil, nil)
		w.listed(part(0), nil, status.Errorf(status.Transient, "not ready"))
		w.pass(5 * time.Second)
		w.want(0, 1, "a")
	})
}

// The metadata of a segment is published after its copy returned, and retention may remove a held one from the list.
func TestSegmentsThatAreNotInTheListAreKept(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.in.Pause(topic)
		a := logtest.NewSegment(0).Produce(kafkalog.None, "a")
		b := a.Roll().Produce(kafkalog.None, "b")
		first, second := w.tiered(0, a), w.tiered(0, b)
		w.listed(part(0), []Segment{first}, nil)
		w.in.HandOver(second)
		w.listed(part(0), []Segment{first}, nil) // not published yet
		w.listed(part(0), nil, nil)              // removed by retention
		w.pass(10 * time.Minute)
		w.listed(part(0), nil, nil)
		w.in.SetTable(w.table())
		w.pass(5 * time.Second)
		w.want(0, 2, "a", "b")
	})
}

func TestPauseGathersAndDropForgets(t *testing.T) {
	in(t, func(w *world) {
		seg := w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a"))
		w.live(0)
		w.listed(part(0), nil, nil)
		w.in.Pause(topic)
		w.in.HandOver(seg)
		w.pass(time.Minute)
		if st := w.in.Status(topic)[0]; st.Waiting != 1 || w.submitted() != 0 {
			t.Errorf("paused: %+v, %d submits", st, w.submitted())
		}
		w.in.DropTable(topic)
		w.in.HandOver(seg)
		if st := w.in.Status(topic)[0]; st.Waiting != 0 {
			t.Errorf("dropped: %+v", st)
		}
		w.in.SetTable(w.table()) // the list finds it again
		if got := w.wanted(); len(got) != 1 {
			t.Fatalf("wanted %v", got)
		}
		w.listed(part(0), []Segment{seg}, nil)
		w.pass(5 * time.Second)
		w.want(0, 1, "a")
	})
}

func TestWhatLeftThisBrokerIsDrained(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.live(1)
		w.listed(part(0), nil, nil)
		w.listed(part(1), nil, nil)
		w.in.HandOver(w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a")))
		w.in.Stopped([]Partition{part(0), part(1), part(5)})
		if got := w.in.Led()[topic]; !slices.Equal(got, []Partition{part(0)}) {
			t.Errorf("led %v, want what waits", got)
		}
		w.listed(part(0), nil, nil) // too late: nothing is listed any more
		w.pass(5 * time.Second)
		w.want(0, 1, "a")
		if got := w.in.Led(); len(got) != 0 {
			t.Errorf("led %v after the last segment", got)
		}
	})
}

func TestADrainingPartitionThatComesBackIsListed(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.listed(part(0), nil, nil)
		w.in.Pause(topic)
		w.in.HandOver(w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a")))
		w.in.Stopped([]Partition{part(0)})
		w.in.Lead([]Partition{part(0)}, nil)
		if got := w.wanted(); len(got) != 1 {
			t.Errorf("wanted %v", got)
		}
	})
}

func TestReleases(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.mu.Lock()
		w.move(3, 40, 0) // not led: another broker's work
		w.mu.Unlock()
		w.publish()
		w.in.HandOver(Segment{Partition: part(3), Base: 10, End: 30})
		want := map[string]int64{"7/3": 40}
		if !maps.Equal(w.released, want) {
			t.Errorf("released %v, want %v", w.released, want)
		}
		w.in.ReleaseUnwanted(func(id catalog.TopicID) bool { return id == topic })
		if _, ok := w.released["9/-1"]; !ok || len(w.released) != 2 {
			t.Errorf("released %v", w.released)
		}
	})
}
