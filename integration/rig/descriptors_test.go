package rig

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file that is deleted while it is open or mapped is found, as what it is; one that has a name is not.
func TestDeletedFilesAreFound(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "segment")
	if err := os.WriteFile(name, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	memory, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	want := func(when string, n int) {
		t.Helper()
		if held, err := deleted(os.Getpid(), dir); err != nil || len(held) != n {
			t.Errorf("%s: %v, %v; %d are wanted", when, held, err, n)
		}
	}
	want("with a name", 0)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	want("open and mapped", 2)
	f.Close()
	want("mapped", 1)
	if err := syscall.Munmap(memory); err != nil {
		t.Fatal(err)
	}
	want("given back", 0)
}
