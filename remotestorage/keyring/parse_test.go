package keyring

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/status"
)

// text is 32 bytes of a key, by number, as a line has them.
func text(n int) string {
	raw := bytes.Repeat([]byte{byte(n)}, keyBytes)
	raw[0] ^= 0xff
	return base64.StdEncoding.EncodeToString(raw)
}

func TestParse(t *testing.T) {
	k, err := parse([]byte("# the ring\n\n version=1\r\nactive = b\n\ta.1_x-Y = " + text(1) + "  \nb=" + text(2)))
	if err != nil {
		t.Fatal(err)
	}
	if ids := slices.Sorted(maps.Keys(k.byID)); k.active != "b" || !slices.Equal(ids, []string{"a.1_x-Y", "b"}) {
		t.Errorf("active %q of %q", k.active, ids)
	}
}

func TestParseRefuses(t *testing.T) {
	const head = "version = 1\nactive = a\n"
	long := strings.Repeat("x", maxID+1)
	for _, c := range []struct{ name, file, want string }{
		{"nothing", "", "empty"},
		{"comments only", "# a\n\n#b\n", "empty"},
		{"no key", "version = 1\nactive = a\n", "holds no key"},
		{"no version", "active = a\na = " + text(1), "line 1: the first line that is no comment must be 'version = 1'"},
		{"version later", "a = " + text(1) + "\nversion = 1\nactive = a\n", "line 1: the first line"},
		{"later version", "version = 2\nsomething else\n", "line 1: a version of this file that this release does not know"},
		{"version twice", head + "version = 1\na = " + text(1), "line 3: a second version"},
		{"no active", "version = 1\na = " + text(1), "does not say which key is active"},
		{"active twice", head + "a = " + text(1) + "\nactive = a\n", "line 4: active is set in line 2 already"},
		{"unknown active", "version = 1\nactive = b\na = " + text(1), "line 2: active names a key that the file does not hold"},
		{"active is no id", "version = 1\nactive = a b\na = " + text(1), "line 2: active is not the id of a key"},
		{"key as active", "version = 1\nactive = " + text(7) + "\na = " + text(1), "line 2: active is not the id of a key"},
		{"bare key", head + strings.TrimRight(text(7), "="), "line 3: neither empty nor a comment"},
		{"key without id", head + text(7), "line 3: the id of a key is"},
		{"key that could be an id", head + text(0xa0), "line 3: a key of 0 bytes"},
		{"duplicate id", head + "a = " + text(1) + "\na = " + text(2), "line 4: the id of line 3 again"},
		{"duplicate key", head + "a = " + text(1) + "\nb = " + text(1), "line 4: the key of line 3 again"},
		{"no id", head + " = " + text(1), "line 3: the id of a key is"},
		{"long id", head + long + " = " + text(1), "line 3: the id of a key is"},
		{"odd id", head + "a/b = " + text(1), "line 3: the id of a key is"},
		{"short key", head + "a = " + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef")), "line 3: a key of 16 bytes"},
		{"long key", head + "a = " + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("ab"), 17)), "line 3: a key of 34 bytes"},
		{"no key behind the id", head + "a = ", "line 3: a key of 0 bytes"},
		{"hexadecimal", head + "a = " + strings.Repeat("0f", 33), "line 3: not a key in base64"},
		{"cut", head + "a = " + text(1)[:43], "line 3: not a key in base64"},
		{"stray bits", head + "a = " + text(1)[:42] + "D=", "line 3: not a key in base64"},
		{"comment behind", head + "a = " + text(1) + " # mine", "line 3: not a key in base64"},
		{"zeros", head + "a = " + base64.StdEncoding.EncodeToString(make([]byte, keyBytes)), "line 3: a key whose bytes are all the same"},
	} {
		k, err := parse([]byte(c.file))
		if !status.Is(err, status.Invalid) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s: %v, %v, want Invalid with %q", c.name, k, err, c.want)
			continue
		}
		quotes(t, []byte(c.file), err)
	}
}

// quotes fails the test if an error holds a word of the file that could be a key.
func quotes(t *testing.T, file []byte, err error) {
	t.Helper()
	for _, word := range strings.FieldsFunc(string(file), func(r rune) bool { return r <= ' ' || r == '=' }) {
		for at := 0; at+16 <= len(word); at++ {
			if strings.Contains(err.Error(), word[at:at+16]) {
				t.Fatalf("the error quotes the file: %v", err)
			}
		}
	}
}

// TestParseAnyRing: what is written by the rules is read, whatever its order, blanks and comments.
func TestParseAnyRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Za-z0-9._-]{1,64}`).Filter(validID), 1, 9, rapid.ID).Draw(t, "ids")
		active := rapid.SampledFrom(ids).Draw(t, "active")
		lines := []string{"active=" + active}
		for i, id := range ids {
			lines = append(lines, id+"="+text(i))
		}
		lines = append([]string{"version=1"}, rapid.Permutation(lines).Draw(t, "lines")...)
		blank := rapid.SampledFrom([]string{"", " ", "\t", "  "})
		var file strings.Builder
		for _, line := range lines {
			name, value, _ := strings.Cut(line, "=")
			file.WriteString(rapid.SampledFrom([]string{"", "# x = y\n", "\n", " \t\r\n"}).Draw(t, "between"))
			file.WriteString(blank.Draw(t, "blank") + name + blank.Draw(t, "blank") + "=" + blank.Draw(t, "blank") + value + blank.Draw(t, "blank"))
			file.WriteString(rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
		}
		k, err := parse([]byte(file.String()))
		if err != nil {
			t.Fatalf("%v of\n%s", err, file.String())
		}
		if k.active != active || len(k.byID) != len(ids) {
			t.Fatalf("active %q, %d keys of\n%s", k.active, len(k.byID), file.String())
		}
		for _, id := range ids {
			if k.byID[id] == nil || k.byID[id].id != id {
				t.Fatalf("no key %q of\n%s", id, file.String())
			}
		}
	})
}

// FuzzParse: whatever a file holds, a ring has a key that is active, or the error is Invalid and quotes nothing.
func FuzzParse(f *testing.F) {
	f.Add([]byte("version = 1\nactive = a\na = " + text(1) + "\n"))
	f.Add([]byte("# x\nversion=1\r\nb=" + text(2) + "\na=" + text(1) + "\nactive=b"))
	f.Add([]byte("version = 2\n"))
	f.Add([]byte("version = 1\nactive = a\na = " + text(1)[:40] + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		k, err := parse(data)
		if !bytes.Equal(data, before) {
			t.Fatal("the input was changed")
		}
		if err != nil {
			if !status.Is(err, status.Invalid) {
				t.Fatalf("%v, want Invalid", err)
			}
			quotes(t, data, err)
			return
		}
		if k.byID[k.active] == nil {
			t.Fatalf("the active key %q is not in the ring", k.active)
		}
		for id, key := range k.byID {
			if !validID(id) || key.aead == nil {
				t.Fatalf("key %q", id)
			}
		}
	})
}
