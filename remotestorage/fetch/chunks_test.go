package fetch

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/budget"
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

// What the broker gives up after 500 ms is there when it asks again: with a store that takes 400 ms hardly a fetch fails, with one that
// takes 2 s one in sequence waits for what the one before it asked for, nothing is fetched twice, and none of it is logged as an error.
func TestSlowStoresMakeProgress(t *testing.T) {
	for latency, most := range map[time.Duration]int{400 * time.Millisecond: 1, 2 * time.Second: 4} {
		synctest.Test(t, func(t *testing.T) {
			m, f := setup(t, func(c *Config) { c.Hedge = false })
			var logged bytes.Buffer
			f.log = slog.New(slog.NewTextHandler(&logged, nil))
			ref, data := m.put(t, 1, 3<<20)
			_, side := ref.Keys()
			m.set(func(ctx context.Context, _ string) error { time.Sleep(latency); return nil })
			p := make([]byte, 100_000)
			inVain := 0 // fetches in a row
			for pos := 0; pos < len(data); {
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				s, _, err := f.Open(ctx, ref, int64(pos), -1)
				var n int
				if err == nil {
					n, err = s.Next(ctx, p)
				}
				cancel()
				switch inVain++; {
				case err == nil:
					pos, inVain = pos+n, 0
				case !status.Is(err, status.Transient):
					t.Fatal(err)
				case inVain > most:
					t.Fatalf("%d fetches in a row were in vain with %v latency, at %d of %d", inVain, latency, pos, len(data))
				}
			}
			if total(m.gets) != len(data) || m.count(side) != 1 {
				t.Errorf("%d bytes fetched for %d, the sidecar %d times", total(m.gets), len(data), m.count(side))
			}
			if logged.Len() > 0 {
				t.Errorf("logged: %s", logged.String())
			}
			f.Close(time.Minute)
		})
	}
}

// One failure of each kind for each object, then a hundred readers of it: all succeed, with one load, and none gets the old failure.
func TestFailuresPoisonNothing(t *testing.T) {
	for name, failure := range map[string]error{
		"503": status.Errorf(status.Throttled, "503"), "reset": status.Errorf(status.Transient, "reset"), "timeout": nil,
		"short": status.Errorf(status.Corrupt, "short"), "missing": status.Errorf(status.NotFound, "404"),
	} {
		for _, which := range []string{"log", "sidecar"} {
			t.Run(name+" "+which, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { poison(t, which, failure) })
			})
		}
	}
}

// poison lets the first load of an object fail, by the deadline of the fetcher if failure is nil.
func poison(t *testing.T, which string, failure error) {
	m, f := setup(t, func(c *Config) { c.Deadline, c.Hedge = time.Second, false })
	defer f.Close(time.Minute)
	ref, data := m.put(t, 1, stored.MinChunkSize)
	log, side := ref.Keys()
	key, class := map[string]string{"log": log, "sidecar": side}[which], status.Transient
	if failure != nil {
		class = status.Of(failure)
	}
	if which == "log" { // else the first bytes are asked for beside the sidecar, and then once more
		if _, err := f.Sidecar(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
	}
	m.set(func(ctx context.Context, k string) error {
		if k != key {
			return nil
		}
		if failure == nil {
			<-ctx.Done()
			return status.Wrapf(ctx.Err(), "stalled")
		}
		return failure
	})
	if err := first(t.Context(), f, ref, 0, data); status.Of(err) != class {
		t.Fatalf("got %v, want %v", err, class)
	}
	synctest.Wait()
	m.set(func(context.Context, string) error { time.Sleep(time.Millisecond); return nil })
	before := m.count(key)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if err := first(t.Context(), f, ref, 7, data); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := m.count(key) - before; n != 1 {
		t.Errorf("%d loads", n)
	}
	atRest(t, f)
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

// Ten thousand reads, half of them cancelled, failing or timed out: everything that is lent, waited for or counted as under way is idle
// afterwards.
func TestEveryBudgetIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, f := setup(t, func(c *Config) { c.ParallelGets, c.ReadAhead, c.GetBytes = 3, 1<<20, 1<<20 })
		f.chunks.mem = newBuffers("test", 40*stored.MinChunkSize)
		f.sidecars.mem = budget.NewBytes("test", 2<<10) // two sidecars
		var refs []Ref
		var datas [][]byte
		for i := range 4 {
			r, d := m.put(t, byte(i+1), 30*stored.MinChunkSize+i)
			refs, datas = append(refs, r), append(datas, d)
		}
		m.set(func(ctx context.Context, _ string) error {
			budget.Sleep(ctx, rand.N(10*time.Millisecond))
			switch rand.IntN(6) {
			case 0:
				return status.Errorf(status.Transient, "503")
			case 1:
				return status.Errorf(status.Corrupt, "short")
			}
			return nil
		})
		var wg sync.WaitGroup
		var ended [status.Internal + 1]atomic.Int64 // by class
		for g := range 8 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 1))
				for range 1250 {
					k := rng.IntN(len(refs))
					ended[status.Of(anyRead(t, f, rng, refs[k], datas[k]))].Add(1)
				}
			})
		}
		wg.Wait()
		m.set(nil)
		synctest.Wait()
		ok, all := ended[status.OK].Load(), int64(0)
		for i := range ended {
			all += ended[i].Load()
		}
		if all != 10_000 || ok > 6000 || ok < 1000 || min(ended[status.Cancelled].Load(), ended[status.Transient].Load(), ended[status.Corrupt].Load()) < 500 {
			t.Errorf("%d of %d reads succeeded; cancelled %d, failed or timed out %d, short %d", ok, all,
				ended[status.Cancelled].Load(), ended[status.Transient].Load(), ended[status.Corrupt].Load())
		}
		atRest(t, f)
		var cached int64
		for key, e := range f.sidecars.entries {
			if cached += e.size; e.refs != 0 {
				t.Errorf("sidecar %s has %d users", key, e.refs)
			}
		}
		if f.sidecars.wanted != 0 || f.sidecars.used() != cached {
			t.Errorf("sidecars: %d bytes wanted, %d lent, %d cached", f.sidecars.wanted, f.sidecars.used(), cached)
		}
		if n := f.tasks.Running(); n != 0 || f.decoding.Used() != 0 {
			t.Errorf("%d tasks run, %d chunks are decoded", n, f.decoding.Used())
		}
		f.Close(time.Minute)
	})
}

// anyRead reads a piece of a segment as a stream or by position, and gives up at once, soon, or not at all.
func anyRead(t *testing.T, f *Fetcher, rng *rand.Rand, ref Ref, data []byte) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	switch rng.IntN(8) {
	case 0:
		cancel()
	case 1:
		defer time.AfterFunc(time.Duration(rng.Int64N(5e6)), cancel).Stop()
	case 2:
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.Int64N(5e6)))
		defer cancel()
	}
	p := make([]byte, 90_000)
	pos := rng.Int64N(int64(len(data) - len(p)))
	n, err := len(p), error(nil)
	if rng.IntN(2) == 0 {
		var s *Segment
		if s, err = f.Segment(ctx, ref); err == nil {
			err = s.Read(ctx, p, pos)
		}
	} else {
		var s *Stream
		if s, _, err = f.Open(ctx, ref, pos, -1); err == nil {
			n, err = s.Next(ctx, p)
			s.Close()
		}
	}
	if err == nil && !bytes.Equal(p[:n], data[pos:pos+int64(n)]) {
		t.Error("wrong bytes")
	}
	return err
}
