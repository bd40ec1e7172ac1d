package dispatch

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"tidemark/internal/status"
)

// firstFill is how much the first Next of a stream reads; it doubles up to mostFill. Most readers of a segment take one fetch of
// it and leave. A piece is copied twice, into the slab and out of it: one that fits into a core's cache is copied several
// times as fast as one that does not, and a call costs next to nothing beside it.
const (
	firstFill = 128 << 10
	mostFill  = 256 << 10
)

// stream lends the bytes of a Stream slab by slab.
type stream struct {
	inst    *instance
	op      *operation
	src     Stream
	total   int64
	timeout time.Duration // of each next
	ctx     context.Context
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	busy   bool // a next runs; it cleans up if the stream is closed meanwhile
	closed bool
	failed error // the first error, answered for good: what came after it has no defined position

	// Owned by the running next, else by close.
	pos  int64
	fill int
	slab int // lent, -1 = none
}

// StreamOpen starts reading and returns the stream and its length in bytes.
func (p *Process) StreamOpen(op Handle, frame []byte) (h Handle, total int64, err error) {
	defer p.guard("stream open", &err)
	req, err := decodeStream(frame)
	if err != nil {
		return 0, 0, err
	}
	err = p.run(op, "stream open", req.Deadline, func(ctx context.Context, op *operation) error {
		src, n, err := op.inst.impl.Open(ctx, req)
		if err != nil {
			return err
		}
		if n < 0 {
			src.Close()
			return status.Errorf(status.Internal, "stream of %s-%d has length %d", req.Segment.Topic, req.Segment.Partition, n)
		}
		s := &stream{inst: op.inst, op: op, src: src, total: n, timeout: req.NextDeadline, fill: firstFill, slab: -1}
		s.ctx, s.cancel = context.WithCancelCause(op.ctx)
		op.retain()
		if h, err = p.streams.put(s); err != nil {
			s.close()
			return err
		}
		total = n
		return nil
	})
	return h, total, err
}

// StreamNext takes back the slab range of the last call and lends the next one. A length of 0 is the end. The range is
// the caller's until the next call for this stream.
func (p *Process) StreamNext(h Handle) (slab, off, n int, err error) {
	defer p.guard("stream next", &err)
	s, err := p.streams.get(h)
	if err != nil {
		return 0, 0, 0, err
	}
	if err := s.inst.enter(); err != nil {
		return 0, 0, 0, err
	}
	defer s.inst.leave()
	if err := s.begin(); err != nil {
		return 0, 0, 0, err
	}
	defer s.end()
	s.op.begin(p.now())
	defer s.op.end()
	ctx, cancel := context.WithTimeout(s.ctx, s.timeout)
	defer cancel()
	err = settle(ctx, s.inst.protect("stream next", func() (err error) { slab, n, err = s.next(ctx); return err }))
	if err != nil {
		s.fail(err)
		return 0, 0, 0, err
	}
	return slab, 0, n, nil
}

// StreamClose ends a stream, also while a next of it runs, which then answers Closed. It never blocks; twice is
// harmless.
func (p *Process) StreamClose(h Handle) {
	var err error
	defer p.guard("stream close", &err)
	if s, err := p.streams.take(h); err == nil {
		s.close()
	}
}

func (s *stream) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return status.Errorf(status.Closed, "the stream is closed")
	case s.failed != nil:
		return s.failed
	case s.busy:
		return status.Errorf(status.Invalid, "two threads read one stream")
	}
	s.busy = true
	return nil
}

func (s *stream) end() {
	s.mu.Lock()
	s.busy = false
	last := s.closed
	s.mu.Unlock()
	if last {
		s.finish()
	}
}

func (s *stream) fail(err error) {
	s.returnSlab()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
}

func (s *stream) close() {
	s.mu.Lock()
	first, busy := !s.closed, s.busy
	s.closed = true
	s.mu.Unlock()
	s.cancel(errStreamClosed)
	if first && !busy {
		s.finish()
	}
}

// finish runs once, when the stream is closed and no next runs.
func (s *stream) finish() {
	s.returnSlab()
	s.op.release()
	_ = s.inst.protect("stream close", func() error { s.src.Close(); return nil })
}

func (s *stream) returnSlab() {
	if s.slab >= 0 {
		s.inst.p.slabs().release(s.slab)
		s.slab = -1
	}
}

// next fills one slab. The lent one is filled again: whoever asks for the next range has done with the last.
func (s *stream) next(ctx context.Context) (slab, n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, err
	}
	left := s.total - s.pos
	if left == 0 {
		s.returnSlab()
		return 0, 0, nil
	}
	pool := s.inst.p.slabs()
	if s.slab < 0 {
		if s.slab, err = pool.acquire(ctx); err != nil {
			return 0, 0, err
		}
	}
	dst := pool.slabs[s.slab]
	dst = dst[:min(int64(len(dst)), int64(s.fill), left)]
	n, err = s.src.Next(ctx, dst)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return 0, 0, err
	case n > len(dst):
		return 0, 0, status.Errorf(status.Internal, "stream put %d bytes into a buffer of %d", n, len(dst))
	case n <= 0:
		return 0, 0, status.Errorf(status.Corrupt, "stream ends at %d of %d bytes", s.pos, s.total)
	}
	s.pos += int64(n)
	s.fill = min(2*s.fill, mostFill)
	return s.slab, n, nil
}
