package keyring

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/status"
)

var update = flag.Bool("update", false, "rewrite golden files")

const page = "../../docs/format/keyring.md"

// TestGolden pins the layouts: the golden ring wraps a known data key into known bytes, which the page shows too.
func TestGolden(t *testing.T) {
	r, _ := ring(t, string(golden(t, "keys.golden", func() []byte {
		return []byte("# Test keys. Never use them.\nversion = 1\nactive = 2026-12\n2026-12 = " + text(2) + "\n2026-06 = " + text(1) + "\n")
	})))
	dataKey, aad := make([]byte, keyBytes), []byte("segment 7, log")
	for i := range dataKey {
		dataKey[i] = byte(i)
	}
	var nonce [nonceBytes]byte
	for i := range nonce {
		nonce[i] = byte(0xa0 + i)
	}
	k := r.current.Load().byID["2026-12"]
	fresh := k.wrap(&nonce, dataKey, aad)
	want := golden(t, "wrapped.hex", func() []byte { return []byte(hex.EncodeToString(fresh) + "\n") })
	if got := hex.EncodeToString(fresh) + "\n"; got != string(want) {
		t.Fatalf("wrapped\n%swant\n%s", got, want)
	}
	if got, err := r.Unwrap("2026-12", fresh, aad); err != nil || !bytes.Equal(got, dataKey) {
		t.Errorf("unwrapped %x, %v", got, err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), strings.TrimSpace(string(want))) {
		t.Errorf("%s does not show the golden vector %s", page, want)
	}
}

// TestLayout opens a wrapped key with nothing but what the page says.
func TestLayout(t *testing.T) {
	r, _ := ring(t, two)
	dataKey := bytes.Repeat([]byte{9}, keyBytes)
	wrapped, err := r.Wrap("b", dataKey, []byte("for this"))
	if err != nil || len(wrapped) != 60 {
		t.Fatalf("%d bytes, %v", len(wrapped), err)
	}
	raw := bytes.Repeat([]byte{2}, 32)
	raw[0] ^= 0xff
	block, err := aes.NewCipher(raw)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := gcm.Open(nil, wrapped[:12], wrapped[12:], []byte("TIDEKEY1\x01bfor this")); err != nil || !bytes.Equal(got, dataKey) {
		t.Errorf("%x, %v", got, err)
	}
}

func golden(t *testing.T, name string, make func() []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, make(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	return data
}

// TestWrapBindsEverything: a wrapped key opens for its id and its name and nothing else.
func TestWrapBindsEverything(t *testing.T) {
	r, _ := ring(t, two)
	rapid.Check(t, func(t *rapid.T) {
		dataKey := rapid.SliceOfN(rapid.Byte(), keyBytes, keyBytes).Draw(t, "data key")
		aad := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "aad")
		id := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "id")
		wrapped, err := r.Wrap(id, dataKey, aad)
		if err != nil || len(wrapped) != WrappedBytes {
			t.Fatalf("%d bytes, %v", len(wrapped), err)
		}
		if got, err := r.Unwrap(id, wrapped, aad); err != nil || !bytes.Equal(got, dataKey) {
			t.Fatalf("unwrapped %x, %v, want %x", got, err, dataKey)
		}
		again, err := r.Wrap(id, dataKey, aad)
		if err != nil || bytes.Equal(again[:nonceBytes], wrapped[:nonceBytes]) {
			t.Fatalf("the same nonce twice, %v", err)
		}
		corrupt := func(what, id string, wrapped, aad []byte) {
			if got, err := r.Unwrap(id, wrapped, aad); !status.Is(err, status.Corrupt) || got != nil {
				t.Fatalf("%s: %x, %v, want Corrupt", what, got, err)
			}
		}
		corrupt("other key", string("ba"[id[0]-'a']), wrapped, aad)
		corrupt("longer aad", id, wrapped, append(bytes.Clone(aad), 0))
		damaged := bytes.Clone(wrapped)
		damaged[rapid.IntRange(0, WrappedBytes-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		corrupt("flipped bit", id, damaged, aad)
		corrupt("cut", id, wrapped[:rapid.IntRange(0, WrappedBytes-1).Draw(t, "cut")], aad)
		corrupt("longer", id, append(wrapped, 0), aad)
	})
}

// TestIDAndNameDoNotRunTogether: the id "a" with the name "bc" is not the id "ab" with the name "c", under one key.
func TestIDAndNameDoNotRunTogether(t *testing.T) {
	if a, b := bound("a", []byte("bc")), bound("ab", []byte("c")); bytes.Equal(a, b) {
		t.Errorf("both are %q", a)
	}
}

func TestWrapRefuses(t *testing.T) {
	r, _ := ring(t, two)
	for _, n := range []int{0, 16, keyBytes - 1, keyBytes + 1} {
		if _, err := r.Wrap("a", make([]byte, n), nil); !status.Is(err, status.Internal) {
			t.Errorf("a data key of %d bytes: %v, want Internal", n, err)
		}
	}
	if _, err := r.Wrap("c", make([]byte, keyBytes), nil); !status.Is(err, status.Invalid) || !strings.Contains(fmt.Sprint(err), `"c"`) {
		t.Errorf("unknown id: %v, want Invalid that names it", err)
	}
	for _, id := range []string{"", "version", "a\x00", strings.Repeat("x", maxID+1)} {
		if _, err := r.Unwrap(id, make([]byte, WrappedBytes), nil); !status.Is(err, status.Corrupt) {
			t.Errorf("id %q: %v, want Corrupt", id, err)
		}
	}
}

func BenchmarkUnwrap(b *testing.B) {
	r, _ := ring(b, two)
	wrapped, err := r.Wrap("a", make([]byte, keyBytes), nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := r.Unwrap("a", wrapped, nil); err != nil {
			b.Fatal(err)
		}
	}
}
