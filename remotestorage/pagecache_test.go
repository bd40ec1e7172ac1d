package remotestorage

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/objectstore/storetest"
)

// coldSegment is a segment and the pages of its log file in the page cache, after the first cold bytes of the file were pushed out of the page cache.
func coldSegment(t *testing.T, cold int64) (c closed, pages func() int64) {
	t.Helper()
	s := logtest.NewSegment(0)
	s.Epochs = []kafkalog.EpochStart{{}}
	for len(s.Log) < 3*residueBlock {
		s.Produce(kafkalog.None, strings.Repeat("k", 256<<10))
	}
	c = write(t, s)
	f, err := os.OpenFile(c.paths.Log, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	pages = func() int64 {
		n, ok := inPageCache(f, 0, c.Size)
		if !ok {
			t.Skip("this kernel does not tell what is in the page cache")
		}
		return n
	}
	all := pages()
	must(t, f.Sync())
	if cold > 0 {
		must(t, unix.Fadvise(int(f.Fd()), 0, cold, unix.FADV_DONTNEED))
		if n := pages(); n > all-min(cold, c.Size)/pageSize {
			t.Skipf("this file system keeps files in memory: %d of %d pages", n, all)
		}
	}
	return c, pages
}

// A copy leaves in the page cache what it found there, and nothing else.
func TestACopyLeavesThePageCacheAsItWas(t *testing.T) {
	for name, cold := range map[string]int64{"backlog": 1 << 40, "hot": 0, "half": residueBlock} {
		c, pages := coldSegment(t, min(cold, 4*residueBlock))
		before := pages()
		m := start(t, config(t), storetest.NewMemory(), Deps{})
		copied(t, m, &c)
		if after := pages(); after != before {
			t.Errorf("%s: %d pages before the copy, %d after it, of %d", name, before, after, (c.Size+pageSize-1)/pageSize)
		}
		want := float64(0)
		if cold > 0 {
			want = float64(min(cold, c.Size))
		}
		if n := metric(t, m, "copy_page_cache_dropped_bytes_total"); n != want {
			t.Errorf("%s: %v bytes dropped, want %v", name, n, want)
		}
	}
}

// What the table side reads next stays.
func TestASegmentForATableStaysInThePageCache(t *testing.T) {
	c, pages := coldSegment(t, 4*residueBlock)
	m := start(t, config(t), storetest.NewMemory(), Deps{Wanted: func([16]byte) (uint64, bool) { return 1, true }})
	copied(t, m, &c)
	if n := pages(); n < c.Size/pageSize {
		t.Errorf("%d pages of %d", n, c.Size/pageSize)
	}
}
