package budget

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/status"
)

func TestLimitKeepsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond, callers, each = 10 << 20, 8, 20 << 20
		var noted atomic.Int64
		l := NewLimit("test", perSecond, func(d time.Duration) { noted.Add(int64(d)) })
		start := time.Now()
		var wg sync.WaitGroup
		var ends [callers]time.Duration
		for i := range callers {
			wg.Go(func() {
				// A deadline that is far shorter than the time the limit takes: waiting is no lack of progress.
				ctx, cancel := Pace{Floor: time.Second, MinRate: 1 << 40}.WithDeadline(t.Context(), each)
				defer cancel()
				if _, err := Pass(WithLimit(ctx, l), each); err != nil {
					t.Error(err)
				}
				ends[i] = time.Since(start)
			})
		}
		wg.Wait()
		want := time.Duration(callers*each/perSecond) * time.Second
		for _, end := range ends {
			if end > want || end < want*9/10 {
				t.Errorf("a caller ended after %v: %d callers take %v together, side by side", end, callers, want)
			}
		}
		if noted.Load() < int64(want) {
			t.Errorf("%v of waiting noted", time.Duration(noted.Load()))
		}
	})
}

func TestPassObeysAllLimitsOfAContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := func(time.Duration) {}
		slow, fast := NewLimit("slow", 1<<20, none), NewLimit("fast", 100<<20, none)
		start := time.Now()
		ctx := WithLimit(WithLimit(WithLimit(t.Context(), slow), nil), fast)
		if piece := Piece(ctx); piece != (1<<20)/10 {
			t.Errorf("pieces of %d", piece)
		}
		if waited, err := Pass(ctx, 10<<20); err != nil || waited < 9*time.Second || time.Since(start) < 9*time.Second {
			t.Errorf("waited %v in %v, %v", waited, time.Since(start), err)
		}
		if waited, err := Pass(t.Context(), 1<<40); waited != 0 || err != nil || Piece(t.Context()) != 0 {
			t.Errorf("without a limit: %v, %v", waited, err)
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := Pass(short, 100<<20); !status.Is(err, status.Transient) {
			t.Errorf("beyond a deadline of the caller: %v", err)
		}
	})
}
