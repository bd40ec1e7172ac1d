package diskcache

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
)

// allocated is the disk that the files of a directory take.
func allocated(t *testing.T, dir string) (bytes int64, slabs int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "slab-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		var st syscall.Stat_t
		if err := syscall.Stat(name, &st); err != nil {
			t.Fatal(err)
		}
		bytes += st.Blocks * 512
	}
	return bytes, len(names)
}

// medium is a cache of eight slabs of 256 KiB.
var medium = sizes{capacity: 2 << 20, slab: 256 << 10, stage: 128 << 10}

// The blocks of a dropped object are gone at once and after a restart, their disk is given back, and those of others are there.
func TestDroppedObjectsGiveTheirDiskBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := start(t, dir, medium, disk{})
		const n, size = 20, 32 << 10
		for i := range n {
			f.put("stays", i, content("stays", i, 0, size))
			f.put("goes", i, content("goes", i, 0, size))
		}
		before, _ := allocated(t, dir)
		accounted, _ := f.used()
		f.Drop("goes", "never there")
		synctest.Wait()
		check := func(when string) {
			t.Helper()
			for i := range n {
				if p, ok := f.get("stays", i, size); !ok || !bytes.Equal(p, content("stays", i, 0, size)) {
					t.Fatalf("%s: chunk %d of an object that stays is gone", when, i)
				}
				if f.Has("goes", i, size) {
					t.Fatalf("%s: chunk %d of a dropped object is there", when, i)
				}
			}
			after, _ := allocated(t, dir)
			if saved := before - after; saved < n*(size-8<<10) {
				t.Errorf("%s: %d bytes of disk were given back, dropped were %d", when, saved, n*size)
			}
			if now, _ := f.used(); accounted-now < n*(size-8<<10) {
				t.Errorf("%s: %.0f bytes in use, before %.0f", when, now, accounted)
			}
			if damaged := f.metric("fetch_disk_damaged_blocks_total{}"); damaged != 0 {
				t.Errorf("%s: %.0f blocks count as damaged", when, damaged)
			}
		}
		check("at once")
		if d := f.metric("fetch_disk_deleted_blocks_total{}"); d != n {
			t.Errorf("%.0f blocks were given up, want %d", d, n)
		}
		f.stop()
		f = start(t, dir, medium, disk{})
		check("after a restart")
		f.put("goes", 3, content("goes", 3, 1, size)) // as a new object of that name would be
		f.stop()
		f = start(t, dir, medium, disk{})
		if p, ok := f.get("goes", 3, size); !ok || !bytes.Equal(p, content("goes", 3, 1, size)) {
			t.Error("what was put after the drop is gone")
		}
		f.stop()
	})
}

// A file that nothing is needed of goes with the objects in it.
func TestFilesOfDroppedObjectsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := start(t, dir, medium, disk{})
		var objects []string
		for i := range 25 {
			object := fmt.Sprint("object-", i)
			objects = append(objects, object)
			f.put(object, 0, content(object, 0, 0, 32<<10))
		}
		if _, slabs := allocated(t, dir); slabs < 3 {
			t.Fatalf("%d files", slabs)
		}
		for _, object := range objects {
			f.Drop(object)
		}
		synctest.Wait()
		if used, blocks := f.used(); blocks != 0 || used > 64<<10 {
			t.Errorf("%.0f blocks, %.0f bytes", blocks, used)
		}
		if _, slabs := allocated(t, dir); slabs != 1 {
			t.Errorf("%d files, want only the one that is written", slabs)
		}
		f.stop()
		f = start(t, dir, medium, disk{})
		if _, blocks := f.used(); blocks != 0 {
			t.Errorf("%.0f blocks after a restart", blocks)
		}
		f.stop()
	})
}

// holeless is a disk whose file system has no holes.
type holeless struct{ disk }

func (holeless) Create(path string) (file, error) {
	f, err := disk{}.Create(path)
	return solid{f}, err
}

func (holeless) Open(path string) (file, error) {
	f, err := disk{}.Open(path)
	return solid{f}, err
}

type solid struct{ file }

func (solid) Punch(int64, int64) error { return syscall.EOPNOTSUPP }

// Without holes dropped blocks are gone all the same, and what the cache counts is what its files take.
func TestDropWithoutHoles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		f := start(t, dir, medium, holeless{})
		for i := range 3 {
			f.put("goes", i, content("goes", i, 0, 32<<10))
			f.put("stays", i, content("stays", i, 0, 32<<10))
		}
		f.Drop("goes")
		synctest.Wait()
		f.stop()
		f = start(t, dir, medium, holeless{})
		var size int64
		names, _ := filepath.Glob(filepath.Join(dir, "slab-*"))
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
		if used, blocks := f.used(); blocks != 3 || used != float64(size) || f.Has("goes", 1, 32<<10) {
			t.Errorf("%.0f blocks, %.0f bytes of %d", blocks, used, size)
		}
		f.stop()
	})
}
