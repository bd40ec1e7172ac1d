package fetch

import (
	"context"
	"sync/atomic"

	"tidemark/internal/status"
)

// Stream is a range of a segment, read from front to back. It holds no memory and no connection between calls.
type Stream struct {
	s        *Segment
	pos, end int64
	closed   atomic.Bool
}

// Open prepares to read the original bytes [start, end) of a segment; an end that is negative or beyond the segment is its
// end. It returns the number of bytes that the stream will deliver. A start outside the segment is Invalid; other errors
// as those of Sidecar. If the sidecar has to be read, the first bytes are asked for beside it.
func (f *Fetcher) Open(ctx context.Context, ref Ref, start, end int64) (*Stream, int64, error) {
	early := f.foresee(ref, start)
	s, err := f.Segment(ctx, ref)
	early.decide(ctx, err)
	if err != nil {
		return nil, 0, err
	}
	if end < 0 || end > s.m.Size {
		end = s.m.Size
	}
	if start < 0 || start > end {
		return nil, 0, status.Errorf(status.Invalid, "log object %s: range [%d, %d) of %d bytes", s.log, start, end, s.m.Size)
	}
	return &Stream{s: s, pos: start, end: end}, end - start, nil
}

// Next fills dst with the next bytes and returns their number: len(dst), or what is left of the range, or fewer but at least one
// when those after them are still on their way, or 0 and no error when all of the range was delivered. It never returns bytes together with
// an error; after an error the same bytes may be asked for again. Errors as those of Segment.Read. It keeps nothing of dst.
func (s *Stream) Next(ctx context.Context, dst []byte) (int, error) {
	if s.closed.Load() {
		return 0, status.Errorf(status.Closed, "log object %s: the stream is closed", s.s.log)
	}
	n, err := s.s.read(ctx, dst[:min(int64(len(dst)), s.end-s.pos)], s.pos, false)
	if err != nil {
		return 0, err
	}
	s.pos += int64(n)
	return n, nil
}

// Close makes later calls of Next fail. It may be called at any time and more than once.
func (s *Stream) Close() { s.closed.Store(true) }
