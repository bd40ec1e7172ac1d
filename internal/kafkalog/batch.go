package kafkalog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"tidemark/internal/status"
)

// HeaderSize is the length in bytes of a magic 2 batch before its records.
const HeaderSize = 61

// Positions in a batch (KIP-98; clients/…/common/record/DefaultRecordBatch.java). The CRC covers attributes to end.
const (
	atLength          = 8
	atLeaderEpoch     = 12
	atMagic           = 16
	atCRC             = 17
	atAttributes      = 21
	atLastOffsetDelta = 23
	atBaseTimestamp   = 27
	atMaxTimestamp    = 35
	atProducerID      = 43
	atProducerEpoch   = 51
	atBaseSequence    = 53
	atCount           = 57

	logOverhead = 12 // offset and length: what the length field does not count
)

const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

// Timestamp types of a batch.
const (
	CreateTime    int8 = 0 // set by the producer, per record
	LogAppendTime int8 = 1 // set by the broker, one for the batch
)

// Codec is how the records of a batch are compressed; the numbers are Kafka's.
type Codec int8

// The codecs.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

// String is Kafka's name of the codec.
func (c Codec) String() string {
	names := [...]string{"none", "gzip", "snappy", "lz4", "zstd"}
	if c < 0 || int(c) >= len(names) {
		return fmt.Sprintf("codec %d", int8(c))
	}
	return names[c]
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is one whole magic 2 record batch whose length, structure and CRC have been checked. It refers to the bytes it was
// made from and is valid as long as they are.
type Batch struct {
	Pos int64 // of its first byte in the segment
	raw []byte
}

// ParseBatch checks that raw is exactly one batch and returns it; pos is only for errors and [Batch.Pos].
// The batch refers to raw. Errors: Corrupt, Unsupported for magic 0 and 1.
func ParseBatch(raw []byte, pos int64) (Batch, error) {
	b := Batch{Pos: pos, raw: raw}
	if len(raw) < atMagic+1 {
		return Batch{}, status.Errorf(status.Corrupt, "batch at position %d: %d bytes are too few for a header", pos, len(raw))
	}
	if n := int64(int32(binary.BigEndian.Uint32(raw[atLength:]))) + logOverhead; n != int64(len(raw)) {
		return Batch{}, b.corrupt("its length field says %d bytes, there are %d", n, len(raw))
	}
	if raw[atMagic] != 2 {
		return Batch{}, b.notMagic2()
	}
	if len(raw) < HeaderSize {
		return Batch{}, b.corrupt("%d bytes are too few for a header of %d", len(raw), HeaderSize)
	}
	if sum := crc32.Checksum(raw[atAttributes:], castagnoli); sum != b.CRC() {
		return Batch{}, b.corrupt("CRC32C is %08x, the header says %08x", sum, b.CRC())
	}
	delta := b.lastOffsetDelta()
	if base := b.BaseOffset(); base < 0 || delta < 0 || base > math.MaxInt64-1-int64(delta) {
		return Batch{}, b.corrupt("last offset delta %d does not fit the base offset", delta)
	}
	if b.Count() < 0 || b.LeaderEpoch() < -1 {
		return Batch{}, b.corrupt("record count %d or leader epoch %d is negative", b.Count(), b.LeaderEpoch())
	}
	return b, nil
}

// notMagic2 tells an intact batch of an old format from a damaged magic byte: the old CRC (IEEE, from the magic byte on)
// holds only for the former.
func (b Batch) notMagic2() error {
	magic := b.raw[atMagic]
	if magic < 2 && crc32.ChecksumIEEE(b.raw[atMagic:]) == binary.BigEndian.Uint32(b.raw[logOverhead:]) {
		return status.Errorf(status.Unsupported, "batch at position %d (offset %d): message format %d; only format 2 is read, "+
			"which Kafka has written since 0.11", b.Pos, b.BaseOffset(), magic)
	}
	return b.corrupt("magic number %d", int8(magic))
}

func (b Batch) corrupt(format string, args ...any) error {
	return status.Errorf(status.Corrupt, "batch at position %d (offset %d): %s", b.Pos, b.BaseOffset(), fmt.Sprintf(format, args...))
}

func (b Batch) unsupported(format string, args ...any) error {
	return status.Errorf(status.Unsupported, "batch at position %d (offset %d): %s", b.Pos, b.BaseOffset(), fmt.Sprintf(format, args...))
}

func (b Batch) i16(at int) int16 { return int16(binary.BigEndian.Uint16(b.raw[at:])) }
func (b Batch) i32(at int) int32 { return int32(binary.BigEndian.Uint32(b.raw[at:])) }
func (b Batch) i64(at int) int64 { return int64(binary.BigEndian.Uint64(b.raw[at:])) }

// Bytes is the whole batch as stored; the caller must not change it, nor keep it longer than the batch.
func (b Batch) Bytes() []byte { return b.raw }

// Size is the length of the batch in bytes.
func (b Batch) Size() int { return len(b.raw) }

// BaseOffset is the offset of the first record the batch was written with; compaction may have removed that record.
func (b Batch) BaseOffset() int64 { return b.i64(0) }

// LastOffset is the offset of the last record the batch was written with.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.lastOffsetDelta()) }

// NextOffset is the lowest offset that can follow the batch.
func (b Batch) NextOffset() int64 { return b.LastOffset() + 1 }

func (b Batch) lastOffsetDelta() int32 { return b.i32(atLastOffsetDelta) }

// LeaderEpoch is the epoch of the leader that appended the batch, -1 when it was not recorded. No CRC covers it.
func (b Batch) LeaderEpoch() int32 { return b.i32(atLeaderEpoch) }

// Magic is the format number, always 2.
func (b Batch) Magic() int8 { return int8(b.raw[atMagic]) }

// CRC is the CRC32C of the bytes from the attributes on.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b.raw[atCRC:]) }

func (b Batch) attributes() int16 { return b.i16(atAttributes) }

// Codec is how the records are compressed; a number unknown here makes [Decoder.Records] fail, not the walk.
func (b Batch) Codec() Codec { return Codec(b.attributes() & attrCodec) }

// IsControl reports whether the records are control records (transaction markers), which no consumer sees.
func (b Batch) IsControl() bool { return b.attributes()&attrControl != 0 }

// IsTransactional reports whether the batch belongs to a transaction, as data or as its marker.
func (b Batch) IsTransactional() bool { return b.attributes()&attrTransactional != 0 }

// TimestampType is [CreateTime] or [LogAppendTime].
func (b Batch) TimestampType() int8 {
	if b.attributes()&attrLogAppendTime != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// DeleteHorizon is the time in ms since the epoch from which compaction may drop tombstones and markers of the batch
// (KIP-534); ok is false when it is not set. The horizon takes the place of the base timestamp, to which the records'
// timestamps stay relative.
func (b Batch) DeleteHorizon() (ms int64, ok bool) {
	if b.attributes()&attrDeleteHorizon == 0 {
		return 0, false
	}
	return b.BaseTimestamp(), true
}

// BaseTimestamp is what the records' timestamps are relative to, in ms since the epoch.
func (b Batch) BaseTimestamp() int64 { return b.i64(atBaseTimestamp) }

// MaxTimestamp is the highest timestamp of the batch in ms since the epoch; with [LogAppendTime] that of all its records.
func (b Batch) MaxTimestamp() int64 { return b.i64(atMaxTimestamp) }

// ProducerID is the id of an idempotent or transactional producer, -1 for others.
func (b Batch) ProducerID() int64 { return b.i64(atProducerID) }

// ProducerEpoch is the epoch of that producer, -1 for others.
func (b Batch) ProducerEpoch() int16 { return b.i16(atProducerEpoch) }

// BaseSequence is the producer's number of the first record, -1 for others.
func (b Batch) BaseSequence() int32 { return b.i32(atBaseSequence) }

// Count is the number of records now in the batch; 0 after compaction has removed them all.
func (b Batch) Count() int32 { return b.i32(atCount) }
