package payload

import (
	"encoding/binary"
	"math/bits"
)

// exactness says how a number fits into a decimal type.
type exactness uint8

const (
	exact      exactness = iota
	fractional           // it has more decimal places than the scale
	tooLarge             // it has more digits than the precision
)

// maxDigits is the largest precision: 10^38 < 2^127.
const maxDigits = 38

// unscaled is the magnitude of a decimal without its point, as 128 bits, and its sign.
type unscaled struct {
	hi, lo   uint64
	negative bool
}

// parseDecimal reads the checked JSON number text as a decimal of a precision and scale, exactly or not at all.
func parseDecimal(text []byte, precision, scale int) (unscaled, exactness) {
	var n unscaled
	if text[0] == '-' {
		n.negative, text = true, text[1:]
	}
	// buf holds the significant digits; the number is 0.d1d2d3… × 10^point.
	var buf [maxDigits + 1]byte
	count, point, dropped := 0, 0, 0 // dropped: digits after buf, all zero so far
	seenPoint := false
	i := 0
	for ; i < len(text) && text[i] != 'e' && text[i] != 'E'; i++ {
		c := text[i]
		if c == '.' {
			seenPoint = true
			continue
		}
		switch {
		case count == 0 && c == '0': // a leading zero
			if seenPoint {
				point--
			}
			continue
		case count < len(buf):
			buf[count] = c - '0'
			count++
		case c != '0':
			return n, tooLong(point+max(0, exponent(text)), precision, scale)
		default:
			dropped++
		}
		if !seenPoint {
			point++
		}
	}
	for count > 0 && buf[count-1] == 0 {
		count--
	}
	if count == 0 {
		n.negative = false
		return n, exact
	}
	point += exponent(text[i:])
	switch {
	case point > precision-scale:
		return n, tooLarge
	case count-point > scale:
		return n, fractional
	}
	for _, d := range buf[:count] {
		n.shift(d)
	}
	for range point - count + scale {
		n.shift(0)
	}
	return n, exact
}

// tooLong is the verdict on a number with more significant digits than any decimal has.
func tooLong(point, precision, scale int) exactness {
	if point > precision-scale {
		return tooLarge
	}
	return fractional
}

// shift multiplies by ten and adds d. Callers keep the number of digits within maxDigits.
func (n *unscaled) shift(d byte) {
	over, lo := bits.Mul64(n.lo, 10)
	lo, carry := bits.Add64(lo, uint64(d), 0)
	n.hi, n.lo = n.hi*10+over+carry, lo
}

// exponent is the number after the first e or E of text, kept within a range in which sums do not overflow.
func exponent(text []byte) int {
	const far = 1 << 30
	i := 0
	for i < len(text) && text[i] != 'e' && text[i] != 'E' {
		i++
	}
	if i++; i >= len(text) {
		return 0
	}
	negative := text[i] == '-'
	if negative || text[i] == '+' {
		i++
	}
	n := 0
	for ; i < len(text); i++ {
		n = min(n*10+int(text[i]-'0'), far)
	}
	if negative {
		return -n
	}
	return n
}

// int64 is the number as a long; false if it does not fit.
func (n unscaled) int64() (int64, bool) {
	switch {
	case n.hi != 0 || n.lo > 1<<63 || n.lo == 1<<63 && !n.negative:
		return 0, false
	case n.negative:
		return -int64(n.lo), true
	}
	return int64(n.lo), true
}

// bytes writes the number to dst as big-endian two's complement.
func (n unscaled) bytes(dst []byte) {
	hi, lo := n.hi, n.lo
	if n.negative {
		hi, lo = ^hi, ^lo
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], hi)
	binary.BigEndian.PutUint64(b[8:], lo)
	copy(dst, b[16-len(dst):])
}

// parseLong reads a checked JSON number as a long: 1.0 and 1e3 are integers.
func parseLong(text []byte) (int64, exactness) {
	if len(text) <= 18 { // no overflow; anything but digits goes the long way
		x, i := int64(0), 0
		if text[0] == '-' {
			i = 1
		}
		for i < len(text) && text[i] >= '0' && text[i] <= '9' {
			x = x*10 + int64(text[i]-'0')
			i++
		}
		if i == len(text) {
			if text[0] == '-' {
				x = -x
			}
			return x, exact
		}
	}
	n, e := parseDecimal(text, maxDigits, 0)
	if e != exact {
		return 0, e
	}
	x, ok := n.int64()
	if !ok {
		return 0, tooLarge
	}
	return x, exact
}
