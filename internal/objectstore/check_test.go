package objectstore

import (
	"strings"
	"testing"

	"tidemark/internal/status"
)

func TestCheckKey(t *testing.T) {
	for _, key := range []string{"a", "a/b", "a/.tidemark/b", ".tidemarks", "..a/b..", "é/ /x", strings.Repeat("x", MaxPart)} {
		if err := CheckKey(key); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
	for _, key := range []string{"", "/", "a/", "/a", ".", "..", "a/../b", "a//b", ".tidemark", ".tidemark/x", "a\x00", "a\x7fb",
		"a\xc3", strings.Repeat("x", MaxPart+1), strings.Repeat("xx/", 300) + "x"} {
		if err := CheckKey(key); !status.Is(err, status.Invalid) {
			t.Errorf("%.40q: %v", key, err)
		}
	}
	if CheckList("a/b/x..", 1) != nil || CheckList("", 1) != nil || CheckList("a/", 1) != nil {
		t.Error("a prefix may end anywhere")
	}
}
