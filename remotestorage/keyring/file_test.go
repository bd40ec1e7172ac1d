package keyring

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark/internal/status"
)

func TestOpenRefusesFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode, content string) string {
		path := filepath.Join(dir, name)
		put(t, path, content)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(write("linked", 0o640, two), link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, want string }{
		{"", "no file is named"},
		{filepath.Join(dir, "absent"), "there is no such file"},
		{dir, "not a regular file"},
		{pipe, "not a regular file"},
		{write("group", 0o640, two), "(mode 0640): chmod 600"},
		{write("others", 0o604, two), "(mode 0604): chmod 600"},
		{write("group may write", 0o620, two), "(mode 0620): chmod 600"},
		{link, "(mode 0640): chmod 600"},
		{write("large", 0o600, two+strings.Repeat("#\n", maxFile/2)), "larger than 1048576 bytes"},
		{write("faulty", 0o600, "version = 1\nactive = a\na = "+text(1)[1:]), "line 3: not a key in base64"},
	} {
		r, err := Open(c.path, slog.New(slog.DiscardHandler))
		if !status.Is(err, status.Invalid) || !strings.Contains(fmt.Sprint(err), c.want) || !strings.Contains(fmt.Sprint(err), c.path) {
			t.Errorf("%s: %v, %v, want Invalid with %q", c.path, r, err, c.want)
		}
	}
}

func TestOpenTakesOwnersFile(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o400} {
		path := filepath.Join(t.TempDir(), "keys")
		full := two + strings.Repeat("#", maxFile-len(two))
		put(t, path, full)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if r, err := Open(path, slog.New(slog.DiscardHandler)); err != nil || r.Active() != "a" {
			t.Errorf("mode %o, %d bytes: %v", mode, len(full), err)
		}
	}
}

// put replaces a file in one step, as an operator should.
func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// lines is a log that can be searched.
type lines struct{ bytes.Buffer }

func (l *lines) count(event string) int { return strings.Count(l.String(), `"msg":"`+event+`"`) }
