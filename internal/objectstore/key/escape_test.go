package key

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEscape(t *testing.T) {
	cases := map[string]string{
		"":          "!",
		"orders":    "orders",
		"a.b":       "a.b",
		"a_b":       "a_b",
		"..foo":     "!2E.foo",
		".":         "!2E",
		"..":        "!2E.",
		"%2F":       "!252F",
		"a/b":       "a!2Fb",
		"!":         "!21",
		"x\x00é=\n": "x!00!C3!A9!3D!0A",
	}
	for in, want := range cases {
		got := Escape(in)
		if got != want {
			t.Errorf("Escape(%q) = %q, want %q", in, got, want)
		}
		if back, ok := Unescape(got); !ok || back != in {
			t.Errorf("Unescape(%q) = %q, %v, want %q", got, back, ok, in)
		}
	}
}

func TestUnescapeRefusesForeignText(t *testing.T) {
	for _, part := range []string{"", "!2", "a!", "!2e", "!41", "a!2E", ".a", "a/b", "a b", "!G0", "!!", "é"} {
		if name, ok := Unescape(part); ok {
			t.Errorf("Unescape(%q) = %q", part, name)
		}
	}
}

// names are strings with a lean towards what has to be escaped.
func names() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.StringMatching(`[.!/a2EF%=_-]{0,6}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) }))
}

func TestEscapeIsInjective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := names().Draw(t, "a"), names().Draw(t, "b")
		ea, eb := Escape(a), Escape(b)
		if (a == b) != (ea == eb) {
			t.Fatalf("%q -> %q, %q -> %q", a, ea, b, eb)
		}
		if back, ok := Unescape(ea); !ok || back != a {
			t.Fatalf("%q -> %q -> %q, %v", a, ea, back, ok)
		}
		if ea == "" || ea[0] == '.' || strings.ContainsAny(ea, "/%\x00 ") || len(ea) > max(1, 3*len(a)) {
			t.Fatalf("%q -> %q is no part of a key", a, ea)
		}
		if name, ok := Unescape(a); ok && Escape(name) != a {
			t.Fatalf("Unescape accepts %q, which Escape(%q) does not write", a, name)
		}
	})
}
