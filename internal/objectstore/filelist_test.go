package objectstore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The file store lists as a sorted set of strings does, whatever the keys, the prefix, the mark and the page.
func TestListIsThatOfASortedSet(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "a-", "a.", "a0", "-", "ab", "é"})
	path := rapid.Map(rapid.SliceOfN(part, 1, 4), func(p []string) string { return strings.Join(p, "/") })
	base := t.TempDir()
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		s := open(t, filepath.Join(base, fmt.Sprint(round)))
		var keys []string
		for _, k := range rapid.SliceOfNDistinct(path, 0, 12, rapid.ID).Draw(rt, "keys") {
			if !slices.ContainsFunc(keys, func(o string) bool { return strings.HasPrefix(o, k+"/") || strings.HasPrefix(k, o+"/") }) {
				keys = append(keys, k)
				put(t, s, k, "x")
			}
		}
		slices.Sort(keys)
		prefix := rapid.OneOf(path, rapid.Just(""), rapid.Map(path, func(p string) string { return p + "/" })).Draw(rt, "prefix")
		after := rapid.OneOf(path, rapid.Just(""), rapid.Map(path, func(p string) string { return p + "/" })).Draw(rt, "after")
		limit := rapid.IntRange(1, 5).Draw(rt, "max")
		var all, got []string
		for _, k := range keys {
			if strings.HasPrefix(k, prefix) && k > after {
				all = append(all, k)
			}
		}
		page, more, err := s.List(rt.Context(), prefix, after, limit)
		if err != nil {
			rt.Fatal(err)
		}
		for _, i := range page {
			got = append(got, i.Key)
		}
		if !slices.Equal(got, all[:min(limit, len(all))]) || more != (len(all) > limit) {
			rt.Fatalf("keys %q\nprefix %q after %q max %d\n got %q, more %v\nwant %q", keys, prefix, after, limit, got, more, all)
		}
	})
}

// A directory of more names than are held at a time.
func TestListOfALargeDirectory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	const n = 5000
	if err := os.MkdirAll(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, "d", fmt.Sprintf("%06d", i*7919%n)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for after, more := "", true; more; {
		page, m, err := s.List(t.Context(), "d/", after, 1999)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range page {
			got = append(got, i.Key)
		}
		more, after = m, got[len(got)-1]
	}
	if len(got) != n || !slices.IsSorted(got) || got[0] != "d/000000" || got[n-1] != "d/004999" {
		t.Errorf("%d of %d keys, from %s to %s", len(got), n, got[0], got[len(got)-1])
	}
}
