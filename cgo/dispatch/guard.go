package dispatch

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"tidemark/internal/status"
)

// PanicLimit is how many panics an instance may have within a minute. One more and it answers Closed for good: what
// panics that often would otherwise spend the broker's time on stacks.
const PanicLimit = 10

// panicMeter counts panics in a sliding minute.
type panicMeter struct {
	mu     sync.Mutex
	recent [PanicLimit]time.Time // ring, oldest at next
	next   int
}

// add counts one panic and reports whether it was one too many.
func (m *panicMeter) add(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	oldest := m.recent[m.next]
	m.recent[m.next] = now
	m.next = (m.next + 1) % PanicLimit
	return !oldest.IsZero() && now.Sub(oldest) < time.Minute
}

// Panicked counts and logs a recovered panic and returns the error for the caller. It must be called by the deferred
// function that recovered, so that the stack is still that of the panic.
func (p *Process) Panicked(where string, value any) error {
	p.panics.Add(1)
	p.log.Error("call.panic", "call", where, "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
	return status.Errorf(status.Internal, "%s: panic: %v; the stack is in the broker's log", where, value)
}

// guard is deferred by every method that the other side calls: no panic crosses the boundary.
func (p *Process) guard(where string, err *error) {
	if v := recover(); v != nil {
		*err = p.Panicked(where, v)
	}
}

// protect runs f, which enters the instance's code, and counts its panic against the instance.
func (i *instance) protect(where string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = i.p.Panicked(where, v)
			if i.panics.add(i.p.now()) && i.poisoned.CompareAndSwap(false, true) {
				i.p.log.Error("instance.poisoned", "node", i.node, "panics", PanicLimit+1, "within", time.Minute,
					"effect", "every call answers Closed until the broker is restarted; local data is served")
			}
		}
	}()
	return f()
}
