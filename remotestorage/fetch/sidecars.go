package fetch

import (
	"context"
	"time"

	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// sidecar is a checked sidecar with its own checksum.
type sidecar struct {
	*stored.Sidecar
	crc     uint32
	uniform int32 // of its chunk map: each use compares it
}

// Sidecar returns the checked sidecar of a segment, with one GET if it is not cached. The result may be kept; its indexes
// must not be changed. Errors: NotFound, Corrupt, Unsupported, and those of the store.
func (f *Fetcher) Sidecar(ctx context.Context, ref Ref) (*stored.Sidecar, error) {
	_, key := ref.Keys()
	var meta *stored.Metadata
	if len(ref.Custom) > 0 {
		m, err := stored.DecodeMetadata(ref.Custom)
		if err != nil {
			return nil, status.Wrapf(err, "segment of sidecar %s", key)
		}
		meta = &m
	}
	size, err := f.sidecarSize(ctx, key, meta)
	if err != nil {
		return nil, err
	}
	s, unpin, err := f.sidecars.get(ctx, key, size, func(ctx context.Context) (sidecar, error) {
		return f.loadSidecar(ctx, key, size, meta)
	})
	if err != nil {
		return nil, err
	}
	// The budget counts what the cache keeps. What is handed out is in use for the length of a call.
	defer unpin()
	if err := s.matches(ref, meta); err != nil {
		return nil, f.noted(status.Wrapf(err, "sidecar %s", key))
	}
	return s.Sidecar, nil
}

// inMemory is the sidecar of a segment if that is in memory and as Sidecar would return it, else nil.
func (f *Fetcher) inMemory(ref Ref) *stored.Sidecar {
	_, key := ref.Keys()
	s, ok := f.sidecars.peek(key)
	if !ok {
		return nil
	}
	meta, err := stored.DecodeMetadata(ref.Custom)
	if err != nil || s.matches(ref, &meta) != nil {
		return nil
	}
	return s.Sidecar
}

// answer is how one GET of a sidecar ended.
type answer struct {
	data []byte
	err  error
}

// readSidecar reads the whole of a sidecar, with a second GET when the first takes longer than almost all others did: whichever succeeds
// first is taken and the other one ended.
func (f *Fetcher) readSidecar(ctx context.Context, key string, size int64) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, 2)
	began := time.Now()
	if !f.askSidecar(ctx, key, size, answers, func() {}) {
		return nil, status.Errorf(status.Closed, "read %s: the reader is closed", key)
	}
	timer := time.NewTimer(f.sidecarLatency.after())
	defer timer.Stop()
	var first error
	for running := 1; running > 0; {
		select {
		case a := <-answers:
			f.sidecarLatency.noteOutcome(a.err)
			if a.err == nil {
				f.sidecarLatency.note(time.Since(began))
				return a.data, nil
			}
			if first == nil {
				first = a.err
			}
			running--
		case <-timer.C:
			if f.hedging && f.hedgeSidecar(ctx, key, size, answers) {
				running++
			}
		}
	}
	return nil, first
}

// hedgeSidecar makes the second GET if there is memory for it and not too many were made.
func (f *Fetcher) hedgeSidecar(ctx context.Context, key string, size int64, answers chan<- answer) bool {
	release, ok := f.sidecars.mem.TryAcquire(min(size, f.sidecars.mem.Capacity()))
	if !ok {
		return false
	}
	if !f.sidecarLatency.permit() || !f.askSidecar(ctx, key, size, answers, release) {
		release()
		return false
	}
	f.hedges.Inc()
	return true
}

// askSidecar starts a GET with a buffer of its own. release is called when the GET has ended.
func (f *Fetcher) askSidecar(ctx context.Context, key string, size int64, answers chan<- answer, release func()) bool {
	return f.tasks.Go("sidecar", func(context.Context) {
		defer release()
		data := make([]byte, size)
		err := f.tasks.Guard("sidecar", func() error { return f.store.ReadRange(ctx, key, data, 0) })
		answers <- answer{data, err}
	})
}

// sidecarSize is the size that the sidecar must have: that of the custom metadata, else that of the object.
func (f *Fetcher) sidecarSize(ctx context.Context, key string, meta *stored.Metadata) (int64, error) {
	size, ok := f.sidecars.size(key)
	if meta != nil {
		size, ok = int64(meta.SidecarSize), true
	}
	if !ok {
		ctx, cancel := f.pace.WithDeadline(ctx, 0)
		defer cancel()
		info, err := f.store.Head(ctx, key)
		if err != nil {
			return 0, err
		}
		size = info.Size
	}
	if size > stored.MaxSidecarSize {
		return 0, status.Errorf(status.Corrupt, "sidecar %s: %d bytes, more than the largest of %d", key, size, stored.MaxSidecarSize)
	}
	return size, nil
}

// loadSidecar takes a sidecar from the disk, else from the store.
func (f *Fetcher) loadSidecar(ctx context.Context, key string, size int64, meta *stored.Metadata) (sidecar, error) {
	if s := f.keptSidecar(key, size, meta); s != nil {
		return f.opened(key, s)
	}
	defer f.took(time.Now())
	var bad error
	for range 2 { // once more: they may have been damaged on their way
		data, err := f.readSidecar(ctx, key, size)
		if err != nil {
			return sidecar{}, f.noted(err)
		}
		var s *stored.Sidecar
		if s, bad = stored.DecodeSidecar(data); bad == nil {
			if f.disk != nil {
				f.disk.Put(key, 0, data)
			}
			return f.opened(key, s)
		}
	}
	return sidecar{}, f.noted(status.Wrapf(bad, "sidecar %s, first %d bytes", key, size))
}

// keptSidecar is what the disk has, nil if that is nothing or not what was stored.
func (f *Fetcher) keptSidecar(key string, size int64, meta *stored.Metadata) *stored.Sidecar {
	if f.disk == nil || !f.disk.Has(key, 0, int(size)) {
		return nil
	}
	data := make([]byte, size)
	if !f.disk.Get(key, 0, data) || meta != nil && stored.CRC(data) != meta.SidecarCRC {
		return nil
	}
	s, err := stored.DecodeSidecar(data)
	if err != nil {
		return nil
	}
	return s
}

// opened is a sidecar whose indexes can be read.
func (f *Fetcher) opened(key string, s *stored.Sidecar) (sidecar, error) {
	s, err := s.Open(f.keys)
	if err != nil {
		return sidecar{}, f.noted(status.Wrapf(err, "sidecar %s", key))
	}
	return sidecar{s, s.CRC(), s.Manifest.Map.Uniform()}, nil
}

// matches compares a sidecar with what the caller knows about the segment.
func (s sidecar) matches(ref Ref, meta *stored.Metadata) error {
	m := s.Manifest
	if m.Identity != ref.Identity {
		return status.Errorf(status.Corrupt, "it is that of partition %d, base offset %d, topic id %x, segment id %x; wanted %d, %d, %x, %x",
			m.Partition, m.BaseOffset, m.TopicID, m.SegmentID, ref.Partition, ref.BaseOffset, ref.TopicID, ref.SegmentID)
	}
	if ref.Size >= 0 && m.Map.Size != ref.Size {
		return status.Errorf(status.Corrupt, "it describes a segment of %d bytes, Kafka's metadata says %d", m.Map.Size, ref.Size)
	}
	if meta == nil {
		return nil
	}
	if meta.ChunkSize != 0 && meta.ChunkSize != s.uniform {
		return status.Errorf(status.Corrupt, "it describes chunks of %d bytes or not of one size, the custom metadata says %d", m.Map.ChunkSize, meta.ChunkSize)
	}
	if meta.Size != m.Map.StoredSize {
		return status.Errorf(status.Corrupt, "it describes a log object of %d bytes, the custom metadata says %d", m.Map.StoredSize, meta.Size)
	}
	if s.Size() != int64(meta.SidecarSize) || s.crc != meta.SidecarCRC {
		return status.Errorf(status.Corrupt, "%d bytes with CRC32C %08x, the custom metadata says %d with %08x",
			s.Size(), s.crc, meta.SidecarSize, meta.SidecarCRC)
	}
	return nil
}
