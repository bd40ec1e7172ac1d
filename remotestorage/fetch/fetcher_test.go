package fetch

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage/stored"
)

// memory is a store of fixed objects that counts reads and can be made to wait or fail.
type memory struct {
	objectstore.Reader
	mu      sync.Mutex
	objects map[string][]byte
	reads   map[string]int
	heads   int
	gets    []int                                       // bytes of the scattered reads
	before  func(ctx context.Context, key string) error // called without the lock
	slow    time.Duration                               // before each buffer of a scattered read
}

func (m *memory) ReadRange(ctx context.Context, key string, dst []byte, offset int64) error {
	m.mu.Lock()
	m.reads[key]++
	data, ok := m.objects[key]
	before := m.before
	m.mu.Unlock()
	if before != nil {
		if err := before(ctx, key); err != nil {
			return err
		}
	}
	if !ok {
		return status.Errorf(status.NotFound, "object %s is absent", key)
	}
	if offset+int64(len(dst)) > int64(len(data)) {
		return objectstore.ShortRange(key, offset, len(dst), int64(len(data)))
	}
	copy(dst, data[offset:])
	return nil
}

func (m *memory) ReadScatter(ctx context.Context, key string, dsts [][]byte, offset int64, filled func(i int)) error {
	whole := make([]byte, objectstore.Length(dsts))
	if err := m.ReadRange(ctx, key, whole, offset); err != nil {
		return err
	}
	m.mu.Lock()
	m.gets = append(m.gets, len(whole))
	m.mu.Unlock()
	for i, dst := range dsts {
		time.Sleep(m.slow)
		whole = whole[copy(dst, whole):]
		filled(i)
	}
	return nil
}

func (m *memory) Head(_ context.Context, key string) (objectstore.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heads++
	data, ok := m.objects[key]
	if !ok {
		return objectstore.Info{}, status.Errorf(status.NotFound, "object %s is absent", key)
	}
	return objectstore.Info{Key: key, Size: int64(len(data))}, nil
}

func (m *memory) count(key string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads[key]
}

func (m *memory) set(before func(ctx context.Context, key string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.before = before
}

// put stores a segment of n bytes in chunks of the smallest size.
func (m *memory) put(t testing.TB, segment byte, n int) (Ref, []byte) {
	t.Helper()
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i*13+i>>9) ^ segment
	}
	c := stored.NewChunker(stored.MinChunkSize)
	c.Write(data)
	chunks, whole := c.Finish()
	ref, side := m.segment(t, segment, chunks)
	log, sidecar := ref.Keys()
	m.mu.Lock()
	m.objects[log], m.objects[sidecar] = data, side
	m.mu.Unlock()
	ref.Custom = stored.Metadata{Size: int64(n), CRC: whole, SidecarSize: int32(len(side)), SidecarCRC: stored.CRC(side), ChunkSize: chunks.ChunkSize}.Encode()
	return ref, data
}

// segment is the reference and the sidecar of a segment; segments follow each other, a hundred offsets each.
func (m *memory) segment(t testing.TB, segment byte, chunks stored.Map) (Ref, []byte) {
	t.Helper()
	base := 100 * int64(segment)
	id := stored.Identity{TopicID: [16]byte{1}, Partition: 2, SegmentID: [16]byte{segment}, BaseOffset: base}
	side, err := stored.EncodeSidecar(stored.Manifest{Identity: id, Topic: "t", EndOffset: base + 99, Map: chunks}, []stored.Content{
		{Kind: stored.OffsetIndex, Bytes: []byte("offsets")}, {Kind: stored.TimeIndex},
		{Kind: stored.ProducerSnapshot}, {Kind: stored.LeaderEpochs, Bytes: []byte("epochs")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Ref{Identity: id, Size: chunks.Size}, side
}

func source(p []byte) objectstore.Source { return bytes.NewReader(p) }

func setup(t testing.TB, change func(*Config)) (*memory, *Fetcher) {
	t.Helper()
	m := &memory{objects: map[string][]byte{}, reads: map[string]int{}}
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	f := New(cfg, m, Deps{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: telemetry.NewSet()})
	t.Cleanup(func() {
		if !f.Close(10 * time.Second) {
			t.Error("loads did not end")
		}
	})
	return m, f
}

func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestMissingObjectsAreNotFound(t *testing.T) {
	m, f := setup(t, nil)
	ref, _ := m.put(t, 1, 1000)
	log, _ := ref.Keys()
	delete(m.objects, log)
	s, _, err := f.Open(deadline(t), ref, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(deadline(t), make([]byte, 10)); !status.Is(err, status.NotFound) {
		t.Errorf("log object: %v, want NotFound", err)
	}
	ref2, _ := m.put(t, 2, 10)
	_, sidecar := ref2.Keys()
	delete(m.objects, sidecar)
	for _, custom := range [][]byte{ref2.Custom, nil} {
		ref2.Custom = custom
		if _, err := f.Sidecar(deadline(t), ref2); !status.Is(err, status.NotFound) {
			t.Errorf("sidecar: %v, want NotFound", err)
		}
	}
}

func TestDamagedChunkIsNamed(t *testing.T) {
	m, f := setup(t, nil)
	ref, data := m.put(t, 1, 3*stored.MinChunkSize)
	log, _ := ref.Keys()
	bad := bytes.Clone(data)
	bad[stored.MinChunkSize+5] ^= 0x10
	m.objects[log] = bad
	s, err := f.Segment(deadline(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 10)
	if err := s.Read(deadline(t), p, 5); err != nil {
		t.Errorf("intact chunk: %v", err)
	}
	err = s.Read(deadline(t), p, stored.MinChunkSize+100)
	if !status.Is(err, status.Corrupt) || !strings.Contains(err.Error(), log) || !strings.Contains(err.Error(), "[65536, 131072)") {
		t.Errorf("damaged chunk: %v, want Corrupt with key and range", err)
	}
	m.mu.Lock()
	m.objects[log] = data[:stored.MinChunkSize+1]
	m.mu.Unlock()
	if err = s.Read(deadline(t), p, stored.MinChunkSize+100); !status.Is(err, status.Corrupt) || !strings.Contains(err.Error(), log) {
		t.Errorf("cut object: %v, want Corrupt", err)
	}
	m.mu.Lock()
	m.objects[log] = data // repaired: the failure was not kept
	m.mu.Unlock()
	if err = s.Read(deadline(t), p, stored.MinChunkSize+100); err != nil || !bytes.Equal(p, data[stored.MinChunkSize+100:][:10]) {
		t.Errorf("repaired: %v", err)
	}
}
