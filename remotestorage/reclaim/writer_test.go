package reclaim

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// stuck is a file whose disk can hang in a write or a sync.
type stuck struct {
	file
	mu           sync.Mutex
	write, flush chan struct{} // nil: it answers
}

func (s *stuck) at(ch *chan struct{}) {
	s.mu.Lock()
	c := *ch
	s.mu.Unlock()
	if c != nil {
		<-c
	}
}

func (s *stuck) WriteAt(p []byte, off int64) (int, error) {
	s.at(&s.write)
	return s.file.WriteAt(p, off)
}

func (s *stuck) Sync() error {
	s.at(&s.flush)
	return s.file.Sync()
}

// hang makes the disk hang until release.
func (s *stuck) hang(ch *chan struct{}) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan struct{})
	*ch = c
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		*ch = nil
		close(c)
	}
}

func stuckCollector(t *testing.T, dir string) (*Collector, *stuck, *storetest.Memory) {
	t.Helper()
	j, r, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	disk := &stuck{file: j.f}
	j.f = disk
	mem := storetest.NewMemory()
	return start(config(dir), mem, Deps{Log: slog.New(slog.DiscardHandler), Metrics: telemetry.NewSet()}, j, r), disk, mem
}

// A disk that hangs in a write holds neither who deletes nor who looks; what it takes later counts.
func TestADiskThatHangsInAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		c, disk, mem := stuckCollector(t, dir)
		fill(t, mem, segment(1), segment(2))
		release := disk.hang(&disk.write)
		begin := time.Now()
		err := c.DeleteAfter(segment(1), 200, time.Hour)
		if took := time.Since(begin); !status.Is(err, status.Transient) || !strings.Contains(err.Error(), dir) || took != journalTime {
			t.Errorf("%v after %v, want Transient after %v", err, took, journalTime)
		}
		begin = time.Now()
		for range 3 * mostQueued { // a topic delete that is tried again and again
			for _, n := range []byte{1, 2} {
				if err := c.Delete(segment(n), 300); !status.Is(err, status.Transient) {
					t.Fatal(err)
				}
			}
		}
		if n, _, _ := c.stats(); n != 0 || time.Since(begin) != 0 || len(c.write.queue) != 1 {
			t.Errorf("%d pending, %d queued, waited %v for a disk that is known to hang", n, len(c.write.queue), time.Since(begin))
		}
		release()
		synctest.Wait()
		if n := len(c.Pending()); n != 1 || exists(t, mem, segment(2)) != 0 {
			t.Errorf("%d pending after the disk answered, want the one that waits an hour", n)
		}
		if err := c.Delete(segment(3), 300); err != nil {
			t.Errorf("after the disk answered: %v", err)
		}
		synctest.Wait()
		c.Close()
		c, _, _ = stuckCollector(t, dir)
		if p := c.Pending(); len(p) != 1 || p[0].SegmentID != segment(1).SegmentID {
			t.Errorf("after a restart: %+v", p)
		}
		c.Close()
	})
}

func TestEntriesForAHangingDiskAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disk, _ := stuckCollector(t, t.TempDir())
		release := disk.hang(&disk.write)
		for n := range 2 * mostQueued {
			id := segment(1)
			id.SegmentID = [16]byte{byte(n), byte(n >> 8), 7}
			if err := c.DeleteAfter(id, 1, time.Hour); !status.Is(err, status.Transient) {
				t.Fatal(err)
			}
		}
		if n := len(c.write.queue); n != mostQueued {
			t.Errorf("%d queued, want %d", n, mostQueued)
		}
		release()
		synctest.Wait()
		if n := len(c.Pending()); n != mostQueued+1 {
			t.Errorf("%d pending, want those that were queued and the one that was being written", n)
		}
		c.Close()
	})
}

// A sync may take what it wants: it holds nobody.
func TestADiskThatHangsInASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disk, mem := stuckCollector(t, t.TempDir())
		fill(t, mem, segment(1))
		release := disk.hang(&disk.flush)
		for n := range byte(5) {
			if err := c.Delete(segment(n), 300); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		time.Sleep(time.Minute) // virtual
		if n, _, _ := c.stats(); n != 5 || exists(t, mem, segment(1)) != 2 {
			t.Errorf("%d pending; nothing may be removed before its tombstone is durable", n)
		}
		release()
		time.Sleep(time.Minute)
		if n := len(c.Pending()); n != 0 {
			t.Errorf("%d pending after the disk answered", n)
		}
		c.Close()
	})
}

// Close does not wait for ever, and leaves the journal to the task that hangs in it.
func TestCloseWithAHangingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		c, disk, _ := stuckCollector(t, dir)
		release := disk.hang(&disk.write)
		if err := c.Delete(segment(1), 1); err == nil {
			t.Error("no error")
		}
		begin := time.Now()
		c.Close()
		if took := time.Since(begin); took > 2*closeTime {
			t.Errorf("close took %v", took)
		}
		if _, _, err := openJournal(dir); !status.Is(err, status.Invalid) {
			t.Errorf("the directory is free while a task is in it: %v", err)
		}
		release()
		synctest.Wait()
		j, r, err := openJournal(dir)
		if err != nil || len(r.pending) != 1 {
			t.Fatalf("%v, %d pending", err, len(r.pending))
		}
		j.close()
	})
}
