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

	early *early // nil: the checksums of m are known
}

// early is a segment whose sidecar is still on its way: its map is that of the custom metadata, without checksums, and good for asking
// for bytes only.
type early struct {
	ref   Ref
	known atomic.Pointer[stored.Map]

	decided chan struct{} // closed when who started it has read the sidecar or failed to
	err     error         // then: why
}

// decide tells an early segment, if there is one, how reading its sidecar has ended, so that nobody does it once more to find out.
func (s *Segment) decide(ctx context.Context, err error) {
	if s == nil || s.early == nil {
		return
	}
	if ctx.Err() == nil { // else the caller gave up: that says nothing
		s.early.err = err
	}
	close(s.early.decided)
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

// soon is a segment as its custom metadata describes it, nil if the sidecar is in memory or the metadata does not tell.
func (f *Fetcher) soon(ref Ref) *Segment {
	log, side := ref.Keys()
	if len(ref.Custom) == 0 || f.sidecars.landed(side) {
		return nil
	}
	meta, err := stored.DecodeMetadata(ref.Custom)
	if err != nil {
		return nil // Sidecar will say it
	}
	m, ok := meta.Layout()
	if !ok {
		return nil
	}
	// Where it ends is not known: only what was read up to its very start counts as before it.
	return &Segment{f: f, id: ref.Identity, log: log, m: m, end: ref.BaseOffset, early: &early{ref: ref, decided: make(chan struct{})}}
}

// checked is the map with its checksums; it waits for a sidecar that is on its way. Errors as those of Sidecar.
func (s *Segment) checked() (stored.Map, error) {
	if s.early == nil {
		return s.m, nil
	}
	if m := s.early.known.Load(); m != nil {
		return *m, nil
	}
	ctx, cancel := s.f.pace.WithDeadline(s.f.tasks.Context(), 0)
	defer cancel()
	select {
	case <-s.early.decided:
	case <-ctx.Done():
		return stored.Map{}, status.Wrapf(ctx.Err(), "sidecar of log object %s", s.log)
	}
	if s.early.err != nil {
		return stored.Map{}, s.early.err
	}
	side, err := s.f.Sidecar(ctx, s.early.ref)
	if err != nil {
		return stored.Map{}, err
	}
	s.early.known.Store(&side.Manifest.Map)
	return side.Manifest.Map, nil
}

// known tells whether checked has nothing to wait for.
func (s *Segment) known() bool {
	if s.early == nil || s.early.known.Load() != nil {
		return true
	}
	side := s.f.inMemory(s.early.ref)
	if side == nil {
		return false
	}
	s.early.known.Store(&side.Manifest.Map)
	return true
}

// firstPiece is how much of a stream is read at first, at least.
const firstPiece = 128 << 10

// foresee starts to read what a stream from start on needs first, beside the sidecar, if that is not known yet. It does not wait. The early
// segment that it returns, or nil, must be told how reading the sidecar ends.
func (f *Fetcher) foresee(ref Ref, start int64) *Segment {
	s := f.soon(ref)
	if s == nil || start < 0 || start >= s.m.Size {
		return nil
	}
	last := s.m.Index(min(start+firstPiece, s.m.Size) - 1)
	f.chunks.foresee(s, s.m.Index(start), last)
	return s
}

// readNext starts to read the first bytes of a segment that is likely to be wanted next.
func (f *Fetcher) readNext(ref Ref, bytes int64) {
	f.tasks.Go("read ahead", func(ctx context.Context) {
		ctx, cancel := f.pace.WithDeadline(ctx, 0)
		defer cancel()
		s := f.soon(ref)
		if s == nil {
			var err error
			if s, err = f.Segment(ctx, ref); err != nil {
				return // whoever wants it will be told
			}
		}
		f.chunks.readAhead(s, bytes)
		if s.early != nil {
			_, err := f.Sidecar(ctx, ref)
			s.decide(ctx, err)
		}
	})
}

// Read fills dst with the original bytes from pos on; bytes outside the segment are Invalid. Other errors: NotFound,
// Corrupt, Closed, Cancelled or Transient at the end of ctx, and those of the store. It keeps nothing of dst.
func (s *Segment) Read(ctx context.Context, dst []byte, pos int64) error {
	_, err := s.read(ctx, dst, pos, true)
	return err
}

// read fills dst, or if not whole, what there is without waiting for a second chunk.
func (s *Segment) read(ctx context.Context, dst []byte, pos int64, whole bool) (n int, err error) {
	spans, err := s.m.Spans(pos, pos+int64(len(dst)))
	if err != nil {
		return 0, status.Wrapf(err, "log object %s", s.log)
	}
	for k, span := range spans {
		if k > 0 && !whole && !s.f.chunks.landed(s, span.Chunk) {
			break
		}
		e, err := s.f.chunks.get(ctx, s, span.Chunk, spans[len(spans)-1].Chunk)
		if err != nil {
			return 0, err
		}
		m := copy(dst[n:], e.data()[span.From:span.To])
		s.f.chunks.put(e, span.To == s.m.OriginalSize(span.Chunk))
		n += m
		s.f.served.Add(int64(m))
	}
	return n, nil
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
