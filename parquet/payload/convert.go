package payload

import (
	"bytes"
	"strconv"
	"unsafe"

	"tidemark/parquet/column"
)

// number appends a checked JSON number.
func number(n *node, text []byte, v *column.Vector) *BadValue {
	switch n.op {
	case opInt:
		x, e := parseLong(text)
		if e == exact && x != int64(int32(x)) {
			e = tooLarge
		}
		if e != exact {
			return inexact(n, e)
		}
		v.AppendInt32(int32(x))
	case opLong:
		x, e := parseLong(text)
		if e != exact {
			return inexact(n, e)
		}
		v.AppendInt64(x)
	case opFloat:
		x, err := strconv.ParseFloat(borrow(text), 32)
		if err != nil {
			return inexact(n, tooLarge)
		}
		v.AppendFloat32(float32(x))
	default:
		x, err := strconv.ParseFloat(borrow(text), 64)
		if err != nil {
			return inexact(n, tooLarge)
		}
		v.AppendFloat64(x)
	}
	return nil
}

// borrow is text as a string without a copy, for functions that do not keep it.
func borrow(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

func (d *JSON) decimal(n *node, text []byte, v *column.Vector) *BadValue {
	if n.text {
		if text[0] != '"' {
			return mismatch(n, text[0])
		}
		text = text[1 : len(text)-1]
		inner := scanner{b: text}
		if len(text) == 0 || text[0] != '-' && (text[0] < '0' || text[0] > '9') || inner.number(0) != len(text) {
			return format(n, "no decimal number")
		}
	} else if text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return mismatch(n, text[0])
	}
	x, e := parseDecimal(text, n.typ.Precision, n.typ.Scale)
	if e != exact {
		return inexact(n, e)
	}
	switch v.Kind {
	case column.Int32:
		small, _ := x.int64()
		v.AppendInt32(int32(small))
	case column.Int64:
		small, _ := x.int64()
		v.AppendInt64(small)
	default:
		var b [16]byte
		x.bytes(b[:v.Width])
		v.AppendBytes(b[:v.Width])
	}
	return nil
}

// string appends the text between two quotes.
func (d *JSON) string(n *node, text []byte, v *column.Vector) *BadValue {
	if bytes.IndexByte(text, '\\') >= 0 {
		d.scratch = unescape(d.scratch[:0], text)
		text = d.scratch
	}
	switch n.op {
	case opBase64:
		return d.base64(n, text, v)
	case opDate:
		days, ok := parseDate(text)
		if !ok {
			return format(n, "no date of the form YYYY-MM-DD")
		}
		v.AppendInt32(days)
	case opTimestamp:
		micros, inRange, ok := parseDateTime(text, d.opt.DateTimeUTC)
		if !ok {
			return format(n, "no date-time with an offset (RFC 3339)")
		}
		if !inRange {
			return &BadValue{Stage: StageConvert, Reason: OutOfRange, Message: "a date-time outside of the years 1 to 9999"}
		}
		v.AppendInt64(micros)
	case opTime:
		micros, ok := parseTime(text)
		if !ok {
			return format(n, "no time (RFC 3339)")
		}
		v.AppendInt64(micros)
	case opUUID:
		var id [16]byte
		if !parseUUID(text, &id) {
			return format(n, "no uuid")
		}
		v.AppendBytes(id[:])
	default:
		v.AppendBytes(text)
	}
	return nil
}

func (d *JSON) base64(n *node, text []byte, v *column.Vector) *BadValue {
	// text may be d.scratch itself: decoding never writes ahead of what it has read.
	if need := n.encoding.DecodedLen(len(text)); cap(d.scratch) < need {
		d.scratch = make([]byte, 0, need)
	}
	size, err := n.encoding.Decode(d.scratch[:n.encoding.DecodedLen(len(text))], text)
	if err != nil {
		return format(n, "no base64")
	}
	v.AppendBytes(d.scratch[:size])
	return nil
}

// wants is what the node takes, for messages.
func (n *node) wants() string {
	switch n.op {
	case opStruct:
		return "an object"
	case opList:
		return "an array"
	}
	return n.typ.String()
}

func mismatch(n *node, c byte) *BadValue {
	is := map[byte]string{'{': "an object", '[': "an array", '"': "a string", 't': "a boolean", 'f': "a boolean", 'n': "null"}[c]
	if is == "" {
		is = "a number"
	}
	return &BadValue{Stage: StageConvert, Reason: TypeMismatch, Message: is + " where the schema has " + n.wants()}
}

func inexact(n *node, e exactness) *BadValue {
	if e == fractional && (n.op == opInt || n.op == opLong) {
		return &BadValue{Stage: StageConvert, Reason: TypeMismatch, Message: "a fraction where the schema has " + n.wants()}
	}
	return &BadValue{Stage: StageConvert, Reason: OutOfRange, Message: "a number that " + n.typ.String() + " does not hold"}
}

func format(n *node, text string) *BadValue {
	return &BadValue{Stage: StageConvert, Reason: BadFormat, Message: text}
}
