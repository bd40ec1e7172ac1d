package s3

import (
	"bytes"
	"testing"
)

// BenchmarkSum is the cost of each checksum over a body in memory, in one run.
func BenchmarkSum(b *testing.B) {
	src := bytes.NewReader(make([]byte, 16<<20))
	for _, mode := range []string{None, CRC32C, MD5} {
		b.Run(mode, func(b *testing.B) {
			b.SetBytes(src.Size())
			for b.Loop() {
				if _, err := sumOf(mode, src, 0, src.Size()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
