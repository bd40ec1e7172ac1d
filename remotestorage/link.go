package remotestorage

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

const (
	atFDCWD         = -0x64
	atSymlinkFollow = 0x400
)

// link gives an open file another name. It goes through /proc/self/fd because the name it was opened with may be gone: a
// topic delete renames the directory. Package syscall has no linkat, and link(2) would link the symbolic link itself.
func link(f *os.File, path string) error {
	newName, err := syscall.BytePtrFromString(path)
	if err != nil {
		return &os.PathError{Op: "linkat", Path: path, Err: err}
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	at := atFDCWD
	err = conn.Control(func(fd uintptr) {
		oldName, _ := syscall.BytePtrFromString(fmt.Sprintf("/proc/self/fd/%d", fd))
		_, _, errno = syscall.Syscall6(syscall.SYS_LINKAT, uintptr(at), uintptr(unsafe.Pointer(oldName)),
			uintptr(at), uintptr(unsafe.Pointer(newName)), atSymlinkFollow, 0)
		runtime.KeepAlive(oldName)
	})
	if err != nil {
		return err
	}
	if errno != 0 {
		return &os.PathError{Op: "linkat", Path: path, Err: errno}
	}
	return nil
}
