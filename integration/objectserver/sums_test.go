package objectserver

import (
	"bytes"
	"testing"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
)

// sums puts a small and a large object with every kind of checksum, signed and unsigned.
func sums(t *testing.T, server *Server) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 7<<16) // 7 MiB: two parts
	for _, mode := range []string{s3.Auto, s3.CRC32C, s3.MD5, s3.None} {
		for _, sign := range []bool{true, false} {
			name := "checksum " + mode
			if !sign {
				name += " unsigned"
			}
			t.Run(name, func(t *testing.T) {
				st := store(t, server, "sums", func(c *s3.Config) { c.Checksum, c.SignPayload = mode, sign })
				for _, size := range []int{0, 1000, len(content)} {
					if _, err := st.Put(t.Context(), "a", bytes.NewReader(content[:size]), objectstore.Condition{}); err != nil {
						t.Fatalf("put of %d bytes: %v", size, err)
					}
					if got, _, err := st.Get(t.Context(), "a", int64(size)); err != nil || !bytes.Equal(got, content[:size]) {
						t.Errorf("get: %d of %d bytes, %v", len(got), size, err)
					}
				}
			})
		}
	}
}
