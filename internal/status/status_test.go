package status

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestOf(t *testing.T) {
	base := Errorf(NotFound, "object %s is absent", "a/b")
	cases := []struct {
		name string
		err  error
		want Class
	}{
		{"nil", nil, OK},
		{"plain", errors.New("x"), Internal},
		{"classified", base, NotFound},
		{"wrapped by fmt", fmt.Errorf("copy: %w", base), NotFound},
		{"outer class wins", Errorf(Corrupt, "copy: %w", base), Corrupt},
		{"wrapf keeps", Wrapf(base, "copy %d", 1), NotFound},
		{"cancel", fmt.Errorf("x: %w", context.Canceled), Cancelled},
		{"deadline", context.DeadlineExceeded, Transient},
	}
	for _, c := range cases {
		if got := Of(c.err); got != c.want {
			t.Errorf("%s: Of = %v, want %v", c.name, got, c.want)
		}
	}
	if Wrapf(nil, "x") != nil {
		t.Error("Wrapf(nil) is not nil")
	}
	if got := Wrapf(base, "copy %d", 1).Error(); got != "copy 1: object a/b is absent" {
		t.Errorf("text = %q", got)
	}
}

func TestNamesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Classes() {
		if seen[c.String()] {
			t.Errorf("two classes are called %s", c)
		}
		seen[c.String()] = true
	}
	if Internal.String() != "Internal" || len(seen) != int(Internal) {
		t.Errorf("classes = %v", seen)
	}
	if Class(99).String() != "Class(99)" {
		t.Error("an unknown number must print as a number")
	}
}
