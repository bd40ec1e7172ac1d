package remotestorage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"tidemark/internal/kafkalog"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// files are the open files of a segment. Indexes are read when they are opened: they are small, and the log file is the
// only descriptor that stays.
type files struct {
	log     *os.File
	size    int64 // of the log file as it is on disk, at least what Kafka says
	indexes []stored.Content
}

// openFiles opens everything before anything is done with it. A missing file is NotFound: the partition has moved or is
// being deleted.
func openFiles(seg Segment, paths Paths) (_ *files, err error) {
	f := &files{}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if f.log, f.size, err = open(paths.Log, "log file"); err != nil {
		return nil, err
	}
	if f.size < seg.Size {
		return nil, status.Errorf(status.Corrupt, "log file %s has %d bytes, Kafka says %d", paths.Log, f.size, seg.Size)
	}
	for _, x := range []struct {
		kind stored.IndexKind
		path string
	}{
		{stored.OffsetIndex, paths.OffsetIndex}, {stored.TimeIndex, paths.TimeIndex},
		{stored.ProducerSnapshot, paths.ProducerSnapshot}, {stored.TransactionIndex, paths.TxnIndex},
	} {
		if x.kind == stored.TransactionIndex {
			f.indexes = append(f.indexes, stored.Content{Kind: stored.LeaderEpochs, Bytes: paths.LeaderEpochs})
			if x.path == "" {
				continue
			}
		}
		data, err := readAll(x.path, x.kind.String())
		if err != nil {
			return nil, err
		}
		f.indexes = append(f.indexes, stored.Content{Kind: x.kind, Bytes: data})
	}
	return f, nil
}

// close closes the log file, unless it was taken.
func (f *files) close() {
	if f.log != nil {
		f.log.Close()
	}
}

// take returns the log file, which the caller must close.
func (f *files) take() *os.File {
	log := f.log
	f.log = nil
	return log
}

func open(path, what string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fileError(err, what)
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = status.Errorf(status.Invalid, "%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, 0, fileError(err, what)
	}
	return f, fi.Size(), nil
}

func readAll(path, what string) ([]byte, error) {
	f, size, err := open(path, what)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > stored.MaxSidecarSize {
		return nil, status.Errorf(status.Invalid, "%s %s has %d bytes, more than the %d of a sidecar", what, path, size, stored.MaxSidecarSize)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, status.Errorf(status.Corrupt, "%s %s changed while it was read: %w", what, path, err)
	}
	return data, nil
}

// fileError classifies a failure to open or read a local file; os errors name the path.
func fileError(err error, what string) error {
	var classified *status.Error
	switch {
	case errors.As(err, &classified):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return status.Errorf(status.NotFound, "%s: %w", what, err)
	}
	return status.Errorf(status.Transient, "%s: %w", what, err)
}

// check walks the batches of the segment into its stored form and returns the chunk map and the CRC32C of the log object. Batches may start above
// the segment's base offset and end below its end offset: compaction, before the topic was tiered, removes batches.
func (f *files) check(ctx context.Context, seg Segment, form *shaping, w *kafkalog.Walker) (stored.Map, uint32, error) {
	span := kafkalog.Span{Base: seg.BaseOffset, End: seg.EndOffset}
	err := w.Walk(f.log, 0, seg.Size, func(b kafkalog.Batch) error {
		if err := ctx.Err(); err != nil {
			return status.Wrapf(err, "at byte %d of %d", b.Pos, seg.Size)
		}
		if err := span.Check(b); err != nil {
			return err
		}
		if err := objectstore.Pass(ctx, int64(b.Size())); err != nil {
			return status.Wrapf(err, "at byte %d of %d", b.Pos, seg.Size)
		}
		return form.batch(b)
	})
	if err != nil {
		return stored.Map{}, 0, status.Wrapf(err, "log file %s", f.log.Name())
	}
	for _, x := range f.indexes {
		switch x.Kind {
		case stored.OffsetIndex:
			err = kafkalog.CheckOffsetIndex(x.Bytes, seg.BaseOffset, seg.Size)
		case stored.TimeIndex:
			err = kafkalog.CheckTimeIndex(x.Bytes, seg.BaseOffset)
		}
		if err != nil {
			return stored.Map{}, 0, status.Wrapf(err, "segment of log file %s", f.log.Name())
		}
	}
	m, crc, err := form.finish()
	if err != nil {
		return stored.Map{}, 0, err
	}
	if m.Size != seg.Size {
		return stored.Map{}, 0, status.Errorf(status.Internal, "log file %s: %d bytes walked of %d", f.log.Name(), m.Size, seg.Size)
	}
	return m, crc, nil
}

// copyRange writes the first n bytes of src to dst at its position.
func copyRange(dst, src *os.File, n int64) error {
	copied, err := io.Copy(dst, io.NewSectionReader(src, 0, n))
	if err == nil && copied != n {
		err = io.ErrUnexpectedEOF
	}
	return err
}
