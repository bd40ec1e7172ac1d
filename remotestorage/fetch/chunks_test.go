package fetch

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// atRest checks that nothing is lent, waited for or forgotten when nobody reads and nothing is on its way.
func atRest(t testing.TB, f *Fetcher) {
	t.Helper()
	c := f.chunks
	until(t, "all loads have ended", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, e := range c.entries {
			if !e.over() || e.run != nil {
				return false
			}
		}
		return c.gets.Used() == 0
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	var bytes int64
	for _, e := range c.entries {
		if e.refs != 0 || e.queue == nil {
			t.Errorf("chunk %v has %d users and is in no queue", e.key, e.refs)
		}
		bytes += c.mem.cost(e.size)
	}
	if queued := c.spent.Len() + c.partly.Len() + c.unread.Len(); c.wanted != 0 || queued != len(c.entries) || bytes != c.mem.used() {
		t.Errorf("at rest: %d wanted, %d queued, %d entries with %d bytes, %d lent", c.wanted, queued, len(c.entries), bytes, c.mem.used())
	}
	if c.mem.used()+c.mem.idle > c.mem.mem.Capacity() {
		t.Errorf("%d bytes lent and %d kept of %d", c.mem.used(), c.mem.idle, c.mem.mem.Capacity())
	}
}

// sequence reads a segment from front to back as the broker does, with a stream for each piece.
func sequence(t testing.TB, f *Fetcher, ref Ref, want []byte, piece int) {
	t.Helper()
	p := make([]byte, piece)
	for pos := 0; pos < len(want); {
		s, _, err := f.Open(deadline(t), ref, int64(pos), -1)
		if err != nil {
			t.Error(err)
			return
		}
		n, err := s.Next(deadline(t), p)
		if err != nil || n == 0 || pos+n > len(want) || !bytes.Equal(p[:n], want[pos:pos+n]) {
			t.Errorf("at %d: %d bytes, %v", pos, n, err)
			return
		}
		s.Close()
		pos += n
	}
}

func total(gets []int) (n int) {
	for _, g := range gets {
		n += g
	}
	return n
}

func TestOneReaderInSequence(t *testing.T) {
	m, f := setup(t, func(c *Config) { c.ReadAhead, c.GetBytes = 4<<20, 2<<20 })
	ref, data := m.put(t, 1, 20<<20+123)
	sequence(t, f, ref, data, 150_000)
	atRest(t, f)
	if total(m.gets) != len(data) || len(m.gets) > 20 {
		t.Errorf("%d GETs with %d bytes for %d: %v", len(m.gets), total(m.gets), len(data), m.gets)
	}
}

// Sixteen consumers of one range cause the GETs of one.
func TestManyReadersOfOneRange(t *testing.T) {
	m, f := setup(t, nil)
	ref, data := m.put(t, 1, 12<<20)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() { sequence(t, f, ref, data, 50_000+i*7_000) })
	}
	wg.Wait()
	atRest(t, f)
	if total(m.gets) != len(data) {
		t.Errorf("%d bytes fetched for %d", total(m.gets), len(data))
	}
}

// The next segment begins with the window of the one before, and is read ahead if it is known.
func TestReadAheadRunsOnIntoTheNextSegment(t *testing.T) {
	m, f := setup(t, func(c *Config) { c.ReadAhead, c.GetBytes = 4<<20, 2<<20 })
	first, data := m.put(t, 1, 8<<20)
	next, _ := m.put(t, 2, 8<<20)
	first.Next = &next
	log, _ := next.Keys()
	sequence(t, f, first, data, 64<<10)
	until(t, "the next segment is on its way", func() bool { return m.count(log) > 0 })
	atRest(t, f)
}

// What the broker gives up after 500 ms is there when it asks again.
func TestSlowStoresMakeProgress(t *testing.T) {
	for _, latency := range []time.Duration{400 * time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			m, f := setup(t, nil)
			ref, data := m.put(t, 1, 3<<20)
			m.set(func(ctx context.Context, _ string) error { time.Sleep(latency); return nil })
			p := make([]byte, 100_000)
			asked := 0
			for pos := 0; pos < len(data); asked++ {
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				s, _, err := f.Open(ctx, ref, int64(pos), -1)
				var n int
				if err == nil {
					n, err = s.Next(ctx, p)
				}
				cancel()
				if err == nil {
					pos += n
				} else if !status.Is(err, status.Transient) {
					t.Fatal(err)
				}
				if asked > 200 {
					t.Fatalf("asked 200 times with %v latency and is at %d of %d", latency, pos, len(data))
				}
			}
			if total(m.gets) != len(data) {
				t.Errorf("%d bytes fetched for %d", total(m.gets), len(data))
			}
			f.Close(time.Minute)
		})
	}
}

// One failure of each kind per key, then a hundred readers: all succeed, with one load.
func TestFailuresPoisonNothing(t *testing.T) {
	for name, failure := range map[string]error{
		"503": status.Errorf(status.Transient, "503"), "reset": status.Errorf(status.Transient, "reset"),
		"short": status.Errorf(status.Corrupt, "short"), "missing": status.Errorf(status.NotFound, "404"),
	} {
		t.Run(name, func(t *testing.T) {
			m, f := setup(t, nil)
			ref, data := m.put(t, 1, stored.MinChunkSize)
			log, _ := ref.Keys()
			s, err := f.Segment(deadline(t), ref)
			if err != nil {
				t.Fatal(err)
			}
			m.set(func(context.Context, string) error { return failure })
			if err := s.Read(deadline(t), make([]byte, 1), 0); status.Of(err) != status.Of(failure) {
				t.Fatalf("got %v", err)
			}
			m.set(nil)
			before := m.count(log)
			var wg sync.WaitGroup
			for range 100 {
				wg.Go(func() {
					p := make([]byte, 1000)
					if err := s.Read(deadline(t), p, 7); err != nil || !bytes.Equal(p, data[7:1007]) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if n := m.count(log) - before; n != 1 {
				t.Errorf("%d loads", n)
			}
		})
	}
}

// A bit that flips on its way is fetched again, without a word.
func TestAFlippedBitIsFetchedAgain(t *testing.T) {
	m, f := setup(t, nil)
	ref, data := m.put(t, 1, 4*stored.MinChunkSize)
	log, _ := ref.Keys()
	bad := bytes.Clone(data)
	bad[100] ^= 1
	m.objects[log] = bad
	s, err := f.Segment(deadline(t), ref)
	if err != nil {
		t.Fatal(err)
	}
	m.set(func(context.Context, string) error { // the request under way has the damaged object, the next one has not
		m.mu.Lock()
		defer m.mu.Unlock()
		m.objects[log] = data
		return nil
	})
	p := make([]byte, 200)
	if err := s.Read(deadline(t), p, 0); err != nil || !bytes.Equal(p, data[:200]) {
		t.Errorf("%v", err)
	}
}

// A request that stands still is made a second time, and the faster one is taken; both memory pieces come back.
func TestHedging(t *testing.T) {
	for _, firstEnds := range []bool{false, true} {
		t.Run(fmt.Sprintf("first ends %v", firstEnds), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, f := setup(t, nil)
				ref, data := m.put(t, 1, stored.MinChunkSize)
				log, _ := ref.Keys()
				s, err := f.Segment(t.Context(), ref)
				if err != nil {
					t.Fatal(err)
				}
				var stuck atomic.Bool
				stuck.Store(true)
				m.set(func(ctx context.Context, key string) error {
					if key == log && stuck.Swap(false) {
						if firstEnds {
							time.Sleep(30 * time.Second)
							return nil
						}
						<-ctx.Done()
						return status.Wrapf(ctx.Err(), "stalled")
					}
					return nil
				})
				began := time.Now()
				p := make([]byte, 100)
				if err := s.Read(t.Context(), p, 0); err != nil || !bytes.Equal(p, data[:100]) {
					t.Errorf("%v", err)
				}
				if took := time.Since(began); took > 2*hedgeUnknown {
					t.Errorf("it took %v", took)
				}
				time.Sleep(2 * time.Minute) // virtual: the first ends
				synctest.Wait()
				if used := f.chunks.mem.used(); used != stored.MinChunkSize {
					t.Errorf("%d bytes lent after both ended", used)
				}
				f.Close(time.Minute)
			})
		})
	}
}

func TestHedgesAreFewAndNoneInTrouble(t *testing.T) {
	var l latency
	made := 0
	for range 400 {
		l.note(time.Millisecond)
		if l.permit() {
			made++
		}
	}
	if made > 400/hedgeShare+1 {
		t.Errorf("%d of 400", made)
	}
	l.noteOutcome(status.Errorf(status.Throttled, "503 SlowDown"))
	for range 100 {
		l.note(time.Millisecond)
	}
	if l.permit() {
		t.Error("a store in trouble is asked twice")
	}
}

// Ten thousand reads, half of them cancelled or failing: every budget is idle afterwards.
func TestEveryBudgetIsGivenBack(t *testing.T) {
	m, f := setup(t, func(c *Config) { c.ParallelGets, c.ReadAhead, c.GetBytes = 3, 1<<20, 1<<20 })
	f.chunks.mem = newBuffers("test", 40*stored.MinChunkSize)
	var refs []Ref
	var datas [][]byte
	for i := range 4 {
		r, d := m.put(t, byte(i+1), 30*stored.MinChunkSize+i)
		refs, datas = append(refs, r), append(datas, d)
	}
	m.set(func(ctx context.Context, _ string) error {
		switch rand.IntN(10) {
		case 0:
			return status.Errorf(status.Transient, "503")
		case 1:
			return status.Errorf(status.Corrupt, "short")
		}
		return nil
	})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			p := make([]byte, 90_000)
			for range 1250 {
				k := rng.IntN(len(refs))
				ctx, cancel := context.WithCancel(context.Background())
				if rng.IntN(3) == 0 {
					cancel()
				}
				s, err := f.Segment(ctx, refs[k])
				pos := rng.Int64N(int64(len(datas[k]) - len(p)))
				if err == nil {
					err = s.Read(ctx, p, pos)
				}
				if err == nil && !bytes.Equal(p, datas[k][pos:pos+int64(len(p))]) {
					t.Error("wrong bytes")
				}
				cancel()
			}
		})
	}
	wg.Wait()
	m.set(nil)
	atRest(t, f)
}
