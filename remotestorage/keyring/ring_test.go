package keyring

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/status"
)

// two is a ring of two keys, a active.
var two = "version = 1\nactive = a\na = " + text(1) + "\nb = " + text(2) + "\n"

// hand is a clock that a test moves.
type hand struct{ now time.Duration }

func (h *hand) read() time.Duration { return h.now }

// ring opens a ring of a file with this content.
func ring(t testing.TB, content string) (*Ring, *rig) {
	t.Helper()
	g := &rig{path: filepath.Join(t.TempDir(), "keys")}
	put(t, g.path, content)
	r, err := open(g.path, slog.New(slog.NewJSONHandler(&g.log, nil)), g.hand.read)
	if err != nil {
		t.Fatal(err)
	}
	return r, g
}

type rig struct {
	path string
	log  lines
	hand hand
}

func TestRotation(t *testing.T) {
	r, g := ring(t, two)
	dataKey := bytes.Repeat([]byte{5}, keyBytes)
	old, err := r.Wrap(r.Active(), dataKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	put(t, g.path, strings.Replace(two, "active = a", "active = c\nc = "+text(3), 1))
	g.hand.now += lookEvery - 1
	if got := r.Active(); got != "a" {
		t.Fatalf("%q before the file is looked at again", got)
	}
	g.hand.now++
	if got := r.Active(); got != "c" || g.log.count("keyring.reloaded") != 1 {
		t.Fatalf("active is %q, log:\n%s", got, &g.log)
	}
	if got, err := r.Unwrap("a", old, nil); err != nil || !bytes.Equal(got, dataKey) {
		t.Errorf("a key of before the rotation: %x, %v", got, err)
	}
	if err := r.Reload(); err != nil || g.log.count("keyring.reloaded") != 1 {
		t.Errorf("nothing new: %v, log:\n%s", err, &g.log)
	}
}

// TestChangeWithinATick: a file that is changed right after it was read, in place and with the same size and time, is seen.
func TestChangeWithinATick(t *testing.T) {
	r, g := ring(t, two)
	info, err := os.Stat(g.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(g.path, []byte(strings.Replace(two, "active = a", "active = b", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(g.path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	g.hand.now += lookEvery
	if got := r.Active(); got != "b" {
		t.Errorf("active is %q", got)
	}
}

// TestUnchangedFileIsNotRead: once its state is settled, only its time and size are looked at.
func TestUnchangedFileIsNotRead(t *testing.T) {
	r, g := ring(t, two)
	info, err := os.Stat(g.path)
	if err != nil {
		t.Fatal(err)
	}
	g.hand.now += lookEvery
	r.Active() // settles
	if err := os.WriteFile(g.path, []byte(strings.Replace(two, "active = a", "active = b", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(g.path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	g.hand.now += lookEvery
	if got := r.Active(); got != "a" {
		t.Errorf("active is %q: the file was read", got)
	}
	if err := r.Reload(); err != nil || r.Active() != "b" {
		t.Errorf("reload: %v, active %q", err, r.Active())
	}
}

func TestUnknownIDReadsTheFileAgain(t *testing.T) {
	r, g := ring(t, two)
	other, _ := ring(t, strings.Replace(two, "b =", "c =", 1))
	wrapped, err := other.Wrap("c", make([]byte, keyBytes), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Unwrap("c", wrapped, nil)
	if !status.Is(err, status.Invalid) || !strings.Contains(fmt.Sprint(err), `"c"`) || !strings.Contains(fmt.Sprint(err), g.path) || !strings.Contains(fmt.Sprint(err), "add its line again") {
		t.Fatalf("%v, want Invalid that names the id, the file and what to do", err)
	}
	put(t, g.path, strings.Replace(two, "b =", "c =", 1))
	g.hand.now += missEvery - 1
	if _, err = r.Unwrap("c", wrapped, nil); !status.Is(err, status.Invalid) {
		t.Fatalf("%v: the file was read twice within a second", err)
	}
	g.hand.now++
	if _, err := r.Unwrap("c", wrapped, nil); err != nil {
		t.Errorf("the key is in the file now: %v", err)
	}
	if _, err := r.Unwrap("b", wrapped, nil); !status.Is(err, status.Invalid) {
		t.Errorf("a removed key: %v, want Invalid", err)
	}
}

func TestBadFileKeepsTheRing(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, path string){
		"fault":       func(t *testing.T, path string) { put(t, path, "version = 1\nactive = x\n") },
		"empty":       func(t *testing.T, path string) { put(t, path, "") },
		"removed":     func(t *testing.T, path string) { check(t, os.Remove(path)) },
		"readable":    func(t *testing.T, path string) { check(t, os.Chmod(path, 0o644)) },
		"key under b": func(t *testing.T, path string) { put(t, path, strings.Replace(two, text(2), text(3), 1)) },
		"a directory": func(t *testing.T, path string) { check(t, os.Remove(path)); check(t, os.Mkdir(path, 0o700)) },
		"keys exchanged": func(t *testing.T, path string) {
			put(t, path, "version = 1\nactive = a\na = "+text(2)+"\nb = "+text(1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, g := ring(t, two)
			wrapped, err := r.Wrap("b", make([]byte, keyBytes), nil)
			check(t, err)
			damage(t, g.path)
			if err := r.Reload(); !status.Is(err, status.Invalid) || !strings.Contains(fmt.Sprint(err), g.path) {
				t.Fatalf("reload: %v, want Invalid that names the file", err)
			}
			for range 3 {
				g.hand.now += lookEvery
				if got := r.Active(); got != "a" {
					t.Fatalf("active is %q", got)
				}
			}
			if _, err := r.Unwrap("b", wrapped, nil); err != nil {
				t.Error(err)
			}
			if n := g.log.count("keyring.refused"); n != 1 {
				t.Errorf("%d times in the log, want once:\n%s", n, &g.log)
			}
			if _, err := r.Unwrap("c", wrapped, nil); !status.Is(err, status.Invalid) || !strings.Contains(fmt.Sprint(err), "is refused") {
				t.Errorf("unknown id: %v, want Invalid that says that the file is refused", err)
			}
			check(t, os.RemoveAll(g.path))
			put(t, g.path, strings.Replace(two, "active = a", "active = b", 1))
			g.hand.now += lookEvery
			if got := r.Active(); got != "b" {
				t.Errorf("active is %q after the file was put right", got)
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnotherKeyUnderTheID(t *testing.T) {
	a, _ := ring(t, two)
	b, g := ring(t, strings.Replace(two, text(1), text(4), 1))
	wrapped, err := a.Wrap("a", make([]byte, keyBytes), nil)
	check(t, err)
	if _, err := b.Unwrap("a", wrapped, nil); !status.Is(err, status.Corrupt) || !strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), g.path) ||
		!strings.Contains(err.Error(), "another key under this id") {
		t.Errorf("%v, want Corrupt that names the key, the file and what can be wrong", err)
	}
}

// TestNoKeyIsPrinted: whatever prints a ring, or goes wrong with one, shows no key.
func TestNoKeyIsPrinted(t *testing.T) {
	r, g := ring(t, two)
	var shown strings.Builder
	k := r.current.Load()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%X", "%q", "%d"} {
		fmt.Fprintf(&shown, verb+"\n", r)
		fmt.Fprintf(&shown, verb+"\n", struct{ R *Ring }{r})
		fmt.Fprintf(&shown, verb+"\n", k)
		fmt.Fprintf(&shown, verb+"\n", k.byID)
		fmt.Fprintf(&shown, verb+"\n", k.byID["a"])
	}
	for _, v := range []any{r, struct{ R *Ring }{r}, k, k.byID} {
		text, err := json.Marshal(v)
		fmt.Fprintln(&shown, string(text), err)
	}
	log := slog.New(slog.NewTextHandler(&shown, nil))
	log.Info("x", "ring", r, "holder", struct{ R *Ring }{r})
	slog.New(slog.NewJSONHandler(&shown, nil)).Info("x", "ring", r, "holder", struct{ R *Ring }{r})
	if !strings.Contains(shown.String(), r.path) {
		t.Error("a ring does not name its file")
	}
	for _, content := range []string{text(9), "version = 1\nactive = " + text(8) + "\n" + text(9), strings.Replace(two, text(1), text(9), 1), "version = 1\n" + text(9)[:43] + " = b"} {
		put(t, g.path, content)
		fmt.Fprintln(&shown, r.Reload())
		_, err := r.Unwrap("c", make([]byte, WrappedBytes), nil)
		fmt.Fprintln(&shown, err)
		g.hand.now += lookEvery
	}
	_, err := r.Unwrap("a", make([]byte, WrappedBytes), nil)
	fmt.Fprintln(&shown, err)
	all := shown.String() + g.log.String()
	for _, n := range []int{1, 2, 8, 9} {
		raw, err := base64.StdEncoding.DecodeString(text(n))
		check(t, err)
		for at := 0; at+8 <= len(raw); at += 4 {
			part := raw[at : at+8]
			for _, form := range []string{string(part), hex.EncodeToString(part), strings.ToUpper(hex.EncodeToString(part)),
				strings.Trim(fmt.Sprint(part), "[]"), strings.Trim(fmt.Sprintf("%#v", part), "[]byte{}"), base64.StdEncoding.EncodeToString(raw)[at : at+8]} {
				if strings.Contains(all, form) {
					t.Fatalf("a part of key %d is shown as %q in\n%s", n, form, all)
				}
			}
		}
	}
}

// TestManyUsers: a ring that is replaced all the time serves everybody, under the race detector too.
func TestManyUsers(t *testing.T) {
	r, g := ring(t, two)
	r.clock = func() time.Duration { return time.Duration(r.next.Load()) }
	r.log = slog.New(slog.DiscardHandler)
	wrapped, err := r.Wrap("b", make([]byte, keyBytes), nil)
	check(t, err)
	var users sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		users.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if id := r.Active(); id != "a" && id != "b" {
					t.Errorf("active is %q", id)
					return
				}
				if _, err := r.Unwrap("b", wrapped, nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 200 {
		put(t, g.path, strings.Replace(two, "active = a", "active = "+string("ab"[i%2]), 1))
	}
	close(stop)
	users.Wait()
}
