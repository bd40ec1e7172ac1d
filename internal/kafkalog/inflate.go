package kafkalog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// keptBytes is the largest buffer that is kept from batch to batch; a larger one was for an exceptional batch.
const keptBytes = 16 << 20

// maxZstdWindow is what Kafka's own consumers accept (zstd's default limit for streams).
const maxZstdWindow = 128 << 20

// errTooLarge stands for more decompressed bytes than the limit.
var errTooLarge = errors.New("above the limit")

// errDamaged stands for framing around compressed blocks that contradicts itself.
var errDamaged = errors.New("damaged framing")

// inflater decompresses the records of a batch into one reused buffer.
type inflater struct {
	max    int // bytes
	out    []byte
	src    bytes.Reader
	gzip   *gzip.Reader
	zstd   *zstd.Decoder
	frames lz4Frames
}

// run returns the decompressed body, valid until the next call. Errors: Corrupt, Unsupported.
func (f *inflater) run(b Batch, codec Codec, body []byte) ([]byte, error) {
	var err error
	f.out = f.out[:0]
	switch codec {
	case Gzip:
		err = f.runGzip(body)
	case Snappy:
		err = f.runSnappy(body)
	case LZ4:
		f.out, err = f.frames.decode(body, f.out, f.max)
	case Zstd:
		err = f.runZstd(body)
	default:
		return nil, b.unsupported("unknown compression codec %d", int8(codec))
	}
	if errors.Is(err, errTooLarge) {
		return nil, b.unsupported("its %s records decompress to more than the limit of %d bytes", codec, f.max)
	}
	if err != nil {
		return nil, b.corrupt("its %d bytes of %s do not decompress: %v", len(body), codec, err)
	}
	return f.out, nil
}

// trim gives an exceptionally large buffer back.
func (f *inflater) trim() {
	if cap(f.out) > keptBytes {
		f.out = nil
	}
}

func (f *inflater) runGzip(body []byte) error {
	f.src.Reset(body)
	defer f.src.Reset(nil)
	if f.gzip == nil {
		f.gzip = new(gzip.Reader)
	}
	if err := f.gzip.Reset(&f.src); err != nil {
		return err
	}
	f.out = slices.Grow(f.out, min(4*len(body), f.max, keptBytes)+1)
	for {
		if len(f.out) == cap(f.out) {
			f.out = slices.Grow(f.out, min(cap(f.out), f.max-len(f.out)+1))
		}
		n, err := f.gzip.Read(f.out[len(f.out):cap(f.out)])
		f.out = f.out[:len(f.out)+n]
		switch {
		case len(f.out) > f.max:
			return errTooLarge
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

func (f *inflater) runZstd(body []byte) error {
	if f.zstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(f.max)), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return err
		}
		f.zstd = d
	}
	var err error
	f.out, err = f.zstd.DecodeAll(body, f.out) // all frames, one after the other
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return errTooLarge
	}
	return err
}

// xerial is the header of the framing by snappy-java, which Kafka's Java clients write: magic, version and lowest
// compatible version, then blocks with a length of four bytes each. Concatenated streams repeat the header.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeader = 16

func (f *inflater) runSnappy(body []byte) error {
	if !bytes.HasPrefix(body, xerial) {
		return f.snappyBlock(body)
	}
	for len(body) > 0 {
		if bytes.HasPrefix(body, xerial) {
			if len(body) < xerialHeader {
				return errDamaged
			}
			body = body[xerialHeader:]
			continue
		}
		if len(body) < 4 {
			return errDamaged
		}
		n := int64(binary.BigEndian.Uint32(body))
		if body = body[4:]; n > int64(len(body)) {
			return errDamaged
		}
		if err := f.snappyBlock(body[:n]); err != nil {
			return err
		}
		body = body[n:]
	}
	return nil
}

func (f *inflater) snappyBlock(block []byte) error {
	n, err := snappy.DecodedLen(block)
	if err != nil {
		return err
	}
	have := len(f.out)
	if n > f.max-have {
		return errTooLarge
	}
	if n > maxSnappyRatio*len(block) {
		return errDamaged
	}
	f.out = slices.Grow(f.out, n)
	if _, err := snappy.Decode(f.out[have:have+n], block); err != nil {
		return err
	}
	f.out = f.out[:have+n]
	return nil
}

// maxSnappyRatio bounds what is allocated for a length that the block only claims: a copy of three bytes makes at most
// 64; the S2 extension that the library reads too makes more, and Kafka does not have it.
const maxSnappyRatio = 64
