package dispatch

import (
	"context"

	"tidemark/internal/status"
)

const (
	pageSize = 4096
	minSlab  = 64 << 10
	maxSlab  = 64 << 20
)

// pool lends slabs: equal ranges of memory that both sides see. The memory is the caller's and is never unmapped, so
// that a reader on the other side that is late reads wrong bytes, which checksums catch, and never faults.
type pool struct {
	slabs [][]byte
	free  chan int // waiting on it is the back-pressure; Go serves waiters in order
}

func newPool(slabs [][]byte) *pool {
	p := &pool{slabs: slabs, free: make(chan int, len(slabs))}
	for i := range slabs {
		p.free <- i
	}
	return p
}

// acquire waits for a slab until ctx ends.
func (p *pool) acquire(ctx context.Context) (int, error) {
	select {
	case i := <-p.free:
		return i, nil
	default:
	}
	select {
	case i := <-p.free:
		return i, nil
	case <-ctx.Done():
		return -1, status.Wrapf(ctx.Err(), "waiting for one of %d read buffers (native.slabs)", len(p.slabs))
	}
}

// release gives a slab back. The channel has room for all: it never blocks.
func (p *pool) release(i int) { p.free <- i }

func (p *pool) inUse() int { return len(p.slabs) - len(p.free) }
