package diskcache

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark/internal/telemetry"
)

// The floors are a bare pread and a bare pwrite of the same bytes to a file in the same directory, page cache warm.
func BenchmarkGet(b *testing.B) {
	const n, count = 1 << 20, 64
	dir := b.TempDir()
	c, err := Open(Config{Dir: dir, Bytes: MinBytes}, Deps{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: telemetry.NewSet()})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(time.Minute)
	data := content("x", 0, 0, n)
	for i := range count {
		for !c.Has("x", i, n) {
			c.Put("x", i, data)
		}
	}
	raw, err := os.Create(filepath.Join(dir, "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer raw.Close()
	for i := range count {
		if _, err := raw.WriteAt(data, int64(i)*n); err != nil {
			b.Fatal(err)
		}
	}
	p := make([]byte, n)
	b.Run("get", func(b *testing.B) {
		b.SetBytes(n)
		for i := 0; b.Loop(); i++ {
			if !c.Get("x", i%count, p) {
				b.Fatal("a miss")
			}
		}
	})
	b.Run("pread", func(b *testing.B) {
		b.SetBytes(n)
		for i := 0; b.Loop(); i++ {
			if _, err := raw.ReadAt(p, int64(i%count)*n); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("pread+crc", func(b *testing.B) {
		b.SetBytes(n)
		for i := 0; b.Loop(); i++ {
			if _, err := raw.ReadAt(p, int64(i%count)*n); err != nil || checksum(p) == 0 {
				b.Fatal(err)
			}
		}
	})
}

// put is what a caller pays; the disk is written behind it, and what it does not take in time is dropped.
func BenchmarkPut(b *testing.B) {
	const n = 1 << 20
	data := content("x", 0, 0, n)
	b.Run("put", func(b *testing.B) {
		set := telemetry.NewSet()
		c, err := Open(Config{Dir: b.TempDir(), Bytes: MinBytes}, Deps{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: set})
		if err != nil {
			b.Fatal(err)
		}
		for c.state() == 0 {
			time.Sleep(time.Millisecond)
		}
		b.SetBytes(n)
		for i := 0; b.Loop(); i++ {
			c.Put("x", i, data)
		}
		began := b.Elapsed()
		c.Close(time.Minute)
		samples, err := set.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range samples {
			if s.Name == telemetry.Prefix+"fetch_disk_written_bytes_total" {
				b.ReportMetric(s.Value/(1<<20)/began.Seconds(), "disk-MB/s")
			}
		}
	})
	b.Run("pwrite", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		b.SetBytes(n)
		for i := 0; b.Loop(); i++ {
			if _, err := f.WriteAt(data, int64(i%512)*n); err != nil {
				b.Fatal(err)
			}
		}
	})
}
