package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

const (
	// boundBytes is the length to which bounds of strings and binaries are cut.
	boundBytes = 16
	// fullBoundBytes is the same for system columns: enough for any sane key, and a limit on what a manifest carries.
	fullBoundBytes = 1024
)

// bounds tracks the least and greatest value of a leaf column and counts its NaNs.
type bounds struct {
	typ   schema.Type
	limit int // bytes kept of strings and binaries

	set      bool
	lo, hi   int64   // Boolean, integers, dates, timestamps, decimals up to 18 digits
	flo, fhi float64 // Float, Double
	blo, bhi []byte  // the rest; strings and binaries at most limit+1 bytes, so that a cut shows
	nans     int64
	signs    byte // UUID: which values of the two sign bits were seen, 1<<bits
}

func newBounds(t schema.Type, full bool) bounds {
	b := bounds{typ: t, limit: boundBytes}
	if full {
		b.limit = fullBoundBytes
	}
	return b
}

// observe takes in the values [from, to) of v.
func (b *bounds) observe(v *column.Vector, from, to int) {
	for i := from; i < to; i++ {
		if !v.Valid(i) {
			continue
		}
		switch v.Kind {
		case column.Bool:
			b.integer(int64(btoi(v.Bool(i))))
		case column.Int32:
			b.integer(int64(v.Int32(i)))
		case column.Int64:
			b.integer(v.Int64(i))
		case column.Float32:
			b.float(float64(v.Float32(i)))
		case column.Float64:
			b.float(v.Float64(i))
		case column.Bytes, column.Fixed:
			b.bytes(v.Bytes(i))
		}
	}
}

// countNaNs takes in only whether values are NaN: for leaves in lists, which have no bounds.
func (b *bounds) countNaNs(v *column.Vector, i int) {
	if v.Kind == column.Float32 && v.Float32(i) != v.Float32(i) || v.Kind == column.Float64 && v.Float64(i) != v.Float64(i) {
		b.nans++
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (b *bounds) integer(x int64) {
	if !b.set {
		b.lo, b.hi, b.set = x, x, true
		return
	}
	b.lo, b.hi = min(b.lo, x), max(b.hi, x)
}

func (b *bounds) float(x float64) {
	switch {
	case x != x:
		b.nans++
	case !b.set:
		b.flo, b.fhi, b.set = x, x, true
	default:
		b.flo, b.fhi = min(b.flo, x), max(b.fhi, x)
	}
}

func (b *bounds) bytes(x []byte) {
	if b.typ.Kind == schema.UUID {
		b.signs |= 1 << (x[0]>>7 | x[8]>>7<<1)
	} else if !isWideDecimal(b.typ) {
		x = x[:min(len(x), b.limit+1)]
	}
	if !b.set {
		b.blo, b.bhi, b.set = append(b.blo[:0], x...), append(b.bhi[:0], x...), true
		return
	}
	if b.compare(x, b.blo) < 0 {
		b.blo = append(b.blo[:0], x...)
	}
	if b.compare(x, b.bhi) > 0 {
		b.bhi = append(b.bhi[:0], x...)
	}
}

func (b *bounds) compare(x, y []byte) int {
	if isWideDecimal(b.typ) && x[0]^y[0] >= 0x80 { // the signs differ
		return -bytes.Compare(x[:1], y[:1])
	}
	return bytes.Compare(x, y)
}

// values are the bounds as Iceberg single values (Iceberg spec, appendix D); nil where there is none.
func (b *bounds) values() (lower, upper []byte) {
	if !b.set {
		return nil, nil
	}
	switch b.typ.Kind {
	case schema.Boolean:
		return []byte{byte(b.lo)}, []byte{byte(b.hi)}
	case schema.Int, schema.Date:
		return binary.LittleEndian.AppendUint32(nil, uint32(b.lo)), binary.LittleEndian.AppendUint32(nil, uint32(b.hi))
	case schema.Long, schema.Timestamp, schema.Timestamptz:
		return binary.LittleEndian.AppendUint64(nil, uint64(b.lo)), binary.LittleEndian.AppendUint64(nil, uint64(b.hi))
	case schema.Float, schema.Double:
		return b.floats()
	case schema.Decimal:
		if isWideDecimal(b.typ) {
			return minimal(b.blo), minimal(b.bhi)
		}
		return minimal(binary.BigEndian.AppendUint64(nil, uint64(b.lo))), minimal(binary.BigEndian.AppendUint64(nil, uint64(b.hi)))
	case schema.UUID:
		// Some engines order uuids as two signed longs, others as bytes. Bounds are given only where both agree.
		if b.signs&(b.signs-1) != 0 {
			return nil, nil
		}
		return bytes.Clone(b.blo), bytes.Clone(b.bhi)
	case schema.String:
		return cutLower(b.blo, b.limit, true), cutUpper(b.bhi, b.limit, true)
	}
	return cutLower(b.blo, b.limit, false), cutUpper(b.bhi, b.limit, false)
}

// floats are the bounds of Float and Double. Whether -0.0 is below 0.0 differs between engines, so a zero bound takes the
// sign that includes both.
func (b *bounds) floats() (lower, upper []byte) {
	lo, hi := b.flo, b.fhi
	if lo == 0 {
		lo = math.Copysign(0, -1)
	}
	if hi == 0 {
		hi = 0
	}
	if b.typ.Kind == schema.Float {
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(lo))),
			binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(hi)))
	}
	return binary.LittleEndian.AppendUint64(nil, math.Float64bits(lo)), binary.LittleEndian.AppendUint64(nil, math.Float64bits(hi))
}

// minimal strips the sign extension of a big-endian two's complement number.
func minimal(x []byte) []byte {
	for len(x) > 1 && (x[0] == 0 && x[1] < 0x80 || x[0] == 0xff && x[1] >= 0x80) {
		x = x[1:]
	}
	return bytes.Clone(x)
}

// cutLower is a value of at most limit bytes that is not above x. Text stays valid UTF-8. It never returns nil.
func cutLower(x []byte, limit int, text bool) []byte {
	x = x[:min(len(x), limit)]
	if text {
		x = x[:validPrefix(x)]
	}
	return append([]byte{}, x...)
}

// cutUpper is a value of at most about limit bytes that is not below x, or nil if there is none. Text stays valid UTF-8.
func cutUpper(x []byte, limit int, text bool) []byte {
	cut := len(x)
	if cut > limit {
		cut = limit
	}
	if text {
		cut = validPrefix(x[:cut])
	}
	if cut == len(x) {
		return append([]byte{}, x...)
	}
	if text {
		return increaseText(x[:cut])
	}
	for ; cut > 0; cut-- {
		if x[cut-1] != 0xff {
			out := bytes.Clone(x[:cut])
			out[cut-1]++
			return out
		}
	}
	return nil
}

// increaseText raises the last rune that can be raised and drops what follows: the result is above every string that
// begins with x.
func increaseText(x []byte) []byte {
	for len(x) > 0 {
		r, n := utf8.DecodeLastRune(x)
		x = x[:len(x)-n]
		if r == 0xd7ff {
			r = 0xdfff // over the surrogates, which UTF-8 does not have
		}
		if r < utf8.MaxRune {
			return utf8.AppendRune(bytes.Clone(x), r+1)
		}
	}
	return nil
}

// validPrefix is the length of the longest prefix of x that is valid UTF-8.
func validPrefix(x []byte) int {
	n := 0
	for n < len(x) {
		r, size := utf8.DecodeRune(x[n:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		n += size
	}
	return n
}
