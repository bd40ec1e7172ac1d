package coordinator

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/catalog"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

func TestAPartitionWhoseLeaderIsSilentWaitsAlone(t *testing.T) {
	ctx, f := testContext(t), start(t, storetest.NewMemory())
	f.create(t)
	f.set(0, 10, catalog.NotKnown)
	done := make(chan error, 1)
	silent := f.offer(t, 0, 0, 10, catalog.Main)
	go func() { done <- f.Submit(ctx, testClaim.TopicID, silent) }()
	if err := f.Submit(ctx, testClaim.TopicID, f.offer(t, 1, 100, 110, catalog.Main)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		t.Fatalf("committed without an answer of the leader: %v", err)
	default:
	}
	const why = "the leader of partition 0 has not confirmed offset 10"
	waitFor(t, why, func() bool { return f.Waiting(testClaim.TopicID, 0) == why })
	if other := f.Waiting(testClaim.TopicID, 1); other != "" {
		t.Errorf("partition 1 waits: %q", other)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := f.Submit(short, testClaim.TopicID, silent); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), why) {
		t.Errorf("who gives up waiting is told %v", err)
	}
	f.set(0, 10, catalog.OnChain)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	waitFor(t, "nothing waits", func() bool { return f.Waiting(testClaim.TopicID, 0) == "" })
}

// Leaders that do not answer are asked at the same time, and keep the others for one question's time at most.
func TestLeadersAreAskedAtTheSameTime(t *testing.T) {
	ctx, f := testContext(t), start(t, storetest.NewMemory())
	f.create(t)
	f.mu.Lock()
	f.stuck = map[int32]bool{2: true, 3: true, 4: true}
	f.mu.Unlock()
	short, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for p := range f.stuck {
		offer := f.offer(t, p, 0, 10, catalog.Main)
		wg.Go(func() { wantCancelled(t, f.Submit(short, testClaim.TopicID, offer)) })
	}
	for base := int64(0); base < 30; base += 10 {
		if err := f.Submit(ctx, testClaim.TopicID, f.offer(t, 0, base, base+10, catalog.Main)); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "three questions at once", func() bool { f.mu.Lock(); defer f.mu.Unlock(); return f.mostAsked == 3 })
	cancel()
	wg.Wait()
}

func wantCancelled(t *testing.T, err error) {
	t.Helper()
	if status.Of(err) != status.Cancelled {
		t.Errorf("class %s, want Cancelled: %v", status.Of(err), err)
	}
}
