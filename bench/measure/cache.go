package measure

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Dropped is what DropCache did.
type Dropped struct {
	Files int
	Bytes int64 // of the files
	Left  int64 // still in the page cache afterwards; -1 when the kernel cannot tell (before 6.5)
}

// DropCache writes back and drops the page cache of all files below dir that match keeps true for. It needs no privilege and touches
// no other file; pages that a process has mapped stay.
func DropCache(dir string, match func(path string) bool) (Dropped, error) {
	var d Dropped
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile by its owner
			return nil
		}
		if err != nil || !e.Type().IsRegular() || !match(path) {
			return err
		}
		return d.drop(path)
	})
	return d, err
}

func (d *Dropped) drop(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	fd := int(f.Fd())
	// Only clean pages are dropped.
	if err := unix.Fdatasync(fd); err != nil {
		return &fs.PathError{Op: "fdatasync", Path: path, Err: err}
	}
	if err := unix.Fadvise(fd, 0, 0, unix.FADV_DONTNEED); err != nil {
		return &fs.PathError{Op: "fadvise", Path: path, Err: err}
	}
	d.Files++
	d.Bytes += info.Size()
	if d.Left >= 0 {
		d.Left = addCached(d.Left, fd)
	}
	return nil
}

// addCached adds a file's bytes in the page cache, or returns -1 when they are not known.
func addCached(sum int64, fd int) int64 {
	var c unix.Cachestat_t
	if err := unix.Cachestat(uint(fd), &unix.CachestatRange{}, &c, 0); err != nil {
		return -1
	}
	return sum + int64(c.Cache)*int64(os.Getpagesize())
}
