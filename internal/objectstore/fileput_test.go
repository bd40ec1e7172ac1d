package objectstore_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

func TestDeleteRemovesEmptyDirectoriesAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for _, key := range []string{"a/b/c/d", "a/b/e", "f"} {
		put(t, s, key, "x")
	}
	exists := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	if err := s.Delete(t.Context(), "a/b/c/d", "a/b", "f"); err != nil {
		t.Fatal(err)
	}
	if exists("a/b/c") || !exists("a/b/e") || exists("f") {
		t.Error("a/b/c must go, a/b/e must stay, f must go")
	}
	if err := s.Delete(t.Context(), "a/b/e"); err != nil {
		t.Fatal(err)
	}
	if exists("a") || !exists(".tidemark") {
		t.Error("all but the store's own directory must go")
	}
	// An empty directory that a crash left is no obstacle for an object of its name.
	for i, cond := range []objectstore.Condition{{}, {Absent: true}} {
		name := fmt.Sprint("left", i)
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), name, strings.NewReader("x"), cond); err != nil {
			t.Errorf("put over an empty directory: %v", err)
		}
	}
}

// Puts and deletes of neighbours: the directory is removed and made again all the time, no put may fail or be lost.
func TestPutsSurviveDeletesOfTheirDirectory(t *testing.T) {
	s := open(t, t.TempDir())
	ctx := context.Background()
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 100 {
				key := fmt.Sprintf("x/y/z%d", w)
				cond := objectstore.Condition{Absent: i%2 == 0}
				if _, err := s.Put(ctx, key, strings.NewReader("x"), cond); err != nil {
					t.Errorf("put %d: %v", i, err)
					return
				}
				if _, err := s.Head(ctx, key); err != nil {
					t.Errorf("the object is gone: %v", err)
					return
				}
				if err := s.Delete(ctx, key); err != nil {
					t.Errorf("delete: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestFileSource(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "segment")
	if err := os.WriteFile(name, bytes.Repeat([]byte("0123456789"), 100_000), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := open(t, filepath.Join(dir, "store"))
	info, err := s.Put(t.Context(), "a", objectstore.FileSource(f, 999_999), objectstore.Condition{})
	if err != nil || info.Size != 999_999 {
		t.Fatalf("put: %+v, %v", info, err)
	}
	got := make([]byte, 3)
	if err := s.ReadRange(t.Context(), "a", got, 999_996); err != nil || string(got) != "678" {
		t.Errorf("the end is %q, %v", got, err)
	}
	if err := os.Truncate(name, 500_000); err != nil {
		t.Fatal(err)
	}
	_, err = s.Put(t.Context(), "b", objectstore.FileSource(f, 999_999), objectstore.Condition{})
	want(t, "put of a truncated file", err, status.Corrupt, "put b", "500000")
	if left, _ := os.ReadDir(filepath.Join(dir, "store", ".tidemark", "tmp")); len(left) != 0 {
		t.Errorf("a failed put left %v", left)
	}
}

func TestFileAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere; the classes are covered by TestFileErrors")
	}
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "d/a", "x")
	if err := os.Chmod(filepath.Join(dir, "d"), 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(dir, "d"), 0o700)
	_, err := s.Put(t.Context(), "d/b", strings.NewReader("x"), objectstore.Condition{})
	want(t, "put", err, status.Invalid, "permission denied")
}
