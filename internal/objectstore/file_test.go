package objectstore_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

func open(t *testing.T, dir string) *objectstore.File {
	t.Helper()
	s, err := objectstore.OpenFile(dir, objectstore.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func put(t *testing.T, s objectstore.Store, key, data string) {
	t.Helper()
	if _, err := s.Put(context.Background(), key, strings.NewReader(data), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, what string, err error, class status.Class, words ...string) {
	t.Helper()
	if !status.Is(err, class) {
		t.Errorf("%s: class %v (%v), want %v", what, status.Of(err), err, class)
	}
	for _, w := range words {
		if err != nil && !strings.Contains(err.Error(), w) {
			t.Errorf("%s: the error does not say %q: %v", what, w, err)
		}
	}
}

func TestFile(t *testing.T) {
	storetest.Acceptance(t, func(t *testing.T) objectstore.Store { return open(t, t.TempDir()) }, storetest.Caps{})
}

func TestFileAddresses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir+"/x/../store")
	if got := s.URI("a/b"); got != "file://"+dir+"/store/a/b" {
		t.Errorf("URI = %q", got)
	}
	if key, ok := s.Key("file:" + dir + "/store/a/b"); !ok || key != "a/b" {
		t.Errorf("Java's form: %q, %v", key, ok)
	}
	for _, bad := range []string{"a%20b", "a?b", "a#b", "a\nb"} {
		_, err := objectstore.OpenFile(filepath.Join(dir, bad), objectstore.FileOptions{})
		want(t, bad, err, status.Invalid, "choose another directory")
	}
}

func TestOpenFileRemovesOldTemporaryFilesOnly(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "a", "content")
	temps := filepath.Join(dir, ".tidemark", "tmp")
	if left, _ := os.ReadDir(temps); len(left) != 0 {
		t.Errorf("a put left %v", left)
	}
	old := time.Now().Add(-25 * time.Hour)
	for _, name := range []string{"old", "new"} {
		if err := os.WriteFile(filepath.Join(temps, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(temps, "link")); err != nil { // a crash between link and unlink
		t.Fatal(err)
	}
	for _, name := range []string{"old", "link"} {
		if err := os.Chtimes(filepath.Join(temps, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir)
	left, _ := os.ReadDir(temps)
	if len(left) != 1 || left[0].Name() != "new" {
		t.Errorf("left: %v", left)
	}
	if data, _, err := s.Get(t.Context(), "a", 10); string(data) != "content" || err != nil {
		t.Errorf("the object with two names: %q, %v", data, err)
	}
}

func TestFileReadOnly(t *testing.T) {
	dir := t.TempDir()
	_, err := objectstore.OpenFile(dir+"/none", objectstore.FileOptions{ReadOnly: true})
	want(t, "open what is not there", err, status.NotFound)
	put(t, open(t, dir), "a", "x")
	if err := os.RemoveAll(dir + "/.tidemark"); err != nil {
		t.Fatal(err)
	}
	s, err := objectstore.OpenFile(dir, objectstore.FileOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if data, _, err := s.Get(t.Context(), "a", 10); string(data) != "x" || err != nil {
		t.Errorf("get: %q, %v", data, err)
	}
	_, err = s.Put(t.Context(), "b", strings.NewReader("x"), objectstore.Condition{})
	want(t, "put", err, status.Invalid, "reading only")
	want(t, "delete", s.Delete(t.Context(), "a"), status.Invalid)
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("a read-only store made %v", entries)
	}
}

func TestFileIgnoresWhatIsNoObject(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	put(t, s, "d/a", "x")
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"d/link": outside, "d/dir": filepath.Dir(outside), "d/inside": "a"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	page, _, err := s.List(t.Context(), "", "", 10)
	if err != nil || len(page) != 1 || page[0].Key != "d/a" {
		t.Errorf("list = %v, %v", page, err)
	}
	for _, key := range []string{"d/link", "d/inside"} {
		_, _, err = s.Get(t.Context(), key, 100)
		want(t, "get through a link", err, status.NotFound)
	}
	_, _, err = s.Get(t.Context(), "d/dir/secret", 100)
	want(t, "get through a linked directory", err, status.Invalid, "leads out")
	_, err = s.Put(t.Context(), "d/dir/planted", strings.NewReader("x"), objectstore.Condition{})
	want(t, "put through a linked directory", err, status.Invalid, "leads out")
}

func TestFileClosed(t *testing.T) {
	s, err := objectstore.OpenFile(t.TempDir(), objectstore.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	_, err = s.Head(t.Context(), "a")
	want(t, "head", err, status.Closed)
}
