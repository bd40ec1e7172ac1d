package dispatch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/internal/status"
)

// The causes with which contexts end, beside a passed deadline.
var (
	errOpCancelled    = errors.New("cancelled by the caller")
	errInstanceClosed = errors.New("the instance is closed")
	errStreamClosed   = errors.New("the stream is closed")
)

// instance is an Instance with the calls that run in it.
type instance struct {
	p    *Process
	node int32
	impl Instance

	ctx    context.Context // ends at close
	cancel context.CancelCauseFunc

	panics   panicMeter
	poisoned atomic.Bool

	mu      sync.Mutex
	closing bool
	calls   int
	idle    chan struct{} // made by close, closed when calls is 0
}

func newInstance(p *Process, node int32, impl Instance) *instance {
	i := &instance{p: p, node: node, impl: impl}
	i.ctx, i.cancel = context.WithCancelCause(context.Background())
	return i
}

// enter registers a call; leave must follow.
func (i *instance) enter() error {
	if i.poisoned.Load() {
		return status.Errorf(status.Closed, "node %d: Tidemark has stopped itself after more than %d panics within a minute; restart the broker",
			i.node, PanicLimit)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closing {
		return status.Errorf(status.Closed, "node %d: Tidemark is closed", i.node)
	}
	i.calls++
	return nil
}

func (i *instance) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.calls--
	if i.closing && i.calls == 0 {
		close(i.idle)
	}
}

// close refuses new calls, cancels the running ones, waits for them, and then closes streams and instance. Calls
// that outlive the deadline are left behind: they hold no lock and their results go nowhere.
func (i *instance) close(deadline time.Duration) error {
	until := i.p.now().Add(deadline)
	i.mu.Lock()
	i.closing, i.idle = true, make(chan struct{})
	if i.calls == 0 {
		close(i.idle)
	}
	i.mu.Unlock()
	i.cancel(errInstanceClosed)

	timer := time.NewTimer(deadline)
	defer timer.Stop()
	var late error
	select {
	case <-i.idle:
	case <-timer.C:
		i.mu.Lock()
		n := i.calls
		i.mu.Unlock()
		late = status.Errorf(status.Transient, "node %d: %d calls still run %s after the close began", i.node, n, deadline)
		i.p.log.Warn("instance.close.late", "node", i.node, "calls", n, "deadline", deadline)
	}
	for _, s := range i.p.streams.takeIf(func(s *stream) bool { return s.inst == i }) {
		s.close()
	}
	// The instance gets what is left, and a second at least: what it must write down is worth that.
	ctx, cancel := context.WithTimeout(context.Background(), max(until.Sub(i.p.now()), time.Second))
	defer cancel()
	err := i.protect("close", func() error { return i.impl.Close(ctx) })
	return errors.Join(err, late)
}

// settle gives the error of a call the class that the end of its context asks for. Only classes that a context can
// cause are changed: Corrupt stays Corrupt whoever cancelled meanwhile.
func settle(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	switch status.Of(err) {
	case status.Cancelled, status.Transient, status.Throttled:
	default:
		return err
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errOpCancelled):
		return status.Errorf(status.Cancelled, "%w", err)
	case errors.Is(cause, errInstanceClosed), errors.Is(cause, errStreamClosed):
		return status.Errorf(status.Closed, "%w", err)
	case status.Is(err, status.Cancelled): // nobody on this side cancelled: a deadline, here or further in
		return status.Errorf(status.Transient, "%w", err)
	}
	return err
}
