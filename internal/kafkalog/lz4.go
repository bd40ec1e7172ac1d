package kafkalog

import (
	"encoding/binary"
	"slices"

	"github.com/pierrec/lz4/v4"
)

// lz4Frames reads LZ4 frames (github.com/lz4/lz4, doc/lz4_Frame_format.md) block by block into the caller's buffer.
// Checksums inside the frame are passed over: the CRC32C of the batch covers the same bytes, and Kafka's first LZ4 writers got the
// header checksum wrong.
type lz4Frames struct{}

const (
	lz4Magic        = 0x184D2204
	lz4Skippable    = 0x184D2A50 // and the 15 numbers after it
	lz4History      = 64 << 10   // how far back a linked block may refer
	lz4Stored       = 1 << 31    // in a block length: not compressed
	lz4FlagLinked   = 0x20       // inverted: set = blocks are independent
	lz4FlagBlockSum = 0x10
	lz4FlagSize     = 0x08
	lz4FlagSum      = 0x04
	lz4FlagDict     = 0x01
)

// decode appends the content of all frames of src to dst, which may move.
func (lz4Frames) decode(src, dst []byte, limit int) ([]byte, error) {
	for len(src) > 0 {
		if len(src) < 8 {
			return dst, errDamaged
		}
		magic := binary.LittleEndian.Uint32(src)
		if magic&^0xF == lz4Skippable {
			n := int64(binary.LittleEndian.Uint32(src[4:]))
			if src = src[8:]; n > int64(len(src)) {
				return dst, errDamaged
			}
			src = src[n:]
			continue
		}
		if magic != lz4Magic {
			return dst, errDamaged
		}
		var err error
		if dst, src, err = lz4Frame(src[4:], dst, limit); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// lz4Frame appends one frame, of which src is what follows the magic number, and returns what follows the frame.
func lz4Frame(src, dst []byte, limit int) (out, rest []byte, err error) {
	flags, sizeCode := src[0], src[1]>>4&7
	head := 3 // flags, block size, header checksum
	if flags&lz4FlagSize != 0 {
		head += 8
	}
	if flags>>6 != 1 || flags&lz4FlagDict != 0 || sizeCode < 4 || len(src) < head {
		return dst, nil, errDamaged
	}
	blockMax, start := 64<<10<<(2*(sizeCode-4)), len(dst)
	content := int64(-1)
	if flags&lz4FlagSize != 0 {
		if content = int64(binary.LittleEndian.Uint64(src[2:])); content < 0 || content > int64(limit-start) {
			return dst, nil, errTooLarge
		}
	}
	src = src[head:]
	for {
		if len(src) < 4 {
			return dst, nil, errDamaged
		}
		word := binary.LittleEndian.Uint32(src)
		src = src[4:]
		if word == 0 {
			break
		}
		n := int(word &^ lz4Stored)
		tail := 0
		if flags&lz4FlagBlockSum != 0 {
			tail = 4
		}
		if n > blockMax || n+tail > len(src) {
			return dst, nil, errDamaged
		}
		history := dst[max(start, len(dst)-lz4History):]
		if flags&lz4FlagLinked != 0 {
			history = nil
		}
		if dst, err = lz4Block(src[:n], dst, word&lz4Stored != 0, blockMax, history); err != nil {
			return dst, nil, err
		}
		if len(dst) > limit {
			return dst, nil, errTooLarge
		}
		src = src[n+tail:]
	}
	if content >= 0 && int64(len(dst)-start) != content {
		return dst, nil, errDamaged
	}
	if flags&lz4FlagSum != 0 {
		if len(src) < 4 {
			return dst, nil, errDamaged
		}
		src = src[4:]
	}
	return dst, src, nil
}

// lz4Block appends one block. The buffer grows by at most one block beyond the limit before it is noticed.
func lz4Block(block, dst []byte, stored bool, blockMax int, history []byte) ([]byte, error) {
	if stored {
		return append(dst, block...), nil
	}
	have := len(dst)
	room := min(blockMax, 255*len(block)) // LZ4 cannot expand a block by more
	dst = slices.Grow(dst, room)
	into := dst[have : have+room]
	var n int
	var err error
	if len(history) > 0 {
		n, err = lz4.UncompressBlockWithDict(block, into, history)
	} else {
		n, err = lz4.UncompressBlock(block, into)
	}
	if err != nil {
		return dst, err
	}
	return dst[:have+n], nil
}
