package diskcache

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// file is an open slab file.
type file interface {
	ReadAt(p []byte, off int64) (int, error)
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	Size() (int64, error)
	// Begin asks the system to write [off, off+n) to the disk and does not wait.
	Begin(off, n int64) error
	// Settle waits until [off, off+n) is on the disk and drops it from the page cache.
	Settle(off, n int64) error
	// Punch gives the disk of [off, off+n) back: it reads as zeros then.
	Punch(off, n int64) error
	Close() error
}

// device opens slab files.
type device interface {
	Create(path string) (file, error)
	Open(path string) (file, error)
	Remove(path string) error
}

// disk is the device of the operating system.
type disk struct{}

func (disk) Create(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

func (disk) Open(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

func (disk) Remove(path string) error { return os.Remove(path) }

type diskFile struct{ *os.File }

func (f diskFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f diskFile) Begin(off, n int64) error {
	return known(unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE))
}

func (f diskFile) Settle(off, n int64) error {
	err := known(unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER))
	if err != nil {
		return err
	}
	_ = unix.Fadvise(int(f.Fd()), off, n, unix.FADV_DONTNEED) // advice
	return nil
}

func (f diskFile) Punch(off, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
}

// known drops the errors of a file system that does not have the call: the cache works without it.
func known(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ESPIPE) || errors.Is(err, syscall.EOPNOTSUPP) {
		return nil
	}
	return err
}
