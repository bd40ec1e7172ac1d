package remotestorage

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// A failure at each store call, with and without the write having happened: nothing of the attempt is readable, nothing
// of it stays, and the retry, which has a new segment id, succeeds.
func TestEveryStoreCallMayFail(t *testing.T) {
	type effect struct {
		name string
		storetest.Fault
	}
	for _, key := range []string{".log", ".sidecar"} {
		for _, e := range []effect{
			{"transient", storetest.Fault{}},
			{"refused", storetest.Fault{Class: status.Invalid}},
			{"lost reply", storetest.Fault{Effect: storetest.LostReply}},
			{"panic", storetest.Fault{Effect: storetest.Pass, Run: func() { panic("store") }}},
		} {
			t.Run(key+" "+e.name, func(t *testing.T) {
				mem := storetest.NewMemory()
				e.Op, e.Key = storetest.Put, key
				m, c := start(t, config(t), storetest.Faulty(mem, e.Fault), Deps{}), segment(t, 1000)
				custom, err := m.Copy(deadline(t), c.Segment, c.paths)
				if err == nil || custom != nil {
					t.Fatalf("copy: %x, %v", custom, err)
				}
				if !strings.Contains(err.Error(), "flights-3") {
					t.Errorf("the error does not name the partition: %v", err)
				}
				nothingStays(t, m, mem, c)
				if n := metric(t, m, "copy_errors_total"); n != 1 {
					t.Errorf("%v errors counted", n)
				}
				c.ID[5]++
				copied(t, m, &c)
				readBack(t, m, c)
			})
		}
	}
}

func nothingStays(t testing.TB, m *Manager, mem *storetest.Memory, c closed) {
	t.Helper()
	if _, err := m.Index(deadline(t), c.Segment, stored.OffsetIndex); !status.Is(err, status.NotFound) {
		t.Errorf("index after a failed copy: %v, want NotFound", err)
	}
	left, _, err := mem.List(deadline(t), "", "", 10)
	if err != nil || len(left) != 0 {
		t.Errorf("left in the store: %v, %v", left, err)
	}
}

// The store goes away during the copy: what it has of the attempt is never read, and goes when it is back.
func TestCleanUpIsDeferred(t *testing.T) {
	mem := storetest.NewMemory()
	store := storetest.Faulty(mem, storetest.Fault{Op: storetest.Put, Key: ".sidecar", Effect: storetest.LostReply},
		storetest.Fault{Op: storetest.Delete, Times: -1})
	m, c := start(t, config(t), store, Deps{}), segment(t, 1000)
	m.lateWrite = 100 * time.Millisecond
	if _, err := m.Copy(deadline(t), c.Segment, c.paths); !status.Is(err, status.Unknown) {
		t.Fatalf("copy: %v, want Unknown", err)
	}
	if n := metric(t, m, "copy_cleanups_deferred_total"); n != 1 {
		t.Errorf("%v deferred clean-ups counted", n)
	}
	store.Heal()
	until(t, "the store is empty", func() bool {
		left, _, err := mem.List(deadline(t), "", "", 10)
		return err == nil && len(left) == 0
	})
}

// A put that the store applies after the attempt was given up and cleaned up is found and removed.
func TestAPutThatIsAppliedLate(t *testing.T) {
	mem := storetest.NewMemory()
	m, c := start(t, config(t), storetest.Faulty(mem, storetest.Fault{Op: storetest.Put, Key: ".sidecar", Class: status.Unknown}), Deps{}), segment(t, 1000)
	m.lateWrite = 300 * time.Millisecond
	if _, err := m.Copy(deadline(t), c.Segment, c.paths); !status.Is(err, status.Unknown) {
		t.Fatalf("copy: %v, want Unknown", err)
	}
	nothingStays(t, m, mem, c)
	log, sidecar := c.identity().Keys()
	for _, key := range []string{sidecar, log} {
		if _, err := mem.Put(deadline(t), key, strings.NewReader("late"), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the store is empty", func() bool {
		left, _, err := mem.List(deadline(t), "", "", 10)
		return err == nil && len(left) == 0
	})
}

// Killed between the two objects: there is no sidecar, so there is no segment.
func TestLogObjectAloneIsNoSegment(t *testing.T) {
	mem := storetest.NewMemory()
	cfg, c := config(t), segment(t, 1000)
	m := start(t, cfg, mem, Deps{})
	copied(t, m, &c)
	_, sidecar := c.identity().Keys()
	if err := mem.Delete(deadline(t), sidecar); err != nil {
		t.Fatal(err)
	}
	m.Close(deadline(t))
	m = start(t, cfg, mem, Deps{})
	if _, _, err := m.OpenSegment(deadline(t), c.Segment, nil, 0, -1); !status.Is(err, status.NotFound) {
		t.Errorf("open: %v, want NotFound", err)
	}
}

func TestStallEndsAtTheDeadline(t *testing.T) {
	mem := storetest.NewMemory()
	cfg, c := config(t), segment(t, 1000)
	cfg.CopyDeadline, cfg.CopyMinRate = time.Second, 1<<40
	m := start(t, cfg, storetest.Faulty(mem, storetest.Fault{Op: storetest.Put, Effect: storetest.Stall}), Deps{})
	if _, err := m.Copy(deadline(t), c.Segment, c.paths); !status.Is(err, status.Transient) {
		t.Errorf("copy: %v (%v), want Transient", err, status.Of(err))
	}
	nothingStays(t, m, mem, c)
}

// A limit makes a copy slow and not late: it takes many times its deadline, which does not count the waiting.
func TestALimitedCopyKeepsItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := logtest.NewSegment(0)
		s.Epochs = []kafkalog.EpochStart{{}}
		for len(s.Log) < 4<<20 {
			s.Produce(kafkalog.None, strings.Repeat("k", 64<<10))
		}
		cfg, c := config(t), write(t, s)
		cfg.CopyDeadline, cfg.CopyMinRate, cfg.CopyMaxRate = time.Second, 1<<40, 1<<20
		m := start(t, cfg, fileStore(t), Deps{})
		began := time.Now()
		copied(t, m, &c)
		if took := time.Since(began); took < 7*time.Second || took > 9*time.Second {
			t.Errorf("4 MiB were checked and sent in %v, at 1 MiB/s each", took)
		}
		readBack(t, m, c)
		if n := metric(t, m, "copy_limit_wait_seconds_total"); n < 7 || n > 9 {
			t.Errorf("%v s of waiting are counted", n)
		}
		m.Close(deadline(t))
	})
}

// An interrupt of the copier thread, at the worst moment: the clean-up runs under a context of its own.
func TestCancelCleansUp(t *testing.T) {
	mem := storetest.NewMemory()
	ctx, cancel := context.WithCancel(deadline(t))
	m := start(t, config(t), storetest.Faulty(mem, storetest.Fault{Op: storetest.Put, Key: ".sidecar", Effect: storetest.Stall, Run: cancel}), Deps{})
	c := segment(t, 1000)
	if _, err := m.Copy(ctx, c.Segment, c.paths); !status.Is(err, status.Cancelled) {
		t.Errorf("copy: %v (%v), want Cancelled", err, status.Of(err))
	}
	nothingStays(t, m, mem, c)
}

func TestCloseEndsACopy(t *testing.T) {
	mem := storetest.NewMemory()
	store := storetest.Faulty(mem, storetest.Fault{Op: storetest.Put, Effect: storetest.Stall})
	m, c := start(t, config(t), store, Deps{}), segment(t, 1000)
	done := make(chan error)
	go func() { _, err := m.Copy(context.Background(), c.Segment, c.paths); done <- err }()
	until(t, "the put has begun", func() bool { return store.Count(storetest.Put) == 1 })
	if n, age := m.metrics.flights(); n != 1 || age <= 0 {
		t.Errorf("%d copies in flight since %v", n, age)
	}
	m.Close(deadline(t))
	if err := <-done; !status.Is(err, status.Cancelled) {
		t.Errorf("copy: %v, want Cancelled", err)
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	flip := func(path string, at int) func(testing.TB, *closed) {
		return func(t testing.TB, c *closed) {
			p := map[string]string{"log": c.paths.Log, "index": c.paths.OffsetIndex, "time": c.paths.TimeIndex}[path]
			data, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			data[(at+len(data))%len(data)] ^= 0x80
			if err := os.WriteFile(p, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	cases := map[string]struct {
		damage func(testing.TB, *closed)
		want   status.Class
	}{
		"byte of a batch":   {flip("log", 100), status.Corrupt},
		"last byte":         {flip("log", -1), status.Corrupt},
		"offset index":      {flip("index", 0), status.Corrupt},
		"time index":        {flip("time", 0), status.Corrupt},
		"shorter":           {func(t testing.TB, c *closed) { must(t, os.Truncate(c.paths.Log, c.Size-1)) }, status.Corrupt},
		"cut batch":         {func(t testing.TB, c *closed) { c.Size-- }, status.Corrupt},
		"base above":        {func(t testing.TB, c *closed) { c.BaseOffset++ }, status.Corrupt},
		"end below":         {func(t testing.TB, c *closed) { c.EndOffset-- }, status.Corrupt},
		"no log":            {func(t testing.TB, c *closed) { must(t, os.Remove(c.paths.Log)) }, status.NotFound},
		"no snapshot":       {func(t testing.TB, c *closed) { must(t, os.Remove(c.paths.ProducerSnapshot)) }, status.NotFound},
		"no path":           {func(t testing.TB, c *closed) { c.paths.TimeIndex = "" }, status.NotFound},
		"directory":         {func(t testing.TB, c *closed) { c.paths.Log = c.dir }, status.Invalid},
		"transaction index": {func(t testing.TB, c *closed) { must(t, os.Remove(c.paths.TxnIndex)) }, status.NotFound},
	}
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			store := storetest.Faulty(storetest.NewMemory())
			m, c := start(t, config(t), store, Deps{}), segment(t, 1000)
			x.damage(t, &c)
			_, err := m.Copy(deadline(t), c.Segment, c.paths)
			if !status.Is(err, x.want) {
				t.Errorf("copy: %v (%v), want %v", err, status.Of(err), x.want)
			}
			if n := store.Count(storetest.Put); n != 0 {
				t.Errorf("%d puts before the files were checked", n)
			}
		})
	}
}

// A file that was preallocated, or is longer for another reason: what counts is what Kafka says.
func TestLongerFile(t *testing.T) {
	m, c := start(t, config(t), fileStore(t), Deps{Wanted: func([16]byte) (uint64, bool) { return 1, true }}), segment(t, 1000)
	must(t, os.Truncate(c.paths.Log, c.Size+4096))
	copied(t, m, &c)
	readBack(t, m, c)
	if held := m.Held(); len(held) != 0 {
		t.Errorf("a file with other content is held: %v", held)
	}
}

// A topic that was compacted before it was tiered has segments whose first batches are gone.
func TestGapAtTheBeginning(t *testing.T) {
	m := start(t, config(t), fileStore(t), Deps{})
	s := logtest.NewSegment(100)
	s.Epochs = []kafkalog.EpochStart{{Epoch: 1}}
	s.Add(logtest.Batch{Base: 140, Records: logtest.Values(140, "a", "b")})
	c := write(t, s)
	copied(t, m, &c)
	readBack(t, m, c)
}

// The broker renames the directory of a deleted topic while the copy runs.
func TestDirectoryRenamedDuringTheCopy(t *testing.T) {
	c := segment(t, 1000)
	part := filepath.Dir(c.paths.Log)
	rename := func() { must(t, os.Rename(part, part+".0123456789abcdef-delete")) }
	store := storetest.Faulty(storetest.NewMemory(), storetest.Fault{Op: storetest.Put, Key: ".log", Effect: storetest.Pass, Run: rename})
	m := start(t, config(t), store, Deps{Wanted: func([16]byte) (uint64, bool) { return 1, true }})
	copied(t, m, &c)
	held := m.Held()
	if len(held) != 1 {
		t.Fatalf("held: %v", held)
	}
	must(t, os.RemoveAll(part+".0123456789abcdef-delete")) // the topic is gone, its rows are not
	src, size, closer, err := m.OpenHeld(held[0])
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	n := int64(0)
	if err := kafkalog.Walk(src, size, func(b kafkalog.Batch) error { n = b.NextOffset(); return nil }); err != nil || n != held[0].End {
		t.Errorf("walk to offset %d of %d: %v", n, held[0].End, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
