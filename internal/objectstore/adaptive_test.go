package objectstore_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// busy is a store that takes a while for a Head, throttles when told, and counts what is under way.
type busy struct {
	objectstore.Store
	mu        sync.Mutex
	throttle  bool
	under, at int
}

func (b *busy) Head(ctx context.Context, key string) (objectstore.Info, error) {
	b.mu.Lock()
	b.under++
	b.at = max(b.at, b.under)
	throttle := b.throttle
	b.mu.Unlock()
	time.Sleep(100 * time.Millisecond)
	b.mu.Lock()
	b.under--
	b.mu.Unlock()
	if throttle {
		return objectstore.Info{}, status.Errorf(status.Throttled, "SlowDown")
	}
	return objectstore.Info{}, nil
}

func (b *busy) set(throttle bool) (mostAtOnce int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.throttle, mostAtOnce, b.at = throttle, b.at, b.under
	return mostAtOnce
}

// While a store throttles, few calls are under way at once; a minute later all are again. Writes are not slowed by throttled reads.
func TestAdaptiveShrinksAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &busy{Store: storetest.NewMemory()}
		s := objectstore.Adaptive(b, 256, telemetry.NewSet())
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for range 300 {
			wg.Go(func() {
				for ctx.Err() == nil {
					_, _ = s.Head(ctx, "a")
				}
			})
		}
		time.Sleep(time.Second)
		if n := b.set(true); n != 256 {
			t.Errorf("%d calls at once at first, want 256", n)
		}
		time.Sleep(time.Minute)
		b.set(true)
		time.Sleep(5 * time.Minute)
		if _, err := s.Put(t.Context(), "w", strings.NewReader("x"), objectstore.Condition{}); err != nil {
			t.Error(err)
		}
		if n := b.set(false); n > 16 || n < 1 {
			t.Errorf("%d calls at once after a minute of throttling, want at most 16", n)
		}
		time.Sleep(time.Minute)
		b.set(false)
		time.Sleep(time.Second)
		if n := b.set(false); n != 256 {
			t.Errorf("%d calls at once a minute after the throttling, want 256", n)
		}
		cancel()
		wg.Wait()
		if b.under != 0 {
			t.Errorf("%d calls under way at the end", b.under)
		}
	})
}

func TestAdaptiveKeepsTheContract(t *testing.T) {
	storetest.Acceptance(t, func(*testing.T) objectstore.Store {
		return objectstore.Adaptive(storetest.NewMemory(), 256, telemetry.NewSet())
	}, storetest.Caps{Swap: true, Nesting: true, Large: 1 << 20, Rounds: 1})
}
