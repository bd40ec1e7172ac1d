package budget

import (
	"sync"
	"time"
)

// Rate is permission to use so many units a second, in the order of asking: a bucket of tokens that may be in debt.
type Rate struct {
	perSecond, burst float64

	mu     sync.Mutex
	tokens float64
	last   time.Time
}

// NewRate makes a full bucket of burst units that gets perSecond units a second, both positive.
func NewRate(perSecond, burst float64) *Rate {
	return &Rate{perSecond: perSecond, burst: burst, tokens: burst, last: time.Now()}
}

// Reserve takes n units and says how long to wait before using them. If that is longer than most it takes none, and ok is
// false.
func (r *Rate) Reserve(n float64, most time.Duration) (wait time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.tokens = min(r.burst, r.tokens+now.Sub(r.last).Seconds()*r.perSecond)
	r.last = now
	if debt := n - r.tokens; debt > 0 {
		if wait = time.Duration(debt / r.perSecond * float64(time.Second)); wait > most {
			return 0, false
		}
	}
	r.tokens -= n
	return wait, true
}
