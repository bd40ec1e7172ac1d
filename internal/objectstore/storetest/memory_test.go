package storetest

import (
	"context"
	"testing"

	"tidemark/internal/objectstore"
)

func TestMemory(t *testing.T) {
	Acceptance(t, func(*testing.T) objectstore.Store { return NewMemory() }, Caps{Swap: true, Nesting: true, Large: 1 << 20})
}

func TestCloneAndDamage(t *testing.T) {
	s := &suite{T: t, ctx: context.Background(), store: NewMemory()}
	s.mustPut("a", "one")
	m := s.store.(*Memory)
	crash := m.Clone()
	s.mustPut("a", "two")
	s.mustPut("b", "x")
	if got := s.content("a"); got != "two" {
		t.Errorf("a = %q", got)
	}
	if !m.Damage("a", func(d []byte) []byte { d[0] ^= 1; return d[:2] }) || s.content("a") != "uw" {
		t.Errorf("damaged a = %q", s.content("a"))
	}
	s.store = crash
	if got := s.content("a"); got != "one" || len(crash.Keys()) != 1 {
		t.Errorf("the clone has %q with a = %q", crash.Keys(), got)
	}
}
