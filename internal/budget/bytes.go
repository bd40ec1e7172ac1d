package budget

import (
	"container/list"
	"context"
	"sync"

	"tidemark/internal/status"
)

// Bytes is a counted budget, served first come first served. Its unit is whatever the caller counts: bytes of memory,
// slots of concurrency. The zero value has no capacity; use NewBytes.
type Bytes struct {
	what     string
	capacity int64

	mu      sync.Mutex
	used    int64
	waiting list.List // of *waiter
}

type waiter struct {
	n     int64
	ready chan struct{}
}

// NewBytes makes a budget of capacity units; what names it in errors ("fetch memory").
func NewBytes(what string, capacity int64) *Bytes { return &Bytes{what: what, capacity: capacity} }

// NewSlots makes a budget whose unit is one job.
func NewSlots(what string, n int) *Bytes { return NewBytes(what, int64(n)) }

// Acquire waits for n units and returns the function that gives them back; calling it twice is harmless.
// An n above the capacity is Invalid at once: it could never be granted. Waiting ends with ctx.
func (b *Bytes) Acquire(ctx context.Context, n int64) (release func(), err error) {
	if n > b.capacity || n < 0 {
		return nil, status.Errorf(status.Invalid, "%s: %d asked of a budget of %d", b.what, n, b.capacity)
	}
	if err := ctx.Err(); err != nil {
		return nil, status.Wrapf(err, "%s: waiting for %d", b.what, n)
	}
	b.mu.Lock()
	if b.waiting.Len() == 0 && b.used+n <= b.capacity {
		b.used += n
		b.mu.Unlock()
		return b.releaser(n), nil
	}
	w := &waiter{n: n, ready: make(chan struct{})}
	el := b.waiting.PushBack(w)
	b.mu.Unlock()
	select {
	case <-w.ready:
		return b.releaser(n), nil
	case <-ctx.Done():
		b.mu.Lock()
		select {
		case <-w.ready: // granted while we gave up: hand it on
			b.used -= n
		default:
			b.waiting.Remove(el)
		}
		b.grant()
		b.mu.Unlock()
		return nil, status.Wrapf(ctx.Err(), "%s: waiting for %d of %d", b.what, n, b.capacity)
	}
}

// TryAcquire takes n units if they are free now and nobody waits.
func (b *Bytes) TryAcquire(n int64) (release func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting.Len() > 0 || b.used+n > b.capacity {
		return nil, false
	}
	b.used += n
	return b.releaser(n), true
}

// Used is what is granted now.
func (b *Bytes) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Capacity is what can be granted at once.
func (b *Bytes) Capacity() int64 { return b.capacity }

func (b *Bytes) releaser(n int64) func() {
	var once sync.Once
	return func() {
		once.Do(func() {
			b.mu.Lock()
			b.used -= n
			b.grant()
			b.mu.Unlock()
		})
	}
}

// grant wakes waiters in order while they fit. The first that does not fit blocks the rest: no starvation of large asks.
func (b *Bytes) grant() {
	for el := b.waiting.Front(); el != nil; el = b.waiting.Front() {
		w := el.Value.(*waiter)
		if b.used+w.n > b.capacity {
			return
		}
		b.used += w.n
		b.waiting.Remove(el)
		close(w.ready)
	}
}
