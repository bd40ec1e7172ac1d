package remotestorage

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"tidemark/internal/budget"
	"tidemark/internal/kafkalog"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/remotestorage/keyring"
	"tidemark/remotestorage/stored"
)

// Values of segment.compression.
const (
	CompressionNone = "none"
	CompressionZstd = "zstd"
)

// scratchName is the folder of local.dir for log objects on their way. Its files have no name once they are open, so that nothing stays.
const scratchName = "copy-scratch"

// transforms makes the stored form of segments that are compressed or encrypted.
type transforms struct {
	dir        string
	compressor *stored.Compressor // nil: not compressed
	ring       *keyring.Ring      // nil: encrypted segments cannot be read
	encrypt    bool               // new segments
	cpu        *budget.Bytes      // slots: each transforms one segment
	scratch    *budget.Bytes      // bytes of scratch files
}

// newTransforms opens what the configuration asks for. Errors are Invalid.
func newTransforms(cfg Config, log *slog.Logger) (*transforms, error) {
	parallel := cfg.TransformParallel
	if parallel == 0 {
		parallel = max(runtime.NumCPU()/2, 1)
	}
	t := &transforms{
		dir: filepath.Join(cfg.Reclaim.Dir, scratchName),
		cpu: budget.NewSlots("segment.transform.parallel", parallel), scratch: budget.NewBytes("segment.scratch.max.bytes", cfg.ScratchBytes),
	}
	var err error
	if cfg.Compression == CompressionZstd {
		if t.compressor, err = stored.NewCompressor(cfg.CompressionLevel, parallel); err != nil {
			return nil, err
		}
	}
	if cfg.KeysFile != "" {
		if t.ring, err = keyring.Open(cfg.KeysFile, log); err != nil {
			return nil, status.Wrapf(err, "segment.encryption.keys.file")
		}
		t.encrypt = cfg.EncryptNew
	}
	if err := os.RemoveAll(t.dir); err != nil {
		return nil, status.Errorf(status.Invalid, "local.dir: cannot clear %s: %w", t.dir, err)
	}
	if !t.idle() {
		if err := os.MkdirAll(t.dir, 0o700); err != nil {
			return nil, status.Errorf(status.Invalid, "local.dir: cannot make %s: %w", t.dir, err)
		}
	}
	return t, nil
}

// idle tells that segments are stored as they are.
func (t *transforms) idle() bool { return t.compressor == nil && !t.encrypt }

// keys unwraps data keys, nil if there is no ring.
func (t *transforms) keys() stored.Keys {
	if t.ring == nil {
		return nil
	}
	return t.ring
}

// ringRefused is 1 while the file of the ring has a fault.
func (t *transforms) ringRefused() float64 {
	if t.ring == nil || t.ring.Refused() == "" {
		return 0
	}
	return 1
}

// shaping is the log object of one copy: the log file itself, or a scratch file from the first chunk on that differs from it.
type shaping struct {
	t       *transforms
	log     *os.File
	plain   *stored.Chunker     // one of these two,
	form    *stored.Transformer // is set
	sealer  *stored.Sealer      // nil: not encrypted
	keyID   string
	wrapped []byte
	scratch *os.File // nil: the log file is the object
	size    int64    // of the object
	cpu     func()   // gives the slot back
	space   func()   // gives the scratch bytes back
}

// begin waits for what the transformation of a segment needs. close must be called.
func (t *transforms) begin(ctx context.Context, seg Segment, log *os.File, chunkBytes int32) (_ *shaping, err error) {
	s := &shaping{t: t, log: log, cpu: func() {}, space: func() {}}
	if t.idle() {
		s.plain = stored.NewChunker(chunkBytes)
		return s, nil
	}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	// A chunk that is sealed grows by a tag; a segment has at most as many chunks as quarters of a chunk, and one.
	most := seg.Size + (seg.Size/(int64(chunkBytes)/4)+1)*64
	if s.space, err = t.scratch.Acquire(ctx, min(most, t.scratch.Capacity())); err != nil {
		s.space = func() {}
		return nil, err
	}
	release, err := t.cpu.Acquire(ctx, 1)
	if err != nil {
		return nil, err
	}
	s.cpu = release
	if t.encrypt {
		if err := s.makeKey(seg.identity()); err != nil {
			return nil, err
		}
	}
	s.form = stored.NewTransformer(chunkBytes, stored.Transform{Compressor: t.compressor, Sealer: s.sealer}, s.chunk)
	return s, nil
}

// makeKey makes the segment's data key, which nothing else is ever encrypted with.
func (s *shaping) makeKey(id stored.Identity) error {
	dataKey := make([]byte, stored.DataKeySize)
	defer clear(dataKey)
	if _, err := rand.Read(dataKey); err != nil {
		return status.Errorf(status.Transient, "no random bytes for a data key: %w", err)
	}
	var err error
	s.keyID = s.t.ring.Active()
	if s.wrapped, err = s.t.ring.Wrap(s.keyID, dataKey, stored.WrapContext(id)); err != nil {
		return err
	}
	s.sealer, err = stored.NewSealer(id, dataKey)
	return err
}

// batch takes the next batch of the log file.
func (s *shaping) batch(b kafkalog.Batch) error {
	if s.plain != nil {
		_, err := s.plain.Write(b.Bytes())
		return err
	}
	return s.form.Write(b.Bytes(), b.Codec() == kafkalog.None)
}

// chunk takes the next chunk as it will be stored.
func (s *shaping) chunk(c stored.Chunk, data []byte) error {
	if s.scratch == nil {
		if c.Form == 0 {
			return nil // so far the object is the log file
		}
		if err := s.divert(c.Original); err != nil {
			return err
		}
	}
	if _, err := s.scratch.Write(data); err != nil {
		return status.Errorf(status.Transient, "scratch file in %s: %w", s.t.dir, err)
	}
	return nil
}

// divert starts the scratch file with the bytes of the log file before the first chunk that differs.
func (s *shaping) divert(before int64) error {
	f, err := os.CreateTemp(s.t.dir, "log-*")
	if err != nil {
		return status.Errorf(status.Transient, "scratch file for a log object: %w", err)
	}
	s.scratch = f
	if err := os.Remove(f.Name()); err != nil {
		return status.Errorf(status.Transient, "scratch file for a log object: %w", err)
	}
	if err := copyRange(f, s.log, before); err != nil {
		return status.Errorf(status.Transient, "scratch file in %s: %w", s.t.dir, err)
	}
	return nil
}

// finish returns the map and the CRC32C of the object. It ends the work that needs CPU.
func (s *shaping) finish() (stored.Map, uint32, error) {
	defer s.cpu()
	if s.plain != nil {
		m, crc := s.plain.Finish()
		s.size = m.StoredSize
		return m, crc, nil
	}
	m, crc, err := s.form.Finish()
	s.size = m.StoredSize
	return m, crc, err
}

// object is the log object to put.
func (s *shaping) object() objectstore.Source {
	if s.scratch != nil {
		return objectstore.FileSource(s.scratch, s.size)
	}
	return objectstore.FileSource(s.log, s.size)
}

// close gives everything back. It may be called more than once.
func (s *shaping) close() {
	if s.scratch != nil {
		_ = s.scratch.Close()
	}
	s.cpu()
	s.space()
}
