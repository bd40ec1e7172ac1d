package reclaim

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage/stored"
)

func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func segment(n byte) stored.Identity {
	return stored.Identity{TopicID: [16]byte{1}, Partition: 3, SegmentID: [16]byte{n, 1}, BaseOffset: int64(n) * 100}
}

func config(dir string) Config {
	c := DefaultConfig()
	c.Dir, c.Interval, c.MaxBackoff = dir, 10*time.Millisecond, 40*time.Millisecond
	return c
}

func open(t testing.TB, dir string, store Deleter, holds Holds) *Collector {
	t.Helper()
	c, err := Open(config(dir), store, Deps{Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: telemetry.NewSet(), Holds: holds})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// fill stores both objects of segments.
func fill(t testing.TB, store objectstore.Store, ids ...stored.Identity) {
	t.Helper()
	for _, id := range ids {
		log, sidecar := id.Keys()
		for _, k := range []string{log, sidecar} {
			if _, err := store.Put(context.Background(), k, bytes.NewReader([]byte(k)), objectstore.Condition{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func exists(t testing.TB, store objectstore.Reader, id stored.Identity) int {
	t.Helper()
	n := 0
	log, sidecar := id.Keys()
	for _, k := range []string{log, sidecar} {
		switch _, err := store.Head(context.Background(), k); status.Of(err) {
		case status.OK:
			n++
		case status.NotFound:
		default:
			t.Fatal(err)
		}
	}
	return n
}

func TestDeleteRemovesObjectsLater(t *testing.T) {
	store := storetest.NewMemory()
	fill(t, store, segment(1), segment(2))
	c := open(t, t.TempDir(), store, nil)
	for range 3 {
		if err := c.Delete(segment(1), 200); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "both objects are gone", func() bool { return exists(t, store, segment(1)) == 0 })
	if exists(t, store, segment(2)) != 2 {
		t.Error("another segment lost an object")
	}
	if err := c.Delete(segment(1), 200); err != nil {
		t.Errorf("delete of what is gone: %v", err)
	}
	until(t, "nothing is pending", func() bool { n, _, _ := c.stats(); return n == 0 })
}

func TestDeleteAsksNothingOfTheStore(t *testing.T) {
	store := storetest.Faulty(storetest.NewMemory(), storetest.Fault{Times: -1, Effect: storetest.Stall})
	c := open(t, t.TempDir(), store, nil)
	start := time.Now()
	for n := range 200 {
		if err := c.Delete(segment(byte(n)), 1); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("200 deletes with a store that hangs: %v", time.Since(start))
	if n, _, _ := c.stats(); n != 200 {
		t.Errorf("%d pending, want 200", n)
	}
}

// Killed before the collector ran: the next process goes on.
func TestTombstonesSurviveARestart(t *testing.T) {
	store, dir := storetest.NewMemory(), t.TempDir()
	fill(t, store, segment(1), segment(2))
	j, _, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.append(wantedGone, Tombstone{Identity: segment(1), End: 200}); err != nil {
		t.Fatal(err)
	}
	if _, err := j.f.WriteAt([]byte("torn record"), j.size); err != nil {
		t.Fatal(err)
	}
	j.close()
	open(t, dir, store, nil)
	until(t, "both objects are gone", func() bool { return exists(t, store, segment(1)) == 0 })
	if exists(t, store, segment(2)) != 2 {
		t.Error("a segment that nobody deleted lost an object")
	}
}

func TestSidecarGoesFirst(t *testing.T) {
	store := storetest.NewMemory()
	faulty := storetest.Faulty(store, storetest.Fault{Op: storetest.Delete, Key: ".log", Times: 3})
	fill(t, store, segment(1))
	c := open(t, t.TempDir(), faulty, nil)
	if err := c.Delete(segment(1), 1); err != nil {
		t.Fatal(err)
	}
	_, sidecar := segment(1).Keys()
	until(t, "all is gone", func() bool {
		if _, err := store.Head(context.Background(), sidecar); err == nil && exists(t, store, segment(1)) == 1 {
			t.Fatal("the log object went first")
		}
		return exists(t, store, segment(1)) == 0
	})
}

func TestStoreDownAndBack(t *testing.T) {
	store := storetest.NewMemory()
	faulty := storetest.Faulty(store, storetest.Fault{Op: storetest.Delete, Times: -1})
	fill(t, store, segment(1))
	c := open(t, t.TempDir(), faulty, nil)
	if err := c.Delete(segment(1), 1); err != nil {
		t.Fatal(err)
	}
	until(t, "it was tried three times", func() bool { return faulty.Count(storetest.Delete) >= 3 })
	if exists(t, store, segment(1)) != 2 {
		t.Error("objects are gone although the store is down")
	}
	faulty.Heal()
	until(t, "both objects are gone", func() bool { return exists(t, store, segment(1)) == 0 })
}

type held struct{ atomic.Bool }

func (h *held) Held(_ [16]byte, partition int32, base, end int64) bool {
	return h.Load() && partition == 3 && base == 100 && end == 200
}

func TestDeleteAfterWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := storetest.NewMemory()
		soon, late := segment(1), segment(2)
		fill(t, mem, soon, late)
		dir := t.TempDir()
		c := open(t, dir, mem, nil)
		if err := c.DeleteAfter(late, 9, time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(soon, 9); err != nil {
			t.Fatal(err)
		}
		left := func() int {
			page, _, err := mem.List(context.Background(), "", "", 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(page)
		}
		time.Sleep(30 * time.Second) // virtual, as below
		if left() != 2 {
			t.Errorf("%d objects after half of the time, want those of one segment", left())
		}
		c.Close()
		c = open(t, dir, mem, nil) // the time is kept
		time.Sleep(20 * time.Second)
		if left() != 2 {
			t.Errorf("%d objects after a restart, before the time", left())
		}
		time.Sleep(20 * time.Second)
		if left() != 0 {
			t.Errorf("%d objects after the time", left())
		}
		c.Close()
	})
}

// refusing is a store that does not remove some keys.
type refusing struct {
	objectstore.Store
	keys  map[string]bool
	class status.Class
	calls atomic.Int64
}

func (r *refusing) Delete(ctx context.Context, keys ...string) error {
	r.calls.Add(1)
	for _, k := range keys {
		if r.keys[k] {
			return status.Errorf(r.class, "%s is locked", k)
		}
	}
	return r.Store.Delete(ctx, keys...)
}

// An object that cannot be removed keeps no other, and is asked for ever more rarely; a store that removes nothing is not asked
// for each object.
func TestOneObjectThatCannotBeRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := storetest.NewMemory()
		locked, _ := segment(1).Keys()
		store := &refusing{Store: mem, keys: map[string]bool{locked: true}, class: status.Invalid}
		c := open(t, t.TempDir(), store, nil)
		for n := range byte(30) {
			fill(t, mem, segment(n))
			if err := c.Delete(segment(n), 9999); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute) // virtual
		left, _, err := mem.List(t.Context(), "", "", 100)
		if err != nil || len(left) != 1 || left[0].Key != locked {
			t.Errorf("%v left, %v", left, err)
		}
		time.Sleep(time.Hour)
		before := store.calls.Load()
		time.Sleep(time.Hour)
		if more := store.calls.Load() - before; more > 20 {
			t.Errorf("asked %d times in an hour for an object that cannot be removed", more)
		}
		store.keys = nil
		time.Sleep(2 * refusedMost)
		if n := len(c.Pending()); n != 0 {
			t.Errorf("%d pending after the lock went", n)
		}
		c.Close()
	})
}

// oneByOne is a store that refuses batches.
type oneByOne struct{ objectstore.Store }

func (o oneByOne) Delete(ctx context.Context, keys ...string) error {
	if len(keys) > 1 {
		return status.Errorf(status.Invalid, "no batches")
	}
	return o.Store.Delete(ctx, keys...)
}

// What was removed one by one was removed: it is no error, and no reason to ask more seldom.
func TestABatchThatIsRemovedOneByOneIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem, set := storetest.NewMemory(), telemetry.NewSet()
		cfg := config(t.TempDir())
		cfg.Interval, cfg.MaxBackoff = time.Second, time.Hour
		c, err := Open(cfg, oneByOne{mem}, Deps{Log: slog.New(slog.DiscardHandler), Metrics: set})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			for n := range byte(4) {
				fill(t, mem, segment(n))
				if err := c.DeleteAfter(segment(n), 9999, time.Second); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(3 * time.Second) // virtual
			if n := len(c.Pending()); n != 0 {
				t.Fatalf("%d pending", n)
			}
		}
		var text strings.Builder
		if err := set.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text.String()) {
			if strings.Contains(line, "delete_errors_total{") && !strings.HasSuffix(line, " 0\n") {
				t.Error(line)
			}
		}
		c.Close()
	})
}

func TestAStoreThatRemovesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := storetest.NewMemory()
		store := &refusing{Store: mem, keys: map[string]bool{}, class: status.Invalid}
		for n := range byte(200) {
			log, sidecar := segment(n).Keys()
			store.keys[log], store.keys[sidecar] = true, true
		}
		cfg := config(t.TempDir())
		cfg.Interval, cfg.MaxBackoff = time.Second, time.Minute
		c, err := Open(cfg, store, Deps{Log: slog.New(slog.DiscardHandler), Metrics: telemetry.NewSet()})
		if err != nil {
			t.Fatal(err)
		}
		for n := range byte(200) {
			if err := c.Delete(segment(n), 9999); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour) // virtual
		if n := store.calls.Load(); n > 1000 {
			t.Errorf("asked %d times in an hour", n)
		}
		c.Close()
	})
}

func TestHeldSegmentsStay(t *testing.T) {
	store, h := storetest.NewMemory(), &held{}
	h.Store(true)
	fill(t, store, segment(1), segment(2))
	c := open(t, t.TempDir(), store, h)
	for _, n := range []byte{1, 2} {
		if err := c.Delete(segment(n), int64(n)*100+100); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the free one is gone", func() bool { return exists(t, store, segment(2)) == 0 })
	until(t, "the held one is counted", func() bool { _, n, _ := c.stats(); return n == 1 })
	if exists(t, store, segment(1)) != 2 {
		t.Error("the held segment lost an object")
	}
	h.Store(false)
	c.Wake()
	until(t, "the released one is gone", func() bool { return exists(t, store, segment(1)) == 0 })
}

func TestTidy(t *testing.T) {
	store, dir := storetest.NewMemory(), t.TempDir()
	c := open(t, dir, store, nil)
	for n := range 2000 {
		id := segment(1)
		id.SegmentID = [16]byte{byte(n), byte(n >> 8), 7}
		if err := c.Delete(id, 1); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the journal is small again", func() bool {
		return len(c.Pending()) == 0 && c.write.size() <= tidyAbove
	})
	if err := c.Delete(segment(9), 1); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := c.Delete(segment(9), 1); !status.Is(err, status.Closed) {
		t.Errorf("after close: %v, want Closed", err)
	}
	if _, _, err := openJournal(dir); err != nil {
		t.Errorf("the rewritten journal: %v", err)
	}
}

func TestOneInstancePerDirectory(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, storetest.NewMemory(), nil)
	_, err := Open(config(dir), storetest.NewMemory(), Deps{Log: slog.Default(), Metrics: telemetry.NewSet()})
	if !status.Is(err, status.Invalid) {
		t.Errorf("second instance: %v, want Invalid", err)
	}
}
