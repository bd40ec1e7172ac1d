package measure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDropCacheTakesOnlyWhatMatches(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"a.log": 1 << 20, "sub/b.log": 1 << 16, "c.index": 1 << 16} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Repeat("x", size)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := DropCache(dir, func(path string) bool { return filepath.Ext(path) == ".log" })
	if err != nil {
		t.Fatal(err)
	}
	if d.Files != 2 || d.Bytes != 1<<20+1<<16 {
		t.Errorf("dropped %+v", d)
	}
	// What a file system keeps is its own business (tmpfs keeps everything): the count is there, or says that it is not known.
	if d.Left < -1 || d.Left > d.Bytes+2*int64(os.Getpagesize()) {
		t.Errorf("%d of %d bytes stayed", d.Left, d.Bytes)
	}
	got, err := os.ReadFile(filepath.Join(dir, "sub", "b.log"))
	if err != nil || len(got) != 1<<16 {
		t.Errorf("after dropping: %d bytes, %v", len(got), err)
	}
}

func TestDropCacheOfNothing(t *testing.T) {
	d, err := DropCache(filepath.Join(t.TempDir(), "absent"), func(string) bool { return true })
	if err != nil || d.Files != 0 {
		t.Errorf("%+v, %v", d, err)
	}
}
