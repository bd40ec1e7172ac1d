package fetch

import (
	"context"
	"io"
	"sync/atomic"

	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// Segment is a stored segment whose manifest is known: its original bytes by position.
type Segment struct {
	f    *Fetcher
	id   stored.Identity
	log  string
	m    stored.Map
	dec  stored.Decoder
	end  int64 // last offset
	next *Ref
}

func (s *Segment) partition() partitionKey { return partitionKey{s.id.TopicID, s.id.Partition} }

// Segment reads the manifest of a stored segment. Errors as those of Sidecar.
func (f *Fetcher) Segment(ctx context.Context, ref Ref) (*Segment, error) {
	s, err := f.Sidecar(ctx, ref)
	if err != nil {
		return nil, err
	}
	log, _ := ref.Keys()
	return &Segment{f: f, id: ref.Identity, log: log, m: s.Manifest.Map, dec: s.Decoder(f.frames), end: s.Manifest.EndOffset, next: ref.Next}, nil
}

// Size is the size of the original log file in bytes.
func (s *Segment) Size() int64 { return s.m.Size }

// Read fills dst with the original bytes from pos on; bytes outside the segment are Invalid. Other errors: NotFound,
// Corrupt, Closed, Cancelled or Transient at the end of ctx, and those of the store. It keeps nothing of dst.
func (s *Segment) Read(ctx context.Context, dst []byte, pos int64) error {
	spans, err := s.m.Spans(pos, pos+int64(len(dst)))
	if err != nil {
		return status.Wrapf(err, "log object %s", s.log)
	}
	for _, span := range spans {
		e, err := s.f.chunks.get(ctx, s, span.Chunk)
		if err != nil {
			return err
		}
		n := copy(dst, e.data()[span.From:span.To])
		s.f.chunks.put(e, span.To == s.m.OriginalSize(span.Chunk))
		dst = dst[n:]
		s.f.served.Add(int64(n))
	}
	return nil
}

// ReaderAt is the segment as an io.ReaderAt whose reads end with ctx.
func (s *Segment) ReaderAt(ctx context.Context) io.ReaderAt { return readerAt{ctx, s} }

type readerAt struct {
	ctx context.Context
	s   *Segment
}

// ReadAt reads whole ranges; at the end of the segment it returns what there is, with io.EOF.
func (r readerAt) ReadAt(p []byte, off int64) (int, error) {
	if off >= r.s.m.Size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), r.s.m.Size-off)
	if err := r.s.Read(r.ctx, p[:n], off); err != nil {
		return 0, err
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// Stream is a range of a segment, read from front to back. It holds no memory and no connection between calls.
type Stream struct {
	s        *Segment
	pos, end int64
	closed   atomic.Bool
}

// Open prepares to read the original bytes [start, end) of a segment; an end that is negative or beyond the segment is its
// end. It returns the number of bytes that the stream will deliver. A start outside the segment is Invalid; other errors
// as those of Sidecar. The log object is not touched yet.
func (f *Fetcher) Open(ctx context.Context, ref Ref, start, end int64) (*Stream, int64, error) {
	s, err := f.Segment(ctx, ref)
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

// Next fills dst with the next bytes and returns their number: len(dst), or what is left of the range, or 0 and no error
// when all of it was delivered. It never returns fewer together with an error; after an error the same bytes may be asked
// for again. Errors as those of Segment.Read. It keeps nothing of dst.
func (s *Stream) Next(ctx context.Context, dst []byte) (int, error) {
	if s.closed.Load() {
		return 0, status.Errorf(status.Closed, "log object %s: the stream is closed", s.s.log)
	}
	n := min(int64(len(dst)), s.end-s.pos)
	if err := s.s.Read(ctx, dst[:n], s.pos); err != nil {
		return 0, err
	}
	s.pos += n
	return int(n), nil
}

// Close makes later calls of Next fail. It may be called at any time and more than once.
func (s *Stream) Close() { s.closed.Store(true) }
