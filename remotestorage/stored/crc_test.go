package stored

import (
	"testing"

	"pgregory.net/rapid"
)

// The checksum of two parts is that of the whole, whatever their lengths.
func TestCombineCRC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := pattern(rapid.IntRange(0, 100_000).Draw(t, "a")), pattern(rapid.IntRange(0, 100_000).Draw(t, "b"))
		if got, want := CombineCRC(CRC(a), CRC(b), int64(len(b))), CRC(append(a[:len(a):len(a)], b...)); got != want {
			t.Fatalf("%d and %d bytes: %08x, want %08x", len(a), len(b), got, want)
		}
	})
}

func TestCombineCRCOfLongParts(t *testing.T) {
	zeros := make([]byte, 1<<20)
	crc, length := CRC(zeros), int64(len(zeros))
	for range 12 { // to 4 GiB of zeros
		crc, length = CombineCRC(crc, crc, length), 2*length
	}
	if crc != 0xf16177d2 {
		t.Errorf("4 GiB of zeros: %08x", crc)
	}
}
