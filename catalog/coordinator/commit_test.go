package coordinator

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/catalog"
	"tidemark/catalog/builtin"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

func TestEveryLostReplyAndFailureEndsInOneCommit(t *testing.T) {
	for _, effect := range []storetest.Effect{storetest.Fail, storetest.LostReply} {
		for _, class := range []status.Class{status.Unknown, status.Transient, status.Conflict, status.Throttled} {
			if effect == storetest.Fail && class == status.Conflict {
				continue // a store that refuses a condition that holds
			}
			for nth := 1; ; nth++ {
				faulty := storetest.Faulty(storetest.NewMemory())
				ctx, f := testContext(t), start(t, faulty)
				f.create(t)
				before := f.ledger(t).Seq
				struck := false
				offer := f.offer(t, 0, 0, 10, catalog.Main, catalog.Quarantine)
				faulty.Add(storetest.Fault{Op: storetest.Put, Nth: nth, Effect: effect, Class: class, Run: func() { struck = true }})
				if err := f.Submit(ctx, testClaim.TopicID, offer); err != nil {
					t.Fatalf("put %d, effect %d, %s: %v", nth, effect, class, err)
				}
				if l := f.ledger(t); l.Progress(0).Next != 10 || l.Seq != before+1 {
					t.Fatalf("put %d, effect %d, %s: next %d after %d commits", nth, effect, class, l.Progress(0).Next, l.Seq-before)
				}
				f.Close(time.Minute)
				if !struck {
					break
				}
			}
		}
	}
}

func TestTwoCoordinatorsShareAGroup(t *testing.T) {
	store := storetest.NewMemory()
	ctx, a, b := testContext(t), start(t, store), start(t, store)
	a.create(t)
	b.begin(t)
	var wg sync.WaitGroup
	run := func(f *fixture, partition int32, from int64) {
		for base := from; base < from+50; base += 10 {
			if err := f.Submit(ctx, testClaim.TopicID, f.offer(t, partition, base, base+10, catalog.Main)); err != nil {
				t.Errorf("partition %d, %d: %v", partition, base, err)
				return
			}
		}
	}
	wg.Go(func() { run(a, 0, 0) })
	wg.Go(func() { run(b, 1, 100) })
	wg.Wait()
	if l := a.ledger(t); l.Progress(0).Next != 50 || l.Progress(1).Next != 150 {
		t.Errorf("ledger %+v", l.Partitions)
	}
}

func TestARollbackPausesTheGroupUntilItIsGone(t *testing.T) {
	ctx := testContext(t)
	f, c := startTampered(t, storetest.NewMemory())
	f.create(t)
	if err := f.Submit(ctx, testClaim.TopicID, f.offer(t, 0, 0, 10, catalog.Main)); err != nil {
		t.Fatal(err)
	}
	c.set(func(g *builtin.GroupView) { // an operator moved main to the snapshot before
		main := g.Tables[catalog.Main]
		for _, s := range main.View.Snapshots {
			if s.ID == main.View.Head {
				main.View.Head = s.Parent
				break
			}
		}
		g.Tables[catalog.Main] = main
	})
	_, err := f.Ledger(ctx, testClaim)
	wantClass(t, err, status.Invalid)
	if why := f.Paused(testClaim.TopicID); !strings.HasPrefix(why, "ROLLBACK: ") {
		t.Fatalf("paused: %q", why)
	}
	done := make(chan error, 1)
	offer := f.offer(t, 0, 10, 20, catalog.Main)
	go func() { done <- f.Submit(ctx, testClaim.TopicID, offer) }()
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	wantClass(t, f.Submit(short, testClaim.TopicID, f.offer(t, 1, 100, 110, catalog.Main)), status.Transient)
	c.set(nil)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if why := f.Paused(testClaim.TopicID); why != "" {
		t.Errorf("still paused: %s", why)
	}
}
