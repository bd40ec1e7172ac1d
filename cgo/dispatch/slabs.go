package dispatch

import (
	"context"
	"sync"

	"tidemark/internal/status"
)

const (
	pageSize = 4096
	minSlab  = 64 << 10
	maxSlab  = 64 << 20
)

// pool lends slabs: equal ranges of memory that both sides see. The memory is the caller's and is never unmapped, so
// that a reader on the other side that is late reads wrong bytes, which checksums catch, and never faults.
//
// The slab that came back last is lent first: its memory is still in the CPU's caches, and slabs that a load never needs are never
// touched.
type pool struct {
	slabs [][]byte
	room  chan struct{} // one for each free slab: waiting on it is the back-pressure; Go serves waiters in order

	mu   sync.Mutex
	free []int // a stack
}

func newPool(slabs [][]byte) *pool {
	p := &pool{slabs: slabs, room: make(chan struct{}, len(slabs))}
	for i := range slabs {
		p.release(len(slabs) - 1 - i)
	}
	return p
}

// acquire waits for a slab until ctx ends.
func (p *pool) acquire(ctx context.Context) (int, error) {
	select {
	case <-p.room:
		return p.pop(), nil
	default:
	}
	select {
	case <-p.room:
		return p.pop(), nil
	case <-ctx.Done():
		return -1, status.Wrapf(ctx.Err(), "waiting for one of %d read buffers (native.slabs)", len(p.slabs))
	}
}

func (p *pool) pop() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	return i
}

// release gives a slab back. The channel has room for all: it never blocks.
func (p *pool) release(i int) {
	p.mu.Lock()
	p.free = append(p.free, i)
	p.mu.Unlock()
	p.room <- struct{}{}
}

func (p *pool) inUse() int { return len(p.slabs) - len(p.room) }
