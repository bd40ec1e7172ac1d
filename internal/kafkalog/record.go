package kafkalog

import (
	"errors"
	"math"
)

// Header is one header of a record. Both slices are valid until the next record.
type Header struct {
	Key   []byte // UTF-8, never nil
	Value []byte // nil = null, empty = empty
}

// Record is one record of a batch. All slices are valid until the next record and must not be changed.
type Record struct {
	Offset    int64
	Timestamp int64  // ms since the epoch; -1 = none
	Key       []byte // nil = null, empty = empty
	Value     []byte // nil = null, empty = empty
	Headers   []Header
}

// minRecord is the length of the smallest record: a length and six fields of one byte.
const minRecord = 7

// Decoder reads the records of batches through buffers it uses again.
type Decoder struct {
	limits  Limits
	inflate inflater
	rec     Record
}

// NewDecoder makes a decoder; zero fields of limits mean the defaults.
func NewDecoder(limits Limits) *Decoder {
	l := limits.orDefault()
	return &Decoder{limits: l, inflate: inflater{max: l.MaxDecompressed}}
}

// Records calls fn for every record of b in offset order; the record and its slices are valid only during fn.
// Control records are handed out like others: see [Batch.IsControl] and [ParseControl].
//
// Errors: Corrupt when the records contradict each other or the batch header; Unsupported for an unknown codec or above a limit;
// the error of fn as it is, except [ErrStop].
func (d *Decoder) Records(b Batch, fn func(*Record) error) error {
	body := b.raw[HeaderSize:]
	if b.Count() == 0 && len(body) == 0 {
		return nil
	}
	if codec := b.Codec(); codec != None {
		var err error
		if body, err = d.inflate.run(b, codec, body); err != nil {
			return err
		}
		defer d.inflate.trim()
	}
	count := int(b.Count())
	if count > len(body)/minRecord {
		return b.corrupt("%d records do not fit in %d bytes", count, len(body))
	}
	p := parser{b: b, buf: body, limits: &d.limits, last: -1, delta: int64(b.lastOffsetDelta())}
	p.base, p.baseTime, p.appendTime = b.BaseOffset(), b.BaseTimestamp(), b.MaxTimestamp()
	p.logAppend = b.TimestampType() == LogAppendTime
	for i := range count {
		p.index = i
		if err := p.record(&d.rec); err != nil {
			return err
		}
		if err := fn(&d.rec); err != nil {
			if errors.Is(err, ErrStop) {
				return nil
			}
			return err
		}
	}
	if p.at != len(p.buf) {
		return b.corrupt("%d bytes follow its %d records", len(p.buf)-p.at, count)
	}
	return nil
}

// parser reads records one after the other from the decompressed body of a batch.
type parser struct {
	b          Batch
	buf        []byte
	at         int
	index      int
	last       int64 // offset delta of the record before
	delta      int64 // highest legal offset delta
	base       int64
	baseTime   int64
	appendTime int64
	logAppend  bool
	limits     *Limits
}

func (p *parser) record(r *Record) error {
	length, i := varint(p.buf, p.at)
	if i < 0 || length < minRecord-1 || int(length) > len(p.buf)-i {
		return p.bad("length")
	}
	if int(length) > p.limits.MaxRecordBytes {
		return p.b.unsupported("record %d has %d bytes, above the limit of %d", p.index, length, p.limits.MaxRecordBytes)
	}
	end := i + int(length)
	buf := p.buf[:end]
	i++ // attributes: no bit is used
	time, i := varlong(buf, i)
	if i < 0 {
		return p.bad("timestamp")
	}
	off, i := varint(buf, i)
	if i < 0 || int64(off) <= p.last || int64(off) > p.delta {
		return p.bad("offset")
	}
	p.last = int64(off)
	var ok bool
	if r.Key, i, ok = nullable(buf, i); !ok {
		return p.bad("key")
	}
	if r.Value, i, ok = nullable(buf, i); !ok {
		return p.bad("value")
	}
	i, err := p.headers(r, buf, i)
	if err != nil {
		return err
	}
	if i != end {
		return p.bad("end")
	}
	r.Offset, r.Timestamp = p.base+p.last, p.baseTime+time
	if p.logAppend {
		r.Timestamp = p.appendTime
	}
	p.at = end
	return nil
}

// headers reads the headers at i, the last field of a record that ends with buf.
func (p *parser) headers(r *Record, buf []byte, i int) (int, error) {
	r.Headers = r.Headers[:0]
	n, i := varint(buf, i)
	if i < 0 || n < 0 || int(n) > (len(buf)-i)/2 {
		return 0, p.bad("header count")
	}
	if int(n) > p.limits.MaxHeaders {
		return 0, p.b.unsupported("record %d has %d headers, above the limit of %d", p.index, n, p.limits.MaxHeaders)
	}
	for range n {
		var h Header
		var ok bool
		if h.Key, i, ok = nullable(buf, i); !ok || h.Key == nil {
			return 0, p.bad("header key")
		}
		if h.Value, i, ok = nullable(buf, i); !ok {
			return 0, p.bad("header value")
		}
		r.Headers = append(r.Headers, h)
	}
	return i, nil
}

func (p *parser) bad(what string) error {
	return p.b.corrupt("record %d of %d: bad %s in the %d bytes at %d", p.index, p.b.Count(), what, len(p.buf)-p.at, p.at)
}

// nullable reads a length and as many bytes; a negative length is null.
func nullable(buf []byte, i int) (field []byte, next int, ok bool) {
	n, i := varint(buf, i)
	if n < 0 {
		return nil, i, i >= 0
	}
	if i < 0 || int(n) > len(buf)-i {
		return nil, -1, false
	}
	end := i + int(n)
	return buf[i:end:end], end, true
}

// varint reads a zigzag number of at most 32 bits at i; next is -1 when there is none.
func varint(buf []byte, i int) (v int32, next int) {
	if i < len(buf) && buf[i] < 0x80 {
		u := uint32(buf[i])
		return int32(u>>1) ^ -int32(u&1), i + 1
	}
	return varintLong(buf, i)
}

func varintLong(buf []byte, i int) (int32, int) {
	v, next := varlongLong(buf, i)
	if v < math.MinInt32 || v > math.MaxInt32 {
		return 0, -1
	}
	return int32(v), next
}

// varlong reads a zigzag number of at most 64 bits at i; next is -1 when there is none.
func varlong(buf []byte, i int) (v int64, next int) {
	if i < len(buf) && buf[i] < 0x80 {
		u := uint64(buf[i])
		return int64(u>>1) ^ -int64(u&1), i + 1
	}
	return varlongLong(buf, i)
}

func varlongLong(buf []byte, i int) (int64, int) {
	var u uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if i >= len(buf) {
			return 0, -1
		}
		c := buf[i]
		i++
		if c < 0x80 {
			if shift == 63 && c > 1 {
				return 0, -1
			}
			u |= uint64(c) << shift
			return int64(u>>1) ^ -int64(u&1), i
		}
		u |= uint64(c&0x7f) << shift
	}
	return 0, -1
}
