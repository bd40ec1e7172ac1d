package budget

import (
	"context"
	"sync"
	"time"
)

// Pace is the slowest progress that still counts as progress: a floor plus the time the bytes take at MinRate.
type Pace struct {
	Floor   time.Duration
	MinRate int64 // bytes per second, > 0
}

// For is the time that n bytes may take.
func (p Pace) For(n int64) time.Duration {
	return p.Floor + time.Duration(float64(n)/float64(p.MinRate)*float64(time.Second))
}

// WithDeadline bounds ctx by the pace for n bytes; [Extend] moves the bound. A deadline that others set
// below it keeps its own time only if it is the earlier one when it is set. The caller must call cancel.
func (p Pace) WithDeadline(ctx context.Context, n int64) (context.Context, context.CancelFunc) {
	c := &bounded{Context: ctx, done: make(chan struct{}), deadline: time.Now().Add(p.For(n)), after: map[*func()]struct{}{}}
	c.mu.Lock()
	c.timer = time.AfterFunc(p.For(n), c.expire)
	c.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { c.end(ctx.Err()) })
	return c, func() { stop(); c.end(context.Canceled) }
}

// Extend moves the deadlines of ctx that come from a [Pace] by d: time that a call spends waiting for permission is no lack of progress.
func Extend(ctx context.Context, d time.Duration) {
	for c, ok := ctx.Value(boundedKey{}).(*bounded); ok; c, ok = c.Context.Value(boundedKey{}).(*bounded) {
		c.extend(d)
	}
}

type boundedKey struct{}

// bounded is a context whose deadline can be moved.
type bounded struct {
	context.Context // the parent
	done            chan struct{}

	mu       sync.Mutex
	deadline time.Time
	timer    *time.Timer
	err      error
	after    map[*func()]struct{} // called once at the end
}

// Deadline is the deadline now, or that of the parent if it is earlier.
func (c *bounded) Deadline() (time.Time, bool) {
	c.mu.Lock()
	own := c.deadline
	c.mu.Unlock()
	if t, ok := c.Context.Deadline(); ok && t.Before(own) {
		return t, true
	}
	return own, true
}

// Done is closed at the end.
func (c *bounded) Done() <-chan struct{} { return c.done }

// Err is why the context has ended, nil before.
func (c *bounded) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Value is the parent's.
func (c *bounded) Value(key any) any {
	if key == (boundedKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// AfterFunc lets package context end the children of c with c's own error. f never runs on the caller's goroutine: package context calls
// this with the child locked, and f locks the child and asks for c.Err.
func (c *bounded) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		time.AfterFunc(0, f)
		return func() bool { return false }
	}
	c.after[&f] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waits := c.after[&f]
		delete(c.after, &f)
		return waits
	}
}

func (c *bounded) extend(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.deadline = c.deadline.Add(d)
		c.timer.Reset(time.Until(c.deadline))
	}
}

// expire ends c at its deadline, which may have moved since the timer was set.
func (c *bounded) expire() {
	c.mu.Lock()
	left := time.Until(c.deadline)
	if left > 0 && c.err == nil {
		c.timer.Reset(left)
	}
	c.mu.Unlock()
	if left <= 0 {
		c.end(context.DeadlineExceeded)
	}
}

func (c *bounded) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	c.timer.Stop()
	after := c.after
	c.after = nil
	close(c.done)
	c.mu.Unlock()
	for f := range after {
		(*f)()
	}
}
