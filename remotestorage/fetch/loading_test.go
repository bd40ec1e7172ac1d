package fetch

import (
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/telemetry"
	"tidemark/remotestorage/fetch/diskcache"
)

// flaky is a disk cache that forgets and damages chunks as it is told.
type flaky struct {
	Disk
	mu    sync.Mutex
	lost  map[int]bool
	wrong map[int]bool

	spoiled string // an object
}

func (d *flaky) Has(object string, chunk, n int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.lost[chunk] && d.Disk.Has(object, chunk, n)
}

func (d *flaky) Get(object string, chunk int, dst []byte) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lost[chunk] || !d.Disk.Get(object, chunk, dst) {
		return false
	}
	if d.wrong[chunk] && strings.HasSuffix(object, ".log") || object == d.spoiled {
		dst[0] ^= 1
	}
	return true
}

// With a disk cache a segment that was read once is read again without the store, by the next process too; what the disk has lost or
// damaged, and nothing else at the ends of a run, is asked of the store.
func TestReadFromDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{objects: map[string][]byte{}, reads: map[string]int{}}
		ref, data := m.put(t, 1, 3<<20+123)
		cfg := diskcache.Config{Dir: t.TempDir(), Bytes: diskcache.MinBytes}
		d := &flaky{lost: map[int]bool{}, wrong: map[int]bool{}}
		life := func() (gets []int) {
			set := telemetry.NewSet()
			log := slog.New(slog.NewTextHandler(io.Discard, nil))
			cache, err := diskcache.Open(cfg, diskcache.Deps{Log: log, Metrics: set})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			d.Disk = cache
			f := New(DefaultConfig(), m, Deps{Log: log, Metrics: set, Disk: d})
			sequence(t, f, ref, data, 150_000)
			atRest(t, f)
			synctest.Wait()
			if !f.Close(time.Minute) || !cache.Close(time.Minute) {
				t.Error("did not end")
			}
			gets, m.gets = m.gets, nil
			return gets
		}
		if n := total(life()); n != len(data) {
			t.Errorf("%d bytes asked of the store at first, the segment has %d", n, len(data))
		}
		_, side := ref.Keys()
		if gets := life(); len(gets) != 0 || m.count(side) != 1 {
			t.Errorf("asked of the store although it is on disk: %v, and %d times for the sidecar", gets, m.count(side))
		}
		d.spoiled = side
		if life(); m.count(side) != 2 {
			t.Errorf("%d GETs of a sidecar that is damaged on disk, want one more", m.count(side))
		}
		d.spoiled = ""
		d.wrong[0] = true
		d.lost[20] = true
		log, _ := ref.Keys()
		before := m.count(log)
		if n := total(life()); n < 1<<16 || n > len(data)/2 || m.count(log) == before {
			t.Errorf("%d bytes asked of the store for one damaged and one lost chunk of 64 KiB", n)
		}
	})
}
