package remotestorage

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
)

// 64 MiB on the file store: checks, log object, sidecar, and reading it back in slabs of 256 KiB.
func BenchmarkCopyAndRead(b *testing.B) {
	s := logtest.NewSegment(0)
	s.Epochs = []kafkalog.EpochStart{{}}
	batch := make([]string, 16)
	for i := range batch {
		batch[i] = strings.Repeat("k", 1<<10)
	}
	for len(s.Log) < 64<<20 {
		s.Produce(kafkalog.None, batch...)
	}
	c := write(b, s)
	cfg := config(b)
	cfg.ChunkBytes = DefaultConfig().ChunkBytes
	m := start(b, cfg, fileStore(b), Deps{})
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(c.Size)
		b.ReportAllocs()
		for b.Loop() {
			c.ID[7]++
			copied(b, m, &c)
		}
	})
	dst := make([]byte, 256<<10)
	b.Run("read", func(b *testing.B) {
		b.SetBytes(c.Size)
		b.ReportAllocs()
		for b.Loop() {
			c.ID[7]++ // not in the cache
			copied(b, m, &c)
			s, total, err := m.OpenSegment(deadline(b), c.Segment, nil, 0, -1)
			must(b, err)
			for total > 0 {
				n, err := s.Next(deadline(b), dst)
				must(b, err)
				total -= int64(n)
			}
		}
	})
}

// The same segment compressed, encrypted, and both, on the file store.
func BenchmarkCopyTransformed(b *testing.B) {
	s := logtest.NewSegment(0)
	s.Epochs = []kafkalog.EpochStart{{}}
	for i := 0; len(s.Log) < 64<<20; i++ {
		batch := make([]string, 16)
		for j := range batch {
			batch[j] = strings.Repeat(fmt.Sprintf(`{"order":%d,"line":%d,"state":"%x"}`, i, j, i*7919), 25)
		}
		s.Produce(kafkalog.None, batch...)
	}
	c := write(b, s)
	for _, form := range []struct{ name, compression, keys string }{
		{"plain", "none", ""}, {"encrypted", "none", ring(b, "", "k1")}, {"compressed", "zstd", ""}, {"both", "zstd", ring(b, "", "k1")},
	} {
		b.Run(form.name, func(b *testing.B) {
			cfg := transformedConfig(b, form.compression, form.keys)
			cfg.ChunkBytes = DefaultConfig().ChunkBytes
			m := start(b, cfg, fileStore(b), Deps{})
			b.SetBytes(c.Size)
			b.ReportAllocs()
			for b.Loop() {
				c.ID[7]++
				copied(b, m, &c)
			}
		})
	}
}
