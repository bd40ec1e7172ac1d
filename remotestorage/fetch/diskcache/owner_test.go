package diskcache

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// sick is a disk whose writes and reads can be made to fail.
type sick struct {
	mu          sync.Mutex
	write, read error
}

func (s *sick) set(write, read error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write, s.read = write, read
}

func (s *sick) errs() (write, read error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write, s.read
}

func (s *sick) Create(path string) (file, error) {
	if write, _ := s.errs(); write != nil {
		return nil, write
	}
	f, err := disk{}.Create(path)
	return sickFile{f, s}, err
}

func (s *sick) Open(path string) (file, error) {
	f, err := disk{}.Open(path)
	return sickFile{f, s}, err
}

func (s *sick) Remove(path string) error { return disk{}.Remove(path) }

type sickFile struct {
	file
	s *sick
}

func (f sickFile) WriteAt(p []byte, off int64) (int, error) {
	if write, _ := f.s.errs(); write != nil {
		n, _ := f.file.WriteAt(p[:len(p)/2], off)
		return n, write
	}
	return f.file.WriteAt(p, off)
}

func (f sickFile) ReadAt(p []byte, off int64) (int, error) {
	if _, read := f.s.errs(); read != nil {
		return 0, read
	}
	return f.file.ReadAt(p, off)
}

func (f fixture) events(name string) int { return strings.Count(f.log.String(), "msg="+name) }

// A disk that takes no more is one event, however often it is tried; what is on it is served; it is used again by itself.
func TestFullAndReadOnlyDisk(t *testing.T) {
	for _, fault := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EIO} {
		synctest.Test(t, func(t *testing.T) {
			d := &sick{}
			f := start(t, t.TempDir(), small, d)
			defer f.stop()
			data := content("x", 0, 0, 1200)
			for i := range 9 {
				f.put("x", i, data)
			}
			d.set(fault, nil)
			for i := range 100 {
				f.put("y", i, data)
				time.Sleep(time.Minute)
			}
			if n := f.events("diskcache.down"); n != 1 || f.metric("fetch_disk_usable{}") > 1 {
				t.Errorf("%v: %d events", fault, n)
			}
			if _, ok := f.get("x", 8, len(data)); ok == (fault == syscall.ENOSPC) {
				t.Errorf("%v: served %v; a full disk gets its bytes back, any other keeps them", fault, ok)
			}
			d.set(nil, nil)
			time.Sleep(lastPause + lookEvery)
			f.put("z", 0, data)
			if p, ok := f.get("z", 0, len(data)); !ok || !bytes.Equal(p, data) || f.events("diskcache.up") != 1 || f.metric("fetch_disk_usable{}") != 1 {
				t.Errorf("%v is over, not used again: %s", fault, f.log)
			}
		})
	}
}

// A file that cannot be read goes.
func TestFileThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &sick{}
		f := start(t, t.TempDir(), small, d)
		defer f.stop()
		f.put("x", 0, []byte("12345"))
		f.put("x", 1, []byte("12345"))
		d.set(nil, syscall.EIO)
		if _, ok := f.get("x", 0, 5); ok {
			t.Error("a hit of what cannot be read")
		}
		synctest.Wait()
		d.set(nil, nil)
		if f.Has("x", 1, 5) || f.events("diskcache.down") != 1 || f.metric("fetch_disk_damaged_blocks_total{}") != 1 {
			t.Errorf("the file is still there: %s", f.log)
		}
		time.Sleep(firstPause + lookEvery)
		f.put("x", 0, []byte("12345"))
		if _, ok := f.get("x", 0, 5); !ok {
			t.Error("not used again")
		}
	})
}

// A directory deleted under the cache is made again; a single file deleted gives its disk back.
func TestDeletedUnderUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "cache")
		f := start(t, dir, small, disk{})
		defer f.stop()
		f.put("x", 0, []byte("12345"))
		if err := os.Remove(filepath.Join(dir, slabName(1))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookEvery + time.Second)
		synctest.Wait()
		if f.Has("x", 0, 5) || f.metric("fetch_disk_bytes{}") != 0 {
			t.Error("the deleted file is still counted")
		}
		f.put("x", 1, []byte("12345"))
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookEvery + firstPause + time.Second)
		f.put("x", 2, []byte("12345"))
		if _, ok := f.get("x", 2, 5); !ok || f.Has("x", 1, 5) || f.events("diskcache.down") != 1 || f.events("diskcache.up") != 1 {
			t.Errorf("after the directory was deleted: %v, %s", ok, f.log)
		}
		if _, err := os.Stat(filepath.Join(dir, lockName)); err != nil {
			t.Error(err)
		}
	})
}

// Of two caches on one directory the second is bypassed until the first ends.
func TestTwoInstances(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		first := start(t, dir, small, disk{})
		second := start(t, dir, small, disk{})
		defer second.stop()
		first.put("x", 0, []byte("12345"))
		second.put("x", 1, []byte("12345"))
		if !strings.Contains(second.log.String(), "in use by another broker") || second.Has("x", 1, 5) || second.metric("fetch_disk_dropped_chunks_total{reason=bypassed}") != 1 {
			t.Errorf("the second works: %s", second.log)
		}
		first.stop()
		time.Sleep(lastPause)
		synctest.Wait()
		if _, ok := second.get("x", 0, 5); !ok {
			t.Errorf("the second does not take over: %s", second.log)
		}
	})
}

// Files that are not slabs of this version are left alone if they have other names, and replaced if not.
func TestForeignFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		newer := encodeSlab(7)
		newer[8] = 9
		for name, data := range map[string][]byte{"notes.txt": []byte("keep"), "slab-1.cache": nil, slabName(7): newer, slabName(8): []byte("short")} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		f := start(t, dir, small, disk{})
		f.put("x", 0, []byte("12345"))
		f.stop()
		for name, want := range map[string]bool{"notes.txt": true, "slab-1.cache": true, slabName(7): false, slabName(8): false, slabName(9): true} {
			if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
				t.Errorf("%s is there: %v", name, err == nil)
			}
		}
	})
}
