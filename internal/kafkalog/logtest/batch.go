package logtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"tidemark/internal/kafkalog"
)

// Producer is an idempotent or transactional producer.
type Producer struct {
	ID       int64
	Epoch    int16
	Sequence int32
}

// Batch is what a batch is to hold. The zero value of every field is the plain case.
type Batch struct {
	Base          int64 // base offset
	Last          int64 // last offset; 0 = that of the last record, or Base
	LeaderEpoch   int32
	Codec         kafkalog.Codec
	Split         int   // > 0: compressed in pieces of so many bytes: frames, members, xerial blocks; 0: one piece, snappy raw
	LogAppendTime int64 // > 0: the broker's time in ms, for all records
	DeleteHorizon int64 // > 0: ms
	Transactional bool
	Control       bool
	Producer      *Producer // nil = none
	Records       []kafkalog.Record
}

// Values are records with offsets from base on, timestamps of 1000 ms per offset and no keys.
func Values(base int64, values ...string) []kafkalog.Record {
	var rs []kafkalog.Record
	for i, v := range values {
		off := base + int64(i)
		rs = append(rs, kafkalog.Record{Offset: off, Timestamp: 1000 * off, Value: []byte(v)})
	}
	return rs
}

// Marker is the batch that ends the transaction of a producer.
func Marker(offset int64, p Producer, what kafkalog.ControlType) Batch {
	key := binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(what))
	p.Sequence = -1
	return Batch{Base: offset, Transactional: true, Control: true, Producer: &p, Records: []kafkalog.Record{{
		Offset: offset, Timestamp: 1000 * offset, Key: key, Value: make([]byte, 6), // version, coordinator epoch
	}}}
}

// LastOffset is the last offset the batch covers.
func (b Batch) LastOffset() int64 {
	last := max(b.Last, b.Base)
	if n := len(b.Records); n > 0 {
		last = max(last, b.Records[n-1].Offset)
	}
	return last
}

// Bytes is the batch as a broker stores it.
func (b Batch) Bytes() []byte { return b.Append(nil) }

// Append appends the batch to dst.
func (b Batch) Append(dst []byte) []byte {
	baseTime, maxTime := b.times()
	producer := Producer{ID: -1, Epoch: -1, Sequence: -1}
	if b.Producer != nil {
		producer = *b.Producer
	}
	var records []byte
	for _, r := range b.Records {
		records = appendRecord(records, r, b.Base, baseTime)
	}
	attributes := uint16(b.Codec)
	if len(b.Records) == 0 {
		attributes = 0 // the cleaner writes a bare header
	} else {
		records = compress(b.Codec, b.Split, records)
	}
	for bit, set := range map[uint16]bool{8: b.LogAppendTime > 0, 16: b.Transactional, 32: b.Control, 64: b.DeleteHorizon > 0} {
		if set {
			attributes |= bit
		}
	}
	start, be := len(dst), binary.BigEndian
	dst = be.AppendUint64(dst, uint64(b.Base))
	dst = be.AppendUint32(dst, uint32(kafkalog.HeaderSize-12+len(records)))
	dst = be.AppendUint32(dst, uint32(b.LeaderEpoch))
	dst = append(dst, 2, 0, 0, 0, 0)
	dst = be.AppendUint16(dst, attributes)
	dst = be.AppendUint32(dst, uint32(b.LastOffset()-b.Base))
	dst = be.AppendUint64(dst, uint64(baseTime))
	dst = be.AppendUint64(dst, uint64(maxTime))
	dst = be.AppendUint64(dst, uint64(producer.ID))
	dst = be.AppendUint16(dst, uint16(producer.Epoch))
	dst = be.AppendUint32(dst, uint32(producer.Sequence))
	dst = be.AppendUint32(dst, uint32(len(b.Records)))
	dst = append(dst, records...)
	Seal(dst[start:])
	return dst
}

// Seal sets the CRC of a whole batch, for tests that changed its bytes and mean the change to be looked at.
func Seal(batch []byte) {
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
}

func (b Batch) times() (base, highest int64) {
	base, highest = -1, -1
	for i, r := range b.Records {
		if i == 0 {
			base = r.Timestamp
		}
		highest = max(highest, r.Timestamp)
	}
	if b.DeleteHorizon > 0 {
		base = b.DeleteHorizon
	}
	if b.LogAppendTime > 0 {
		highest = b.LogAppendTime
	}
	return base, highest
}

func appendRecord(dst []byte, r kafkalog.Record, base, baseTime int64) []byte {
	body := []byte{0}
	body = binary.AppendVarint(body, r.Timestamp-baseTime)
	body = binary.AppendVarint(body, r.Offset-base)
	body = appendNullable(body, r.Key)
	body = appendNullable(body, r.Value)
	body = binary.AppendVarint(body, int64(len(r.Headers)))
	for _, h := range r.Headers {
		body = binary.AppendVarint(body, int64(len(h.Key)))
		body = append(body, h.Key...)
		body = appendNullable(body, h.Value)
	}
	return append(binary.AppendVarint(dst, int64(len(body))), body...)
}

func appendNullable(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 1) // -1 as zigzag
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

func compress(codec kafkalog.Codec, split int, plain []byte) []byte {
	if codec == kafkalog.None {
		return plain
	}
	var out []byte
	if codec == kafkalog.Snappy && split > 0 {
		out = append(out, "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"...)
	}
	if split <= 0 {
		split = len(plain)
	}
	for len(plain) > 0 {
		piece := plain[:min(split, len(plain))]
		plain = plain[len(piece):]
		block := compressPiece(codec, piece)
		if len(out) > 0 && codec == kafkalog.Snappy {
			out = binary.BigEndian.AppendUint32(out, uint32(len(block)))
		}
		out = append(out, block...)
	}
	return out
}

func compressPiece(codec kafkalog.Codec, piece []byte) []byte {
	var buf bytes.Buffer
	switch codec {
	case kafkalog.Gzip:
		w := gzipWriters.Get().(*gzip.Writer)
		defer gzipWriters.Put(w)
		w.Reset(&buf)
		must(w.Write(piece))
		must(0, w.Close())
	case kafkalog.Snappy:
		return snappy.Encode(nil, piece)
	case kafkalog.LZ4:
		w := lz4.NewWriter(&buf)
		must(0, w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ConcurrencyOption(1)))
		must(w.Write(piece))
		must(0, w.Close())
	case kafkalog.Zstd:
		return zstdEncoder().EncodeAll(piece, nil)
	default:
		panic(fmt.Sprintf("logtest: %s", codec))
	}
	return buf.Bytes()
}

var gzipWriters = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// zstdEncoder is one for all: making one takes a millisecond, and EncodeAll may run concurrently.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	must(0, err)
	return w
})

func must(_ int, err error) {
	if err != nil {
		panic(err)
	}
}
