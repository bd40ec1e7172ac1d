package measure

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

// Latencies collects durations.
type Latencies struct {
	mu     sync.Mutex
	values []time.Duration
}

// NewLatencies makes room for n durations, so that collecting them allocates nothing.
func NewLatencies(n int) *Latencies { return &Latencies{values: make([]time.Duration, 0, n)} }

// Add adds one.
func (l *Latencies) Add(d time.Duration) {
	l.mu.Lock()
	l.values = append(l.values, d)
	l.mu.Unlock()
}

// Summary is the usual quantiles of a collection.
type Summary struct {
	Count                int
	P50, P99, P999, High time.Duration
}

// Summary is over everything collected so far; quantiles are nearest-rank, no interpolation.
func (l *Latencies) Summary() Summary {
	l.mu.Lock()
	sorted := slices.Clone(l.values)
	l.mu.Unlock()
	slices.Sort(sorted)
	if len(sorted) == 0 {
		return Summary{}
	}
	return Summary{Count: len(sorted), P50: rank(sorted, 0.5), P99: rank(sorted, 0.99), P999: rank(sorted, 0.999), High: sorted[len(sorted)-1]}
}

// rank is the smallest value that at least the share q of all values does not exceed.
func rank(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// OpenLoop calls send n times at a fixed rate per second and returns when all calls were made. intended is when a call was due: the
// schedule never moves, so when sending falls behind, the calls that are due follow at once and carry their old times.
// send must not wait for the answer. It stops early at the first error.
func OpenLoop(ctx context.Context, rate float64, n int, send func(i int, intended time.Time) error) error {
	start := time.Now()
	for i := 0; i < n; {
		for now := time.Now(); i < n; i++ {
			due := start.Add(time.Duration(float64(i) / rate * float64(time.Second)))
			if due.After(now) {
				break
			}
			if err := send(i, due); err != nil {
				return err
			}
		}
		if i == n {
			return nil
		}
		timer := time.NewTimer(time.Until(start.Add(time.Duration(float64(i) / rate * float64(time.Second)))))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
	return nil
}
