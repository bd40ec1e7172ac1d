package objectstore

import (
	"io"
	"os"

	"tidemark/internal/status"
)

// fileSource is an open file with the size it had when it was opened.
type fileSource struct {
	*os.File
	size int64
}

// Size is the size the source was made with.
func (s fileSource) Size() int64 { return s.size }

// FileSource makes a source of the first size bytes of an open file. The caller closes the file after the put. A file
// that has become shorter fails the put as Corrupt.
func FileSource(f *os.File, size int64) Source { return fileSource{f, size} }

// Summed is a source that knows the CRC32C of some ranges of its bytes without reading them.
type Summed interface {
	Source
	// CRC32C is the checksum of a range, ok is false if it is not known.
	CRC32C(offset, length int64) (crc uint32, ok bool)
}

// ReadSource fills p with the source's bytes from offset on; fewer are Corrupt, whatever the source says.
func ReadSource(src Source, p []byte, offset int64) error {
	n, err := src.ReadAt(p, offset)
	switch {
	case n == len(p):
		return nil
	case err == nil || err == io.EOF || err == io.ErrUnexpectedEOF:
		return status.Errorf(status.Corrupt, "the source ended at byte %d of %d", offset+int64(n), src.Size())
	}
	return status.Errorf(status.Transient, "read the source at byte %d of %d: %w", offset+int64(n), src.Size(), err)
}
