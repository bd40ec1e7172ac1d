package kafkalog

import (
	"encoding/binary"
	"errors"
	"io"

	"tidemark/internal/status"
)

// ErrStop, returned by the function given to a walk, ends the walk without an error.
var ErrStop = errors.New("stop the walk")

// windowBytes is what a walk reads at once: large enough that a read call costs nothing beside the CRC of its bytes,
// small enough that the CRC finds them still in the second-level cache.
const windowBytes = 512 << 10

// Walk calls fn for every batch of a segment file of size bytes, in order. A batch is valid only during fn.
//
// Errors: Corrupt with position and offset, a truncated tail included; Unsupported for magic 0 and 1 and for a batch above
// the default [Limits]; the error of src with its class; the error of fn as it is, except [ErrStop].
func Walk(src io.ReaderAt, size int64, fn func(Batch) error) error {
	return WalkFrom(src, 0, size, fn)
}

// WalkFrom is [Walk] from position pos, which must be the begin of a batch, to position size.
func WalkFrom(src io.ReaderAt, pos, size int64, fn func(Batch) error) error {
	var w Walker
	return w.Walk(src, pos, size, fn)
}

// Walker is a walk with its limits and its buffer, to be used again. The zero value is ready.
type Walker struct {
	Limits Limits
	buf    []byte

	src     io.ReaderAt
	size    int64 // where to stop
	from    int64 // position of buf[0]
	held    int   // bytes in buf
	nextOff int64 // lowest offset that the next batch may have
}

// Walk is [WalkFrom] with the buffer and the limits of w.
func (w *Walker) Walk(src io.ReaderAt, pos, size int64, fn func(Batch) error) error {
	w.src, w.size, w.from, w.held, w.nextOff = src, size, pos, 0, -1
	defer func() { w.src = nil }()
	if pos < 0 || pos > size {
		return status.Errorf(status.Invalid, "walk from position %d of a segment of %d bytes", pos, size)
	}
	limits := w.Limits.orDefault()
	for pos < size {
		b, err := w.next(pos, limits)
		if err != nil {
			return err
		}
		pos += int64(b.Size())
		if err := fn(b); err != nil {
			if errors.Is(err, ErrStop) {
				return nil
			}
			return err
		}
	}
	return nil
}

func (w *Walker) next(pos int64, limits Limits) (Batch, error) {
	rest := w.size - pos
	if rest < atMagic+1 {
		return Batch{}, status.Errorf(status.Corrupt, "segment ends inside a batch: %d bytes after position %d, a batch header has %d",
			rest, pos, HeaderSize)
	}
	head, err := w.bytes(pos, int(min(rest, HeaderSize)))
	if err != nil {
		return Batch{}, err
	}
	b := Batch{Pos: pos, raw: head}
	length := int64(b.i32(atLength)) + logOverhead
	switch {
	case length < atMagic+1:
		return Batch{}, b.corrupt("its length field says %d bytes", length)
	case length > rest:
		return Batch{}, b.corrupt("it has %d bytes but the segment ends after %d", length, rest)
	case length > int64(limits.MaxBatchBytes):
		return Batch{}, b.unsupported("it has %d bytes, above the limit of %d", length, limits.MaxBatchBytes)
	}
	raw, err := w.bytes(pos, int(length))
	if err != nil {
		return Batch{}, err
	}
	b, err = ParseBatch(raw, pos)
	if err != nil {
		return Batch{}, err
	}
	if b.BaseOffset() < w.nextOff {
		return Batch{}, b.corrupt("the batch before it ends at offset %d", w.nextOff-1)
	}
	w.nextOff = b.NextOffset()
	return b, nil
}

// bytes returns n bytes from pos on; the caller has checked that the segment has them and that n is within the limits.
// pos never goes back.
func (w *Walker) bytes(pos int64, n int) ([]byte, error) {
	at := int(pos - w.from)
	if at+n <= w.held {
		return w.buf[at : at+n : at+n], nil
	}
	buf := w.buf
	if n > len(buf) {
		buf = make([]byte, max(n, windowBytes))
	}
	kept := copy(buf, w.buf[min(at, w.held):w.held])
	w.buf, w.from, w.held = buf, pos, kept
	want := int(min(int64(len(buf)), w.size-pos))
	got, err := w.src.ReadAt(buf[kept:want], pos+int64(kept))
	w.held += got
	if w.held < want {
		if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, status.Errorf(status.Corrupt, "segment ends at position %d, expected at %d", pos+int64(w.held), w.size)
		}
		return nil, status.Wrapf(err, "read %d bytes of the segment at position %d", want-kept, pos+int64(kept))
	}
	return buf[:n:n], nil
}

// BatchLength reads from the first bytes of a batch how long the whole is; ok is false with fewer than 12 bytes.
func BatchLength(head []byte) (n int64, ok bool) {
	if len(head) < logOverhead {
		return 0, false
	}
	return int64(int32(binary.BigEndian.Uint32(head[atLength:]))) + logOverhead, true
}
