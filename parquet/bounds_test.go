package parquet

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

func TestCutUpper(t *testing.T) {
	for _, c := range []struct {
		in   string
		text bool
		want string
		none bool
	}{
		{"abc", false, "abc", false},
		{"abcdefg", false, "abce", false},
		{"ab\xff\xff\xff", false, "ac", false},
		{"\xff\xff\xff\xff\xff", false, "", true},
		{"abcdé", true, "abce", false},
		{"abcé", true, "abd", false},                  // é does not fit into four bytes
		{"a\U0010ffffz", true, "b", false},            // the highest rune cannot be raised
		{"a\ud7ffz", true, "a\ue000", false},          // no surrogates
		{"\U0010ffff\U0010ffff", true, "", true},      //
		{"a\xffbc", true, "b", false},                 // not UTF-8: cut before it
		{"", false, "", false}, {"", true, "", false}, //
		{"abcd", true, "abcd", false}, {"\xff", true, "", true}, //
	} {
		got := cutUpper([]byte(c.in), 4, c.text)
		if (got == nil) != c.none || string(got) != c.want {
			t.Errorf("cutUpper(%q, 4, %t) = %q (nil: %t), want %q", c.in, c.text, got, got == nil, c.want)
		}
	}
}

func TestCutsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Bool().Draw(t, "text")
		x := []byte(rapid.StringOf(rapid.SampledFrom([]rune{'a', 'é', 0xd7ff, 0xe000, 0xffff, utf8.MaxRune})).Draw(t, "x"))
		if !text {
			x = rapid.SliceOf(rapid.SampledFrom([]byte{0, 1, 0xfe, 0xff})).Draw(t, "bytes")
		}
		limit := rapid.IntRange(1, 9).Draw(t, "limit")
		lower, upper := cutLower(x, limit, text), cutUpper(x, limit, text)
		if bytes.Compare(lower, x) > 0 || len(lower) > limit || text && !utf8.Valid(lower) {
			t.Fatalf("lower bound of %q is %q", x, lower)
		}
		if upper != nil && (bytes.Compare(upper, x) < 0 || text && !utf8.Valid(upper)) {
			t.Fatalf("upper bound of %q is %q", x, upper)
		}
	})
}

func TestUUIDBoundsOnlyWhereOrdersAgree(t *testing.T) {
	typ := schema.Type{Kind: schema.UUID}
	v := column.New(typ.Shape())
	id := func(hi, lo byte) []byte { x := make([]byte, 16); x[0], x[8] = hi, lo; return x }
	v.AppendBytes(id(0x01, 0x80))
	v.AppendBytes(id(0x02, 0x90))
	b := newBounds(typ, false)
	b.observe(v, 0, 2)
	if lower, upper := b.values(); lower == nil || upper == nil {
		t.Error("no bounds of uuids with equal signs")
	}
	v.AppendBytes(id(0x81, 0x80))
	b.observe(v, 2, 3)
	if lower, upper := b.values(); lower != nil || upper != nil {
		t.Error("bounds of uuids that engines order differently")
	}
}

func TestMinimal(t *testing.T) {
	for _, c := range [][2]string{{"\x00\x00", "\x00"}, {"\x00\x80", "\x00\x80"}, {"\xff\x80", "\x80"}, {"\xff\x7f", "\xff\x7f"}, {"\xff\xff", "\xff"}} {
		if got := minimal([]byte(c[0])); string(got) != c[1] {
			t.Errorf("minimal(%x) = %x, want %x", c[0], got, c[1])
		}
	}
}
