package fetch

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// until waits for a condition of other goroutines.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func TestSingleFlight(t *testing.T) {
	m, f := setup(t, nil)
	ref, data := m.put(t, 1, stored.MinChunkSize)
	log, sidecar := ref.Keys()
	open := make(chan struct{})
	m.set(func(ctx context.Context, key string) error { <-open; return nil })
	errs := make(chan error, 100)
	for range cap(errs) {
		go func() {
			s, err := f.Segment(deadline(t), ref)
			p := make([]byte, 500)
			if err == nil {
				err = s.Read(deadline(t), p, 123)
			}
			if err == nil && !bytes.Equal(p, data[123:623]) {
				err = fmt.Errorf("wrong bytes")
			}
			errs <- err
		}()
	}
	until(t, "100 readers wait", func() bool {
		f.sidecars.mu.Lock()
		defer f.sidecars.mu.Unlock()
		e := f.sidecars.entries[sidecar]
		return e != nil && e.refs == cap(errs)
	})
	close(open)
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if m.count(log) != 1 || m.count(sidecar) != 1 {
		t.Errorf("%d reads of the log object, %d of the sidecar, want 1 and 1", m.count(log), m.count(sidecar))
	}
}

func TestFailuresAreNotKept(t *testing.T) {
	m, f := setup(t, nil)
	ref, _ := m.put(t, 1, 100)
	m.set(func(context.Context, string) error { return status.Errorf(status.Transient, "503") })
	if _, err := f.Sidecar(deadline(t), ref); !status.Is(err, status.Transient) {
		t.Fatalf("got %v, want Transient", err)
	}
	m.set(func(context.Context, string) error { panic("broken store") })
	if _, err := f.Sidecar(deadline(t), ref); !status.Is(err, status.Internal) {
		t.Fatalf("got %v, want Internal", err)
	}
	m.set(nil)
	if _, err := f.Sidecar(deadline(t), ref); err != nil {
		t.Fatal(err)
	}
}

// The broker gives up after 500 ms and asks again: what was on its way must be there then.
func TestBytesOnTheirWayLand(t *testing.T) {
	m, f := setup(t, nil)
	ref, _ := m.put(t, 1, stored.MinChunkSize)
	log, _ := ref.Keys()
	s, err := f.Segment(deadline(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	open := make(chan struct{})
	m.set(func(context.Context, string) error { <-open; return nil })
	ctx, cancel := context.WithCancel(deadline(t))
	done := make(chan error)
	go func() { done <- s.Read(ctx, make([]byte, 1), 0) }()
	until(t, "the read has begun", func() bool { return m.count(log) == 1 })
	cancel()
	if err := <-done; !status.Is(err, status.Cancelled) {
		t.Errorf("got %v, want Cancelled", err)
	}
	close(open)
	if err := s.Read(deadline(t), make([]byte, 1), 0); err != nil || m.count(log) != 1 {
		t.Errorf("%v after %d reads, want 1", err, m.count(log))
	}
}

func TestStallEndsAtTheDeadline(t *testing.T) {
	m, f := setup(t, func(c *Config) { c.Deadline, c.MinRate = 50*time.Millisecond, 1<<40 })
	ref, _ := m.put(t, 1, 100)
	m.set(func(ctx context.Context, _ string) error { <-ctx.Done(); return status.Wrapf(ctx.Err(), "stalled") })
	if _, err := f.Sidecar(deadline(t), ref); !status.Is(err, status.Transient) {
		t.Errorf("got %v, want Transient", err)
	}
}

// Memory never exceeds the budget; readers wait for it, get it, and give up with their context.
func TestMemoryIsBounded(t *testing.T) {
	const capacity = 16 * stored.MinChunkSize
	m, f := setup(t, nil)
	f.chunks.mem = newBuffers("test", capacity)
	ref, data := m.put(t, 1, 3*capacity)
	s, err := f.Segment(deadline(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			p := make([]byte, 100_000)
			for i := range 60 {
				pos := int64((g*7919+i*104729)*131) % int64(len(data)-len(p))
				if err := s.Read(deadline(t), p, pos); err != nil || !bytes.Equal(p, data[pos:pos+int64(len(p))]) {
					t.Errorf("read at %d: %v", pos, err)
				}
				if used := f.chunks.mem.used(); used > capacity {
					t.Errorf("%d bytes in use, the budget is %d", used, capacity)
				}
			}
		})
	}
	wg.Wait()
	atRest(t, f)
}

func TestWaitingForMemoryEndsWithTheContext(t *testing.T) {
	m, f := setup(t, nil)
	f.chunks.mem = newBuffers("test", stored.MinChunkSize)
	ref, _ := m.put(t, 1, 2*stored.MinChunkSize)
	log, _ := ref.Keys()
	s, err := f.Segment(deadline(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.chunks.get(deadline(t), s, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if err := s.Read(ctx, make([]byte, 1), stored.MinChunkSize); !status.Is(err, status.Transient) {
		t.Errorf("with all memory in use: %v, want Transient", err)
	}
	if n := m.count(log); n != 1 {
		t.Errorf("%d reads: one began without memory", n)
	}
	f.chunks.put(e, false)
	if err := s.Read(deadline(t), make([]byte, 1), stored.MinChunkSize); err != nil {
		t.Error(err)
	}
}

func TestClosedFetcher(t *testing.T) {
	m, f := setup(t, nil)
	ref, _ := m.put(t, 1, 100)
	f.Close(time.Second)
	if _, err := f.Sidecar(deadline(t), ref); !status.Is(err, status.Closed) {
		t.Errorf("got %v, want Closed", err)
	}
}
