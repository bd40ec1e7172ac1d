package stored

// CombineCRC is the CRC32C of a followed by b, from that of each and b's length, without their bytes.
func CombineCRC(a, b uint32, lengthOfB int64) uint32 {
	return multiply(power(uint64(lengthOfB)*8), a) ^ b
}

// Polynomials over GF(2) modulo that of CRC32C, the coefficient of x^0 in the highest bit.
const (
	castagnoliPoly = 0x82f63b78
	one            = uint32(1) << 31
)

// squares are x^(2^i).
var squares = func() (s [64]uint32) {
	s[0] = one >> 1
	for i := 1; i < len(s); i++ {
		s[i] = multiply(s[i-1], s[i-1])
	}
	return s
}()

func multiply(a, b uint32) (product uint32) {
	for bit := one; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		low := b & 1
		b >>= 1
		if low != 0 {
			b ^= castagnoliPoly
		}
	}
	return product
}

// power is x^n.
func power(n uint64) uint32 {
	p := one
	for i := 0; n != 0; i, n = i+1, n>>1 {
		if n&1 != 0 {
			p = multiply(squares[i], p)
		}
	}
	return p
}
