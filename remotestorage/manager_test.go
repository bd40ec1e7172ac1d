package remotestorage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage/stored"
)

func deadline(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func config(t testing.TB) Config {
	c := DefaultConfig()
	c.ChunkBytes = stored.MinChunkSize
	c.Reclaim.Dir, c.Reclaim.Interval, c.Reclaim.MaxBackoff = t.TempDir(), 10*time.Millisecond, 40*time.Millisecond
	return c
}

func start(t testing.TB, cfg Config, store objectstore.Store, deps Deps) *Manager {
	t.Helper()
	if deps.Log == nil {
		deps.Log = quiet()
	}
	deps.Metrics, deps.Version = telemetry.NewSet(), "0.1.0"
	m, err := New(cfg, store, deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close(deadline(t)) })
	return m
}

// metric is the value of a series, whatever its labels, summed.
func metric(t testing.TB, m *Manager, name string) (sum float64) {
	t.Helper()
	samples, err := m.deps.Metrics.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, s := range samples {
		if s.Name == telemetry.Prefix+name {
			sum, found = sum+s.Value, true
		}
	}
	if !found {
		t.Fatalf("no metric %s", name)
	}
	return sum
}

func fileStore(t testing.TB) objectstore.Store {
	t.Helper()
	s, err := objectstore.OpenFile(t.TempDir(), objectstore.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// closed is a closed segment on disk, in <log dir>/flights-3/.
type closed struct {
	Segment
	paths Paths
	log   []byte
	dir   string // the log directory
}

// segment writes a segment with batches of every codec, transactions and control batches, some hundred KiB.
func segment(t testing.TB, base int64) closed {
	t.Helper()
	s := logtest.NewSegment(base)
	s.Epochs = []kafkalog.EpochStart{{Epoch: 4, Start: base}}
	rng := rand.New(rand.NewPCG(1, uint64(base)))
	value := func(n int) string {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		return string(p)
	}
	p := logtest.Producer{ID: 9}
	for range 6 {
		for _, c := range []kafkalog.Codec{kafkalog.None, kafkalog.Gzip, kafkalog.Snappy, kafkalog.LZ4, kafkalog.Zstd} {
			s.Produce(c, value(5000), "", value(9000))
		}
		s.InTxn(p, "one", value(3000))
		s.End(p, kafkalog.ControlAbort)
	}
	return write(t, s)
}

func write(t testing.TB, s *logtest.Segment) closed {
	t.Helper()
	dir := t.TempDir()
	part := filepath.Join(dir, "flights-3")
	if err := os.MkdirAll(part, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := s.Write(part)
	if err != nil {
		t.Fatal(err)
	}
	return closed{
		Segment: Segment{
			TopicID: [16]byte{0xF1}, Topic: "flights", Partition: 3, ID: [16]byte{byte(s.Base), 0x51},
			BaseOffset: s.Base, EndOffset: s.Next() - 1, Size: int64(len(s.Log)), Epochs: []Epoch{{Epoch: 4, Start: s.Base}},
			MaxTimestamp: 12345, BrokerID: 7, TxnIndexEmpty: f.TxnIndex == "",
		},
		paths: Paths{
			Log: f.Log, OffsetIndex: f.OffsetIndex, TimeIndex: f.TimeIndex, ProducerSnapshot: f.ProducerSnapshot,
			TxnIndex: f.TxnIndex, LeaderEpochs: s.LeaderEpochs(),
		},
		log: slices.Clone(s.Log), dir: dir,
	}
}

// copied copies a segment and notes the custom metadata in it.
func copied(t testing.TB, m *Manager, c *closed) {
	t.Helper()
	custom, err := m.Copy(deadline(t), c.Segment, c.paths)
	if err != nil {
		t.Fatal(err)
	}
	if len(custom) == 0 || len(custom) > stored.MaxMetadata {
		t.Fatalf("custom metadata of %d bytes", len(custom))
	}
	c.Custom = custom
}

// readBack compares every batch and every index with the files.
func readBack(t testing.TB, m *Manager, c closed) {
	t.Helper()
	s, total, err := m.OpenSegment(deadline(t), c.Segment, nil, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := make([]byte, total)
	if n, err := fill(t, s, got); err != nil || n != len(got) {
		t.Fatalf("%d of %d bytes, %v", n, total, err)
	}
	if !bytes.Equal(got, c.log) {
		t.Fatal("the log differs")
	}
	batches := 0
	err = kafkalog.Walk(bytes.NewReader(c.log), int64(len(c.log)), func(b kafkalog.Batch) error {
		batches++
		s, _, err := m.OpenSegment(deadline(t), c.Segment, nil, b.Pos, b.Pos+int64(b.Size()))
		if err != nil {
			return err
		}
		p := make([]byte, b.Size())
		if n, err := fill(t, s, p); err != nil || n != len(p) || !bytes.Equal(p, b.Bytes()) {
			return fmt.Errorf("batch at %d: %d of %d bytes, %w", b.Pos, n, len(p), err)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("batch %d: %v", batches, err)
	}
	for kind, path := range map[IndexKind]string{
		stored.OffsetIndex: c.paths.OffsetIndex, stored.TimeIndex: c.paths.TimeIndex,
		stored.ProducerSnapshot: c.paths.ProducerSnapshot, stored.TransactionIndex: c.paths.TxnIndex, stored.LeaderEpochs: "",
	} {
		want := c.paths.LeaderEpochs
		if path != "" {
			if want, err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
		got, err := m.Index(deadline(t), c.Segment, kind)
		if kind == stored.TransactionIndex && path == "" {
			if !status.Is(err, status.NotFound) {
				t.Errorf("absent transaction index: %d bytes, %v, want NotFound", len(got), err)
			}
			continue
		}
		if err != nil || !bytes.Equal(got, want) || cap(got) != len(got) {
			t.Errorf("%s: %d bytes, %v, want %d", kind, len(got), err, len(want))
		}
	}
}

func TestCopyAndReadBack(t *testing.T) {
	stores := map[string]func(testing.TB) objectstore.Store{
		"file":   fileStore,
		"memory": func(testing.TB) objectstore.Store { return storetest.NewMemory() },
	}
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			m := start(t, config(t), store(t), Deps{})
			c := segment(t, 1000)
			copied(t, m, &c)
			readBack(t, m, c)
			if n := metric(t, m, "copy_segments_total"); n != 1 {
				t.Errorf("%v copies counted", n)
			}
			if n := metric(t, m, "copy_bytes_total"); n != float64(c.Size) {
				t.Errorf("%v bytes counted, want %d", n, c.Size)
			}
			if n := metric(t, m, "copy_in_flight"); n != 0 {
				t.Errorf("%v copies in flight", n)
			}
		})
	}
}

func TestEmptyAndPlainSegments(t *testing.T) {
	m := start(t, config(t), fileStore(t), Deps{})
	empty := logtest.NewSegment(50)
	empty.Epochs = []kafkalog.EpochStart{{Epoch: 1}}
	plain := logtest.NewSegment(70).Produce(kafkalog.None, "a", "", "c")
	plain.Epochs = []kafkalog.EpochStart{{Epoch: 1}}
	for _, s := range []*logtest.Segment{empty, plain} {
		c := write(t, s)
		copied(t, m, &c)
		readBack(t, m, c)
		c.Custom = nil // Kafka may not have it
		readBack(t, m, c)
	}
}

// A segment that a real broker wrote.
func TestGoldenSegment(t *testing.T) {
	const dir = "../internal/kafkalog/testdata/kafka-4.0.2/"
	part := filepath.Join(t.TempDir(), "golden-0")
	if err := os.CopyFS(part, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(part, "00000000000000001000.log"))
	if err != nil {
		t.Fatal(err)
	}
	c := closed{
		Segment: Segment{TopicID: [16]byte{2}, Topic: "golden", ID: [16]byte{3}, BaseOffset: 1000, EndOffset: 1319, Size: int64(len(log))},
		paths: Paths{
			Log: filepath.Join(part, "00000000000000001000.log"), OffsetIndex: filepath.Join(part, "00000000000000001000.index"),
			TimeIndex: filepath.Join(part, "00000000000000001000.timeindex"), TxnIndex: filepath.Join(part, "00000000000000001000.txnindex"),
			ProducerSnapshot: filepath.Join(part, "00000000000000001320.snapshot"), LeaderEpochs: []byte("0\n1\n0 1000\n"),
		},
		log: log,
	}
	must(t, os.Truncate(c.paths.OffsetIndex, 8)) // the index in there is of a longer log
	m := start(t, config(t), fileStore(t), Deps{})
	copied(t, m, &c)
	readBack(t, m, c)
}

func TestRestart(t *testing.T) {
	cfg, store, c := config(t), fileStore(t), segment(t, 1000)
	m := start(t, cfg, store, Deps{})
	copied(t, m, &c)
	m.Close(deadline(t))
	if _, err := m.Copy(deadline(t), c.Segment, c.paths); !status.Is(err, status.Closed) {
		t.Errorf("copy after close: %v, want Closed", err)
	}
	if _, _, err := m.OpenSegment(deadline(t), c.Segment, nil, 0, -1); !status.Is(err, status.Closed) {
		t.Errorf("open after close: %v, want Closed", err)
	}
	readBack(t, start(t, cfg, store, Deps{}), c)
}

func TestOpenStored(t *testing.T) {
	m, c := start(t, config(t), fileStore(t), Deps{}), segment(t, 1000)
	copied(t, m, &c)
	src, size, err := m.OpenStored(deadline(t), c.Segment)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.NewSectionReader(src, 0, size))
	if err != nil || !bytes.Equal(got, c.log) {
		t.Errorf("%d of %d bytes, %v", len(got), len(c.log), err)
	}
}

// All indexes and the manifest cost one read.
func TestSidecarIsReadOnce(t *testing.T) {
	store := storetest.Faulty(storetest.NewMemory())
	m, c := start(t, config(t), store, Deps{}), segment(t, 1000)
	copied(t, m, &c)
	for kind := stored.OffsetIndex; kind <= stored.LeaderEpochs; kind++ {
		if _, err := m.Index(deadline(t), c.Segment, kind); err != nil {
			t.Error(err)
		}
	}
	if n := len(store.Calls()); n != 3 {
		t.Errorf("calls %v, want two puts and one read", store.Calls())
	}
	if _, err := m.Index(deadline(t), c.Segment, 6); !status.Is(err, status.Invalid) {
		t.Errorf("unknown kind: %v, want Invalid", err)
	}
}

func TestDamagedObjectsAreNamed(t *testing.T) {
	for _, suffix := range []string{"log", "sidecar"} {
		for _, effect := range []storetest.Effect{storetest.Flip, storetest.Short} {
			store := storetest.Faulty(storetest.NewMemory())
			m, c := start(t, config(t), store, Deps{}), segment(t, 1000)
			copied(t, m, &c)
			store.Add(storetest.Fault{Op: storetest.Range, Key: "." + suffix, Times: -1, Effect: effect})
			s, _, err := m.OpenSegment(deadline(t), c.Segment, nil, 0, -1)
			if err == nil {
				_, err = fill(t, s, make([]byte, c.Size))
			}
			if !status.Is(err, status.Corrupt) || !strings.Contains(err.Error(), "."+suffix) {
				t.Errorf("%s, effect %d: %v (%v), want Corrupt naming it", suffix, effect, err, status.Of(err))
			}
			store.Heal()
			until(t, "what was on its way has ended", func() bool { return metric(t, m, "fetch_loads") == 0 })
			readBack(t, m, c)
		}
	}
}

func TestDelete(t *testing.T) {
	cfg, store, c, other := config(t), fileStore(t), segment(t, 1000), segment(t, 5000)
	m := start(t, cfg, store, Deps{})
	copied(t, m, &c)
	copied(t, m, &other)
	c.Custom = nil // the delete after a failed copy comes without
	for range 2 {
		if err := m.Delete(deadline(t), c.Segment); err != nil {
			t.Fatal(err)
		}
	}
	log, sidecar := c.identity().Keys()
	until(t, "both objects are gone", func() bool { return absent(t, store, log) && absent(t, store, sidecar) })
	if err := m.Delete(deadline(t), c.Segment); err != nil {
		t.Errorf("delete of what is gone: %v", err)
	}
	readBack(t, m, other)
	m.Close(deadline(t))
	m = start(t, cfg, store, Deps{})
	if _, err := m.Index(deadline(t), c.Segment, stored.OffsetIndex); !status.Is(err, status.NotFound) {
		t.Errorf("index of a deleted segment: %v, want NotFound", err)
	}
}

// The process dies before the collector could do anything.
func TestDeleteThenRestart(t *testing.T) {
	cfg, mem, c := config(t), storetest.NewMemory(), segment(t, 1000)
	store := storetest.Faulty(mem)
	m := start(t, cfg, store, Deps{})
	copied(t, m, &c)
	store.Add(storetest.Fault{Op: storetest.Delete, Times: -1})
	if err := m.Delete(deadline(t), c.Segment); err != nil {
		t.Fatal(err)
	}
	m.Close(deadline(t))
	log, sidecar := c.identity().Keys()
	if absent(t, mem, sidecar) {
		t.Fatal("the store did a delete it refused")
	}
	start(t, cfg, mem, Deps{})
	until(t, "both objects are gone", func() bool { return absent(t, mem, log) && absent(t, mem, sidecar) })
}

func absent(t testing.TB, store objectstore.Reader, key string) bool {
	t.Helper()
	_, err := store.Head(context.Background(), key)
	if err != nil && !status.Is(err, status.NotFound) {
		t.Fatal(err)
	}
	return err != nil
}
