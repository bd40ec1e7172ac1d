package budget

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/status"
)

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRate(10, 5)
		for i, want := range []time.Duration{0, 0, 0, 0, 0, 100 * time.Millisecond, 200 * time.Millisecond} {
			if wait, ok := r.Reserve(1, time.Second); !ok || wait != want {
				t.Errorf("unit %d: wait %v, %v, want %v", i, wait, ok, want)
			}
		}
		if _, ok := r.Reserve(9, time.Second); ok {
			t.Error("a wait above the most was granted")
		}
		time.Sleep(time.Hour) // virtual
		if wait, ok := r.Reserve(6, time.Second); !ok || wait != 100*time.Millisecond {
			t.Errorf("after an hour: wait %v, %v: a bucket holds no more than its burst", wait, ok)
		}
	})
}

// However many calls fail at once and for however long, their retries together stay within the shared rate; a call that
// gets no share fails with its own error.
func TestRetriesShareABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls, perSecond, burst = 200, 10, 20
		var mu sync.Mutex
		attempts, refused := 0, 0
		r := Retry{Attempts: 5, Base: 200 * time.Millisecond, Max: 5 * time.Second, Shared: NewRate(perSecond, burst),
			Refused: func() { mu.Lock(); defer mu.Unlock(); refused++ }}
		start := time.Now()
		var wg sync.WaitGroup
		for range calls {
			wg.Go(func() {
				for time.Since(start) < time.Minute {
					err := r.Do(context.Background(), func(context.Context, int) error {
						mu.Lock()
						defer mu.Unlock()
						attempts++
						return status.Errorf(status.Transient, "down")
					})
					if !status.Is(err, status.Transient) {
						t.Error(err)
					}
					mu.Lock()
					attempts-- // the first is not a retry
					mu.Unlock()
					time.Sleep(time.Second) // virtual: the pause between two calls
				}
			})
		}
		wg.Wait()
		if most := burst + perSecond*int(time.Since(start).Seconds()+1); attempts > most || attempts < most/2 || refused == 0 {
			t.Errorf("%d retries in %v, the budget is %d; %d refused", attempts, time.Since(start), most, refused)
		}
		time.Sleep(time.Minute) // virtual
		if err := r.Do(t.Context(), func(_ context.Context, n int) error {
			if n < 3 {
				return status.Errorf(status.Transient, "once more")
			}
			return nil
		}); err != nil {
			t.Errorf("after the outage: %v", err)
		}
	})
}
