package budget

import (
	"context"
	"math/rand/v2"
	"time"

	"tidemark/internal/status"
)

// Retry is how often and how patiently a call is repeated. The pause doubles from Base to Max, with full jitter.
type Retry struct {
	Attempts int           // at least 1
	Base     time.Duration // first pause, at most
	Max      time.Duration // longest pause, at most
	Shared   *Rate         // what the retries of all calls draw from, one unit each; nil: no limit
	Made     func()        // called before each retry; nil: nothing
	Refused  func()        // called for a retry that is not made because Shared is used up; nil: nothing
}

// Do calls op until it succeeds, fails with a class that is not retryable, has been tried Attempts times, or ctx ends.
// The attempt counts from 1. The error is that of the last attempt. A retry waits for its share of Shared, and is not made
// when that would take longer than Max: when much fails, few calls are repeated.
func (r Retry) Do(ctx context.Context, op func(ctx context.Context, attempt int) error) error {
	for attempt := 1; ; attempt++ {
		err := op(ctx, attempt)
		if err == nil || !status.Of(err).Retryable() || attempt >= r.Attempts || ctx.Err() != nil {
			return err
		}
		pause := rand.N(min(r.Base<<min(attempt-1, 20), r.Max) + 1)
		if r.Shared != nil {
			wait, ok := r.Shared.Reserve(1, r.Max)
			if !ok {
				if r.Refused != nil {
					r.Refused()
				}
				return err
			}
			pause = max(pause, wait)
		}
		if !Sleep(ctx, pause) {
			return err
		}
		if r.Made != nil {
			r.Made()
		}
	}
}

// Sleep waits for d or for the end of ctx; it reports whether the whole of d passed.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
