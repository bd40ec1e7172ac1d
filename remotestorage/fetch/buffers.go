package fetch

import (
	"context"
	"math/bits"
	"sync"
	"syscall"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// buffers is memory for chunks: a bounded total outside of Go's heap, so that a full cache neither doubles the heap's
// target nor is zeroed and collected over and over. What is given back is kept for the next buffer of its size.
//
// The budget counts what is lent. Lent and kept together stay below the capacity, but for a buffer that is larger than the
// whole capacity, which is lent when nothing else is.
type buffers struct {
	mem *budget.Bytes

	mu     sync.Mutex
	kept   map[int][][]byte // by size
	idle   int64            // bytes of kept
	closed bool
}

// buffer is a piece of memory, lent until free is called.
type buffer struct {
	data    []byte // as long as was asked for
	owner   *buffers
	release func()
}

const smallestBuffer = 64 << 10

// sizeOf is the size of the memory behind a buffer of n bytes: four sizes for each power of two, so that what is kept
// fits what comes.
func sizeOf(n int) int {
	if n <= smallestBuffer {
		return smallestBuffer
	}
	step := 1 << (bits.Len(uint(n-1)) - 3)
	return (n + step - 1) / step * step
}

func newBuffers(what string, capacity int64) *buffers {
	return &buffers{mem: budget.NewBytes(what, capacity), kept: map[int][][]byte{}}
}

// cost is what the budget counts for a buffer of n bytes.
func (b *buffers) cost(n int) int64 { return min(int64(sizeOf(n)), b.mem.Capacity()) }

// try lends n bytes if the budget has them now.
func (b *buffers) try(n int) (*buffer, bool) {
	release, ok := b.mem.TryAcquire(b.cost(n))
	if !ok {
		return nil, false
	}
	buf, err := b.make(n, release)
	return buf, err == nil
}

// get waits for n bytes of the budget. Errors: those of ctx, and Transient when the system has no memory.
func (b *buffers) get(ctx context.Context, n int) (*buffer, error) {
	release, err := b.mem.Acquire(ctx, b.cost(n))
	if err != nil {
		return nil, err
	}
	return b.make(n, release)
}

func (b *buffers) make(n int, release func()) (*buffer, error) {
	size := sizeOf(n)
	b.mu.Lock()
	defer b.mu.Unlock()
	var data []byte
	if same := b.kept[size]; len(same) > 0 {
		data = same[len(same)-1]
		b.kept[size] = same[:len(same)-1]
		b.idle -= int64(size)
	} else {
		b.shrink(b.mem.Capacity() - b.mem.Used())
		var err error
		if data, err = syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE); err != nil {
			release()
			return nil, status.Errorf(status.Transient, "fetch memory: the system gives no %d bytes: %w", size, err)
		}
	}
	return &buffer{data: data[:n:size], owner: b, release: release}, nil
}

// shrink gives kept memory back to the system until at most most bytes are kept. The caller holds mu.
func (b *buffers) shrink(most int64) {
	for size, same := range b.kept {
		for len(same) > 0 && b.idle > max(most, 0) {
			_ = syscall.Munmap(same[len(same)-1])
			same = same[:len(same)-1]
			b.idle -= int64(size)
		}
		b.kept[size] = same
	}
}

// free gives the memory back. Nothing may read or write data any more.
func (f *buffer) free() {
	b := f.owner
	data := f.data[:cap(f.data)]
	f.data = nil
	f.release()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept[len(data)] = append(b.kept[len(data)], data)
	b.idle += int64(len(data))
	b.shrink(b.mem.Capacity() - b.mem.Used())
	if b.closed {
		b.shrink(0)
	}
}

// close gives all kept memory back to the system, and what is still lent once it is freed.
func (b *buffers) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.shrink(0)
}

// used is what is lent in bytes.
func (b *buffers) used() int64 { return b.mem.Used() }

// scratch lends memory for decoding. The slots of decoding bound how much.
type scratch struct{ pool sync.Pool }

// get lends memory of at least n bytes of capacity, nil for none.
func (s *scratch) get(n int) []byte {
	if n == 0 {
		return nil
	}
	if p, ok := s.pool.Get().(*[]byte); ok && cap(*p) >= n {
		return (*p)[:0]
	}
	return make([]byte, 0, sizeOf(n))
}

func (s *scratch) put(p []byte) {
	if p != nil {
		s.pool.Put(&p)
	}
}
