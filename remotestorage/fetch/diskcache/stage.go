package diskcache

import (
	"sync"
	"syscall"

	"tidemark/internal/status"
)

// stage is the way of blocks to the disk: one buffer is filled while the other is written. Blocks lie in a buffer as they will
// lie in the slab, with room for their headers.
type stage struct {
	mu      sync.Mutex
	filling *batch // nil: closed
	spare   *batch // nil: being written
	waiting map[key]struct{}
	wake    chan struct{} // has one element when something was staged
}

// batch is one buffer. copying counts those who still copy into it.
type batch struct {
	buf     []byte
	used    int
	blocks  []staged
	copying sync.WaitGroup
}

// staged is a block in a batch: its header at from, its data up to to.
type staged struct {
	key
	from, to int
}

func newStage(size int) (*stage, error) {
	s := &stage{waiting: map[key]struct{}{}, wake: make(chan struct{}, 1)}
	for _, b := range []**batch{&s.filling, &s.spare} {
		buf, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			if s.filling != nil {
				_ = syscall.Munmap(s.filling.buf)
			}
			return nil, status.Errorf(status.Transient, "disk cache: the system gives no %d bytes: %w", size, err)
		}
		*b = &batch{buf: buf}
	}
	return s, nil
}

// put copies a block into the stage. It reports false when there is no room now; a block that waits already is done.
func (s *stage) put(k key, data []byte) bool {
	need := blockHeader + len(k.object) + len(data)
	s.mu.Lock()
	b := s.filling
	if _, again := s.waiting[k]; again {
		s.mu.Unlock()
		return true
	}
	if b == nil || need > len(b.buf)-b.used {
		s.mu.Unlock()
		return false
	}
	at := staged{key: k, from: b.used, to: b.used + need}
	b.used += need
	b.blocks = append(b.blocks, at)
	s.waiting[k] = struct{}{}
	b.copying.Add(1)
	s.mu.Unlock()
	copy(b.buf[at.to-len(data):at.to], data)
	b.copying.Done()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return true
}

// take returns the filled buffer, nil if there is nothing in it. give must follow.
func (s *stage) take() *batch {
	s.mu.Lock()
	b := s.filling
	if b == nil || len(b.blocks) == 0 || s.spare == nil {
		s.mu.Unlock()
		return nil
	}
	s.filling, s.spare = s.spare, nil
	s.mu.Unlock()
	b.copying.Wait()
	return b
}

// give takes a buffer back whose blocks are written or given up.
func (s *stage) give(b *batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range b.blocks {
		delete(s.waiting, at.key)
	}
	b.used, b.blocks = 0, b.blocks[:0]
	s.spare = b
}

// close refuses what comes from now on and frees the memory; no batch may be taken.
func (s *stage) close() {
	s.mu.Lock()
	filling, spare := s.filling, s.spare
	s.filling, s.spare = nil, nil
	s.mu.Unlock()
	for _, b := range []*batch{filling, spare} {
		if b != nil {
			b.copying.Wait()
			_ = syscall.Munmap(b.buf)
		}
	}
}
