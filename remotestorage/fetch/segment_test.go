package fetch

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage/stored"
)

func TestReaderAt(t *testing.T) {
	m, f := setup(t, nil)
	ref, data := m.put(t, 1, 2*stored.MinChunkSize+5)
	s, err := f.Segment(deadline(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.NewSectionReader(s.ReaderAt(deadline(t)), 0, s.Size()))
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if n, err := s.ReaderAt(deadline(t)).ReadAt(make([]byte, 10), s.Size()-3); n != 3 || err != io.EOF {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

// first opens a segment of which nothing is known and reads its first bytes.
func first(ctx context.Context, f *Fetcher, ref Ref, start int64, want []byte) error {
	s, _, err := f.Open(ctx, ref, start, -1)
	if err != nil {
		return err
	}
	defer s.Close()
	p := make([]byte, 1000)
	n, err := s.Next(ctx, p)
	if err == nil && (n == 0 || !bytes.Equal(p[:n], want[start:start+int64(n)])) {
		return status.Errorf(status.Internal, "%d wrong bytes at %d", n, start)
	}
	return err
}

// The first bytes of a segment are asked for beside its sidecar where the custom metadata says where they lie, and after it where it does
// not. Many readers of one place cause one GET of either.
func TestFirstBytesAreAskedForBesideTheSidecar(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stored.Metadata)
		want   time.Duration
	}{
		"chunk size known":   {func(*stored.Metadata) {}, time.Second},
		"chunk size unknown": {func(m *stored.Metadata) { m.ChunkSize = 0 }, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := setup(t, func(c *Config) { c.Hedge = false })
				ref, data := m.put(t, 1, 5*stored.MinChunkSize)
				ref.Custom = other(t, ref.Custom, c.change)
				log, side := ref.Keys()
				m.set(func(context.Context, string) error { time.Sleep(time.Second); return nil })
				began := time.Now()
				var wg sync.WaitGroup
				for range 100 {
					wg.Go(func() {
						if err := first(t.Context(), f, ref, 3*stored.MinChunkSize+17, data); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if took := time.Since(began); took != c.want {
					t.Errorf("it took %v, want %v", took, c.want)
				}
				if m.count(log) != 1 || m.count(side) != 1 {
					t.Errorf("%d GETs of the log object and %d of the sidecar", m.count(log), m.count(side))
				}
				atRest(t, f)
				f.Close(time.Minute)
			})
		})
	}
}

// No byte is handed out before its checksum is known, whichever of both comes first; damaged ones never.
func TestEarlyBytesAreCheckedBeforeTheyAreHandedOut(t *testing.T) {
	for _, sidecarLate := range []bool{false, true} {
		for _, damage := range []string{"none", "on its way", "stored"} {
			t.Run(damage, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m, f := setup(t, func(c *Config) { c.Hedge = false })
					ref, data := m.put(t, 1, 5*stored.MinChunkSize)
					log, side := ref.Keys()
					bad := bytes.Clone(data)
					bad[stored.MinChunkSize+7] ^= 4
					if damage != "none" {
						m.objects[log] = bad
					}
					m.set(func(_ context.Context, key string) error {
						if (key == side) == sidecarLate {
							time.Sleep(10 * time.Second)
						}
						m.mu.Lock()
						defer m.mu.Unlock()
						if damage == "on its way" {
							m.objects[log] = data // what is on its way has the damaged object
						}
						return nil
					})
					err := first(t.Context(), f, ref, stored.MinChunkSize, data)
					if want := damage == "stored"; status.Is(err, status.Corrupt) != want || (err != nil) != want {
						t.Errorf("sidecar late %v: %v", sidecarLate, err)
					}
					atRest(t, f)
					f.Close(time.Minute)
				})
			})
		}
	}
}

// A GET that was made on the strength of the custom metadata and fails costs nobody the read.
func TestAnEarlyFailureIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := setup(t, func(c *Config) { c.Hedge = false })
		ref, data := m.put(t, 1, 2*stored.MinChunkSize)
		log, _ := ref.Keys()
		var asked atomic.Int32
		m.set(func(_ context.Context, key string) error {
			if key == log && asked.Add(1) == 1 {
				time.Sleep(time.Second) // the reader waits for it by now
				return status.Errorf(status.Transient, "503")
			}
			return nil
		})
		if err := first(t.Context(), f, ref, 5, data); err != nil || asked.Load() != 2 {
			t.Errorf("%v after %d GETs", err, asked.Load())
		}
		atRest(t, f)
		f.Close(time.Minute)
	})
}

// Without a sidecar nothing is read: the error is that of the sidecar, the bytes asked for are dropped and not asked for again.
func TestEarlyBytesOfASegmentWithoutSidecar(t *testing.T) {
	for _, class := range []status.Class{status.NotFound, status.Corrupt, status.Transient} {
		synctest.Test(t, func(t *testing.T) {
			m, f := setup(t, nil)
			ref, data := m.put(t, 1, 5*stored.MinChunkSize)
			log, side := ref.Keys()
			m.set(func(_ context.Context, key string) error {
				if key == side {
					time.Sleep(time.Second)
					return status.Errorf(class, "told by the test")
				}
				return nil
			})
			if err := first(t.Context(), f, ref, 0, data); !status.Is(err, class) || !strings.Contains(err.Error(), "told by the test") {
				t.Errorf("%v, want %v", err, class)
			}
			atRest(t, f)
			if f.chunks.mem.used() != 0 || m.count(log) > 1 {
				t.Errorf("%d bytes kept, %d GETs of the log object", f.chunks.mem.used(), m.count(log))
			}
			f.Close(time.Minute)
		})
	}
}

// A chunk size that is not the manifest's is damage: bytes would be checked against what belongs to others.
func TestEarlyLayoutMustBeTheManifests(t *testing.T) {
	m, f := setup(t, nil)
	ref, data := m.put(t, 1, 5*stored.MinChunkSize)
	ref.Custom = other(t, ref.Custom, func(m *stored.Metadata) { m.ChunkSize = 2 * stored.MinChunkSize })
	if err := first(deadline(t), f, ref, 0, data); !status.Is(err, status.Corrupt) || !strings.Contains(err.Error(), "chunks of") {
		t.Errorf("%v, want Corrupt", err)
	}
	atRest(t, f)
	if f.chunks.mem.used() != 0 {
		t.Errorf("%d bytes kept", f.chunks.mem.used())
	}
}

// The segment that is read ahead needs its sidecar no earlier either.
func TestTheNextSegmentIsAskedForBesideItsSidecar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := setup(t, func(c *Config) { c.Hedge = false })
		one, data := m.put(t, 1, 8<<20)
		next, _ := m.put(t, 2, 8<<20)
		one.Next = &next
		log, side := next.Keys()
		m.set(func(_ context.Context, key string) error {
			if key == side {
				time.Sleep(time.Second)
				if m.count(log) == 0 {
					t.Error("the sidecar came before the log object was asked for")
				}
			}
			return nil
		})
		sequence(t, f, one, data, 64<<10)
		synctest.Wait()
		time.Sleep(2 * time.Second)
		atRest(t, f)
		if m.count(log) == 0 || m.count(side) != 1 {
			t.Errorf("%d GETs of the next log object, %d of its sidecar", m.count(log), m.count(side))
		}
		f.Close(time.Minute)
	})
}

// A piece that lies in two chunks is asked for with one GET, and its first part is handed out when the second is not there yet.
func TestAPieceOfTwoChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := setup(t, func(c *Config) { c.Hedge = false })
		ref, data := m.put(t, 1, 5*stored.MinChunkSize)
		m.slow = time.Second
		s, _, err := f.Open(t.Context(), ref, stored.MinChunkSize-100, -1)
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 1000)
		began := time.Now()
		n, err := s.Next(t.Context(), p)
		if took := time.Since(began); err != nil || n != 100 || took > time.Second || !bytes.Equal(p[:n], data[stored.MinChunkSize-100:][:n]) {
			t.Errorf("%d bytes after %v: %v", n, took, err)
		}
		n, err = s.Next(t.Context(), p)
		if err != nil || n != 1000 || !bytes.Equal(p, data[stored.MinChunkSize:][:n]) {
			t.Errorf("then %d bytes: %v", n, err)
		}
		atRest(t, f)
		if len(m.gets) != 1 {
			t.Errorf("GETs: %v", m.gets)
		}
		f.Close(time.Minute)
	})
}

// writer is a store that is not written.
type writer interface {
	Put(ctx context.Context, key string, src objectstore.Source, cond objectstore.Condition) (objectstore.Info, error)
	Delete(ctx context.Context, keys ...string) error
}

// readOnly makes a store of what is only read.
type readOnly struct {
	objectstore.Reader
	writer
}

// limited is a memory below a limit of calls under way.
func limited(m *memory, most int) *Fetcher {
	set := telemetry.NewSet()
	cfg := DefaultConfig()
	cfg.Deadline = 5 * time.Second
	store := objectstore.Adaptive(readOnly{Reader: m}, most, set)
	return New(cfg, store, Deps{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: set})
}

// The first bytes hold a call of the store while they come. They do not wait for the sidecar, which needs a call too, however few may be under way at once.
func TestEarlyBytesDoNotWaitForTheSidecarWhileTheyHoldACall(t *testing.T) {
	for _, most := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			m := &memory{objects: map[string][]byte{}, reads: map[string]int{}}
			f := limited(m, most)
			m.set(func(context.Context, string) error { time.Sleep(20 * time.Millisecond); return nil })
			const segments = 30
			began := time.Now()
			var wg sync.WaitGroup
			for i := range segments {
				ref, data := m.put(t, byte(i), 5*stored.MinChunkSize)
				start := int64(i%5) * stored.MinChunkSize
				wg.Go(func() {
					if err := first(t.Context(), f, ref, start, data); err != nil {
						t.Errorf("limit %d: %v", most, err)
					}
				})
			}
			wg.Wait()
			if took := time.Since(began); took > 2*segments*20*time.Millisecond {
				t.Errorf("limit %d: it took %v", most, took)
			}
			atRest(t, f)
			f.Close(time.Minute)
		})
	}
}

// sidecarsLast asks for sidecars once a log object was asked for.
type sidecarsLast struct {
	objectstore.Reader
	asked chan struct{}
}

func (s sidecarsLast) ReadRange(ctx context.Context, key string, dst []byte, offset int64) error {
	select {
	case <-s.asked:
	case <-ctx.Done():
	}
	return s.Reader.ReadRange(ctx, key, dst, offset)
}

// The same of the connections of an S3 client, which are given back with the last byte.
func TestEarlyBytesDoNotWaitForTheSidecarWhileTheyHoldAConnection(t *testing.T) {
	m, _ := setup(t, nil)
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		data, ok := m.objects[strings.TrimPrefix(r.URL.Path, "/b/")]
		m.mu.Unlock()
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if strings.HasSuffix(r.URL.Path, ".log") {
			close(asked)
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
	}))
	defer server.Close()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := s3.Open(t.Context(), s3.Config{Bucket: "b", Endpoint: server.URL, PathStyle: true, Credentials: s3.Static, AccessKey: "a", SecretKey: "s",
		SinglePutBelow: 5 << 20, PartSize: 5 << 20, Concurrency: 1, Connections: 1, Checksum: s3.CRC32C}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	cfg := DefaultConfig()
	cfg.Deadline, cfg.Hedge = 10*time.Second, false
	f := New(cfg, sidecarsLast{store, asked}, Deps{Log: log, Metrics: telemetry.NewSet()})
	ref, data := m.put(t, 1, 5*stored.MinChunkSize)
	if err := first(deadline(t), f, ref, stored.MinChunkSize-9, data); err != nil { // a run of three chunks
		t.Error(err)
	}
	if !f.Close(10 * time.Second) {
		t.Error("loads did not end")
	}
}
