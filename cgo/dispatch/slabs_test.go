package dispatch

import (
	"context"
	"testing"

	"tidemark/internal/status"
)

func TestTheSlabThatCameBackLastIsLentFirst(t *testing.T) {
	p := newPool(make([][]byte, 3))
	take := func() int {
		i, err := p.acquire(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	a, b, c := take(), take(), take()
	if a == b || b == c || a == c || p.inUse() != 3 {
		t.Fatalf("lent %d, %d, %d; %d in use", a, b, c, p.inUse())
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.acquire(ended); !status.Is(err, status.Cancelled) {
		t.Errorf("with none left: %v", err)
	}
	p.release(b)
	p.release(a)
	if got := take(); got != a {
		t.Errorf("slab %d, want %d, which came back last", got, a)
	}
	p.release(a)
	p.release(c)
	if p.inUse() != 0 {
		t.Errorf("%d in use after all came back", p.inUse())
	}
}
