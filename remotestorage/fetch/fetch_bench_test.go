package fetch

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage/stored"
)

// BenchmarkSequence reads a segment that is not cached from a file store in pieces of a MiB, each with a stream of its own, as
// the broker does; "floor" reads the same object by position.
func BenchmarkSequence(b *testing.B) {
	store, err := objectstore.OpenFile(b.TempDir(), objectstore.FileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	m := &memory{objects: map[string][]byte{}}
	data := make([]byte, 256<<20)
	for i := range data {
		data[i] = byte(i * 13)
	}
	c := stored.NewChunker(1 << 20)
	_, _ = c.Write(data)
	chunks, _ := c.Finish()
	ref, side := m.segment(b, 1, chunks)
	log, sidecar := ref.Keys()
	for key, bytes := range map[string][]byte{log: data, sidecar: side} {
		if _, err := store.Put(b.Context(), key, source(bytes), objectstore.Condition{}); err != nil {
			b.Fatal(err)
		}
	}
	p := make([]byte, 1<<20)
	b.Run("fetch", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			f := New(DefaultConfig(), store, Deps{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: telemetry.NewSet()})
			for pos := int64(0); pos < int64(len(data)); pos += int64(len(p)) {
				s, _, err := f.Open(context.Background(), ref, pos, -1)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Next(context.Background(), p); err != nil {
					b.Fatal(err)
				}
			}
			f.Close(time.Minute)
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			for pos := int64(0); pos < int64(len(data)); pos += int64(len(p)) {
				if err := store.ReadRange(context.Background(), log, p, pos); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
