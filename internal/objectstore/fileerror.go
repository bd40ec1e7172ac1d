package objectstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"tidemark/internal/status"
)

// readError is fileError for reading: what is not there is NotFound, and so is what lies below an object.
func readError(err error, doing string) error {
	if gone(err) {
		return status.Errorf(status.NotFound, "%s: %w", doing, err)
	}
	return fileError(err, doing)
}

// gone tells that there is nothing of a name: no entry, or a file where a directory would have to be.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// fileError gives an error of the file system its class, and words where an operator has to act.
func fileError(err error, doing string) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return status.Errorf(status.Transient, "%s: the file system is full or the quota is used up: free space, writes go on by themselves: %w", doing, err)
	case errors.Is(err, fs.ErrPermission):
		return status.Errorf(status.Invalid, "%s: permission denied: the user of this process must own the store's directory: %w", doing, err)
	case errors.Is(err, syscall.EROFS):
		return status.Errorf(status.Invalid, "%s: the file system is mounted read-only: %w", doing, err)
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR), errors.Is(err, fs.ErrExist):
		return status.Errorf(status.Invalid, "%s: a part of the path is a file, and in a file store a key is an object or a prefix, not both: %w", doing, err)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.EINVAL):
		return status.Errorf(status.Invalid, "%s: the path cannot be used: %w", doing, err)
	case errors.Is(err, fs.ErrClosed):
		return status.Errorf(status.Closed, "%s: the store is closed", doing)
	case escapes(err):
		return status.Errorf(status.Invalid, "%s: a symbolic link in the store leads out of it: %w", doing, err)
	}
	return status.Errorf(status.Transient, "%s: %w", doing, err) // EIO, EMFILE, ENOMEM, ESTALE …
}

// escapes tells os.Root's refusal, which is no exported error: the only error about a path whose cause is no errno.
func escapes(err error) bool {
	var pathError *fs.PathError
	var linkError *os.LinkError
	var errno syscall.Errno
	return (errors.As(err, &pathError) || errors.As(err, &linkError)) && !errors.As(err, &errno)
}

// describe makes the description of a file.
func describe(key string, fi fs.FileInfo) Info {
	info := Info{Key: key, Size: fi.Size(), Modified: fi.ModTime()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		info.ETag = fmt.Sprintf("%x-%x-%x", st.Ino, fi.ModTime().UnixNano(), fi.Size())
	}
	return info
}

// remote are file systems whose other side is, or may be, another host (statfs(2), linux/magic.h). Links and renames
// are not atomic there, or their reply can be lost, or fsync of a directory does nothing.
var remote = map[uint32]string{
	0x6969: "NFS", 0x517b: "SMB", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x5346414f: "AFS", 0x6b414653: "AFS",
	0x73757245: "Coda", 0x564c: "NCP", 0x00c36400: "Ceph", 0x01021997: "9P", 0x0bd00bd0: "Lustre", 0x47504653: "GPFS",
	0x01161970: "GFS2", 0x7461636f: "OCFS2", 0x65735546: "FUSE",
}

func checkFileSystem(dir string) error {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return readError(err, "open file store "+dir)
	}
	return checkMagic(dir, uint32(st.Type))
}

func checkMagic(dir string, magic uint32) error {
	if name, bad := remote[magic]; bad {
		return status.Errorf(status.Unsupported, "file store %s: it lies on %s. The file store is for one host and a local file system "+
			"(ext4, xfs, btrfs, tmpfs), because it relies on atomic links and on fsync: use a local directory, or the S3 store", dir, name)
	}
	return nil
}
