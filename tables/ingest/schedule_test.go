package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/catalog"
	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

func TestAGapPausesThatPartitionOnly(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.live(1)
		segments := w.rolled(0, 0, 6)
		w.listed(part(0), append(segments[:2:2], segments[4:]...), nil)
		w.listed(part(1), w.rolled(1, 0, 1), nil)
		w.pass(time.Minute)
		w.want(0, 2, "v0", "v1")
		w.want(1, 1, "v0")
		if got := w.reason(0); !strings.Contains(got, "GAP: offsets [2, 4)") || w.reason(1) != "" {
			t.Errorf("reasons %q and %q", got, w.reason(1))
		}
		if n := strings.Count(w.log.String(), "table.gap"); n != 1 {
			t.Errorf("the gap is logged %d times", n)
		}
		w.listed(part(0), segments, nil) // it turns up
		w.pass(5 * time.Second)
		w.want(0, 6, "v0", "v1", "v2", "v3", "v4", "v5")
		if w.reason(0) != "" {
			t.Errorf("reason %q", w.reason(0))
		}
	})
}

// A list that is older than a hand-over does not prove a gap.
func TestAHandOverAboveAnOldListIsNoGap(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.wanted()
		w.listed(part(0), nil, nil)
		w.pass(10 * time.Second)
		segments := w.rolled(0, 0, 2)
		w.in.HandOver(segments[1])
		w.pass(6 * time.Second)
		if w.reason(0) != "" || strings.Contains(w.log.String(), "GAP") {
			t.Errorf("reason %q", w.reason(0))
		}
		if got := w.wanted(); len(got) != 1 {
			t.Errorf("a newer list is not asked for: %v", got)
		}
		w.listed(part(0), segments[1:], nil)
		w.pass(time.Second)
		if !strings.Contains(w.reason(0), "GAP: offsets [0, 1)") {
			t.Errorf("reason %q", w.reason(0))
		}
	})
}

func TestFailuresBackOffAndKeepTheReason(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		seg := w.rolled(0, 0, 1)[0]
		w.fail[seg.ID] = status.Errorf(status.Transient, "store is away")
		w.listed(part(0), []Segment{seg}, nil)
		for _, k := range []struct {
			after time.Duration
			tries int
		}{{1500 * time.Millisecond, 1}, {time.Second, 2}, {2 * time.Second, 3}, {4 * time.Second, 4}} {
			w.pass(k.after)
			if n := w.opens(); n != k.tries {
				t.Errorf("%d tries, want %d", n, k.tries)
			}
		}
		w.pass(time.Hour)
		if n := w.opens(); n < 60 || n > 75 || !strings.Contains(w.reason(0), "store is away") {
			t.Errorf("%d tries in an hour, reason %q", n, w.reason(0))
		}
		w.mu.Lock()
		delete(w.fail, seg.ID)
		w.mu.Unlock()
		w.pass(2 * time.Minute)
		w.want(0, 1, "v0")
		if w.reason(0) != "" {
			t.Errorf("reason %q", w.reason(0))
		}
	})
}

func TestOnePartitionsTroubleIsNotAnothers(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.live(1)
		bad := w.rolled(0, 0, 1)[0]
		w.fail[bad.ID] = status.Errorf(status.Corrupt, "damaged")
		w.listed(part(0), []Segment{bad}, nil)
		w.listed(part(1), w.rolled(1, 0, 2), nil)
		w.pass(10 * time.Second)
		w.want(1, 2, "v0", "v1")
		if !strings.Contains(w.reason(0), "damaged") {
			t.Errorf("reason %q", w.reason(0))
		}
	})
}

// A conflict says that the ledger is elsewhere: the range is converted again from where it is.
func TestAfterAConflictTheRangeIsCutAgain(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		segments := w.rolled(0, 0, 3)
		w.answer = func(o catalog.Offer) (bool, error) {
			w.answer = nil
			w.move(0, 2, 0) // another leader was first with [0, 2)
			return true, nil
		}
		w.listed(part(0), segments, nil)
		w.pass(10 * time.Second)
		w.want(0, 3, "v2")
		if w.submitted() != 2 {
			t.Errorf("%d submits", w.submitted())
		}
	})
}

// While the catalog is away a converted range is submitted again, not converted again.
func TestAConvertedRangeIsKeptUntilItIsSubmitted(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.answer = func(catalog.Offer) (bool, error) { return false, status.Errorf(status.Transient, "catalog is away") }
		w.listed(part(0), w.rolled(0, 0, 1), nil)
		w.pass(10 * time.Minute)
		if w.submitted() < 8 || w.opens() != 1 || len(w.memory.Keys()) != 1 {
			t.Errorf("%d submits, %d conversions, objects %v", w.submitted(), w.opens(), w.memory.Keys())
		}
		w.mu.Lock()
		w.answer = nil
		w.mu.Unlock()
		w.pass(2 * time.Minute)
		w.want(0, 1, "v0")
		if w.opens() != 1 {
			t.Errorf("%d conversions", w.opens())
		}
	})
}

func TestAKeptRangeIsDroppedWhenItDoesNotFitAnyMore(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"definition": func(w *world) { w.conv = newConverter(w.t); w.in.SetTable(w.table()) },
		"ledger": func(w *world) {
			w.mu.Lock()
			w.move(0, 1, 0)
			w.mu.Unlock()
			w.publish()
		},
	} {
		in(t, func(w *world) {
			w.live(0)
			w.answer = func(catalog.Offer) (bool, error) { return false, status.Errorf(status.Unknown, "reply lost") }
			w.listed(part(0), w.rolled(0, 0, 2), nil)
			w.pass(10 * time.Second)
			w.mu.Lock()
			w.answer = nil
			w.mu.Unlock()
			change(w)
			w.pass(2 * time.Minute)
			if next := w.ledger.Progress(0).Next; next != 2 || w.taken() != 1 || w.opens() < 3 {
				t.Errorf("%s: next %d, %d commits, %d opened", name, next, w.taken(), w.opens())
			}
		})
	}
}

// The reply said committed although the ledger that says so has not come: nothing is converted twice meanwhile.
func TestALateLedgerAfterACommit(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.silent = true
		w.listed(part(0), w.rolled(0, 0, 2), nil)
		w.pass(5 * time.Second)
		if w.taken() != 1 {
			t.Fatalf("%d commits", w.taken())
		}
		w.publish()
		w.pass(time.Minute)
		w.want(0, 2, "v0", "v1")
		if w.submitted() != 1 {
			t.Errorf("%d submits", w.submitted())
		}
	})
}

func TestWorkersBoundConversions(t *testing.T) {
	in(t, func(w *world) {
		w.gate = make(chan struct{})
		for n := range int32(6) {
			w.live(n)
			w.listed(part(n), w.rolled(n, 0, 1), nil)
		}
		w.pass(10 * time.Second)
		if w.most != 2 {
			t.Errorf("%d conversions at once, want 2", w.most)
		}
		close(w.gate)
		w.pass(10 * time.Second)
		for n := range int32(6) {
			w.want(n, 1, "v0")
		}
	})
}

// A job that waited for a slot takes what is known when its turn comes.
func TestWhatWaitedForASlotIsLookedAtAgain(t *testing.T) {
	in(t, func(w *world) {
		w.gate = make(chan struct{})
		for n := range int32(4) {
			w.live(n)
			w.listed(part(n), w.rolled(n, 0, 1), nil)
		}
		w.pass(5 * time.Second)
		blocked := map[int32]bool{}
		w.mu.Lock()
		for _, s := range w.opened {
			blocked[s.Partition.Partition] = true
		}
		w.mu.Unlock()
		var waiting []int32
		for n := range int32(4) {
			if !blocked[n] {
				waiting = append(waiting, n)
			}
		}
		more := logtest.NewSegment(1).Produce(kafkalog.None, "later")
		w.in.HandOver(w.tiered(waiting[0], more))
		w.in.Lead(nil, []Partition{part(waiting[1])})
		close(w.gate)
		w.pass(10 * time.Second)
		w.want(waiting[0], 2, "v0", "later")
		if n := w.ledger.Progress(waiting[1]).Next; n != 0 || w.taken() != 3 {
			t.Errorf("a partition that is not led any more came to %d; %d commits", n, w.taken())
		}
	})
}

func TestLeadershipLostAndWonDuringAJob(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		segments := w.rolled(0, 0, 2)
		w.gate = make(chan struct{})
		w.listed(part(0), segments, nil)
		w.pass(5 * time.Second)
		w.in.Lead(nil, []Partition{part(0)})
		w.in.Lead([]Partition{part(0)}, nil)
		w.listed(part(0), segments, nil)
		close(w.gate)
		w.pass(time.Minute)
		w.want(0, 2, "v0", "v1")
	})
}

func TestAPanicIsAFailureLikeOthers(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.panics = 1
		w.listed(part(0), w.rolled(0, 0, 1), nil)
		w.pass(10 * time.Second)
		w.want(0, 1, "v0")
		if !strings.Contains(w.log.String(), "task.panic") || w.panics != 0 {
			t.Error("there was no panic")
		}
	})
}

// Leaders that come and go, lists that lag, ledgers that arrive late, faults of store and catalog: every offset once.
func TestNoSchedulesLoseOrRepeatRows(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.close()
			random := rand.New(rand.NewPCG(seed, 1))
			segments := w.rolled(0, 0, 30)
			faults := rand.New(rand.NewPCG(seed, 2))
			w.answer = func(catalog.Offer) (bool, error) {
				switch faults.IntN(4) {
				case 0:
					return false, status.Errorf(status.Transient, "away")
				case 1:
					return true, status.Errorf(status.Unknown, "reply lost")
				}
				return true, nil
			}
			tiered, old := 0, w.ledger
			for range 200 {
				switch random.IntN(9) {
				case 0:
					w.in.Lead([]Partition{part(0)}, nil)
				case 1:
					w.in.Lead(nil, []Partition{part(0)})
				case 2:
					w.in.SetTable(w.table())
				case 3:
					w.publish()
				case 4:
					w.in.Published(topic, old)
					w.mu.Lock()
					old = w.ledger
					w.mu.Unlock()
				case 5:
					if tiered < len(segments) {
						w.in.HandOver(segments[tiered])
						tiered++
					}
				case 6:
					w.listed(part(0), segments[:max(tiered-random.IntN(3), 0)], nil)
				case 7:
					w.store.Add(storetest.Fault{Op: storetest.Put, Class: status.Transient})
				case 8:
					w.pass(time.Duration(random.IntN(4000)) * time.Millisecond)
				}
			}
			w.mu.Lock()
			w.answer = nil
			w.mu.Unlock()
			w.store.Heal()
			w.live(0)
			for range 10 {
				for _, p := range w.wanted() {
					w.listed(p, segments, nil)
				}
				w.pass(40 * time.Second)
			}
			var all []string
			for i := range segments {
				all = append(all, fmt.Sprintf("v%d", i))
			}
			w.want(0, 30, all...)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

// A commit that does not come is no failed conversion: the reason is told at once, and the range is submitted on.
func TestWaitingForACommitIsNoFailure(t *testing.T) {
	in(t, func(w *world) {
		w.in.deps.Commits = stuck{}
		w.live(0)
		w.listed(part(0), w.rolled(0, 0, 1), nil)
		w.pass(5 * time.Second)
		if got := w.reason(0); got != "the leader of partition 0 has not confirmed offset 1" {
			t.Errorf("reason %q", got)
		}
		w.pass(20 * time.Minute)
		log := w.log.String()
		if n := strings.Count(log, "table.commit.waiting"); n < 9 || strings.Contains(log, "table.convert.failed") || w.opens() != 1 {
			t.Errorf("said %d times, %d conversions; log:\n%s", n, w.opens(), log)
		}
	})
}

func TestCloseEndsASubmitThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		hang := make(chan struct{})
		defer close(hang)
		w.in.deps.Commits = stuck{}
		w.live(0)
		w.listed(part(0), w.rolled(0, 0, 1), nil)
		w.pass(5 * time.Second)
		w.close()
	})
}

type stuck struct{}

func (stuck) Waiting(catalog.TopicID, int32) string {
	return "the leader of partition 0 has not confirmed offset 1"
}

func (stuck) Submit(ctx context.Context, _ catalog.TopicID, _ catalog.Offer) error {
	<-ctx.Done()
	return ctx.Err()
}
