package objectstore

import (
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"tidemark/internal/status"
)

func TestFileErrors(t *testing.T) {
	cases := []struct {
		err   error
		class status.Class
		words string
	}{
		{syscall.ENOSPC, status.Transient, "free space"},
		{syscall.EDQUOT, status.Transient, "quota"},
		{syscall.EACCES, status.Invalid, "permission denied"},
		{syscall.EPERM, status.Invalid, "permission denied"},
		{syscall.EROFS, status.Invalid, "read-only"},
		{syscall.ENOTDIR, status.Invalid, "an object or a prefix"},
		{syscall.ENAMETOOLONG, status.Invalid, "path"},
		{syscall.EIO, status.Transient, "put a"},
		{syscall.EMFILE, status.Transient, "put a"},
		{fs.ErrClosed, status.Closed, "closed"},
	}
	for _, c := range cases {
		for _, err := range []error{&fs.PathError{Op: "write", Path: "a", Err: c.err}, &os.LinkError{Op: "link", Old: "a", New: "b", Err: c.err}} {
			got := fileError(err, "put a")
			if status.Of(got) != c.class || !strings.Contains(got.Error(), c.words) || !strings.HasPrefix(got.Error(), "put a: ") {
				t.Errorf("%v: %v %q, want %v with %q", c.err, status.Of(got), got, c.class, c.words)
			}
		}
	}
	for _, err := range []error{syscall.ENOENT, syscall.ENOTDIR} {
		if got := readError(&fs.PathError{Err: err}, "get a"); !status.Is(got, status.NotFound) {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func TestNetworkFileSystemsAreRefused(t *testing.T) {
	for magic, name := range map[uint32]string{0x6969: "NFS", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x65735546: "FUSE"} {
		err := checkMagic("/data", magic)
		if !status.Is(err, status.Unsupported) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "/data") {
			t.Errorf("%x: %v", magic, err)
		}
	}
	for _, magic := range []uint32{0xef53 /* ext4 */, 0x58465342 /* xfs */, 0x9123683e /* btrfs */, 0x01021994 /* tmpfs */, 0x794c7630 /* overlayfs */} {
		if err := checkMagic("/data", magic); err != nil {
			t.Errorf("%x: %v", magic, err)
		}
	}
}
