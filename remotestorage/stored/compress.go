package stored

import (
	"github.com/klauspost/compress/zstd"

	"tidemark/internal/status"
)

// Levels of compression, as those of zstd. There are four steps behind them: 1 and 2, 3 to 5, 6 to 9, 10 and above.
const (
	MinLevel = 1
	MaxLevel = 19
)

// Compressor makes zstd frames. It is safe for concurrent use.
type Compressor struct{ enc *zstd.Encoder }

// NewCompressor makes a compressor with memory for parallel calls at once; more wait for each other. A level out of range is Invalid.
func NewCompressor(level, parallel int) (*Compressor, error) {
	if level < MinLevel || level > MaxLevel {
		return nil, status.Errorf(status.Invalid, "zstd level %d, want %d to %d", level, MinLevel, MaxLevel)
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)), zstd.WithEncoderConcurrency(max(parallel, 1)),
		zstd.WithSingleSegment(true), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, status.Errorf(status.Internal, "zstd: %w", err)
	}
	return &Compressor{enc: enc}, nil
}

// compress replaces dst by one frame that holds data.
func (c *Compressor) compress(dst, data []byte) []byte { return c.enc.EncodeAll(data, dst[:0]) }

// Decompressor reads zstd frames. It is safe for concurrent use.
type Decompressor struct{ dec *zstd.Decoder }

// NewDecompressor makes a decompressor with memory for parallel calls at once; more wait for each other.
func NewDecompressor(parallel int) (*Decompressor, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(max(parallel, 1)), zstd.WithDecoderMaxMemory(MaxChunkSize),
		zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, status.Errorf(status.Internal, "zstd: %w", err)
	}
	return &Decompressor{dec: dec}, nil
}

// decompress fills dst, which must not overlap data, with the content of the frame: exactly len(dst) bytes. It never allocates what a frame
// claims.
func (d *Decompressor) decompress(dst, data []byte) error {
	out, err := d.dec.DecodeAll(data, dst[:0:len(dst)])
	if err == nil && len(out) != len(dst) {
		err = status.Errorf(status.Corrupt, "%d bytes", len(out))
	}
	if err != nil {
		return status.Errorf(status.Corrupt, "the zstd frame of %d bytes does not give the %d bytes of the chunk: %w", len(data), len(dst), err)
	}
	return nil
}
