package dispatch

import (
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/status"
)

func TestHandleProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tab := newTable[int]("thing", 5, 20)
		live, dead := map[Handle]int{}, map[Handle]bool{}
		next := 0
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				h, err := tab.put(next)
				if len(live) == 20 {
					if !status.Is(err, status.Throttled) {
						rt.Fatalf("full table: %v", err)
					}
					return
				}
				if _, again := live[h]; again || dead[h] || h == 0 || int64(h) < 0 || err != nil {
					rt.Fatalf("handle %#x issued again, or %v", h, err)
				}
				live[h] = next
				next++
			},
			"take": func(rt *rapid.T) {
				for h, want := range live {
					if v, err := tab.take(h); v != want || err != nil {
						rt.Fatalf("take %#x = %d, %v, want %d", h, v, err, want)
					}
					delete(live, h)
					dead[h] = true
					return
				}
			},
			"": func(rt *rapid.T) {
				for h, want := range live {
					if v, err := tab.get(h); v != want || err != nil {
						rt.Fatalf("get %#x = %d, %v, want %d", h, v, err, want)
					}
				}
				for h := range dead {
					if _, err := tab.get(h); !status.Is(err, status.Closed) {
						rt.Fatalf("stale %#x: %v", h, err)
					}
					if _, err := tab.take(h); !status.Is(err, status.Closed) {
						rt.Fatalf("closed twice %#x: %v", h, err)
					}
				}
				h := Handle(rapid.Uint64().Draw(rt, "any"))
				if _, issued := live[h]; !issued && !dead[h] {
					if _, err := tab.get(h); !status.Is(err, status.Invalid) {
						rt.Fatalf("never issued %#x: %v", h, err)
					}
				}
				if tab.len() != len(live) {
					rt.Fatalf("len = %d, want %d", tab.len(), len(live))
				}
			},
		})
	})
}

func TestHandlesAreForeignToOtherTables(t *testing.T) {
	a, b := newTable[int]("a", tagOp, 9), newTable[int]("b", tagStream, 9)
	h, _ := a.put(1)
	_, _ = b.put(2)
	if _, err := b.get(h); !status.Is(err, status.Invalid) {
		t.Errorf("foreign handle: %v", err)
	}
}

func TestASlotOutOfGenerationsIsRetired(t *testing.T) {
	tab := newTable[int]("thing", 1, 9)
	h, _ := tab.put(1)
	tab.slots[0].generation = maxGeneration - 1
	if _, err := tab.take(h); !status.Is(err, status.Closed) {
		t.Errorf("stale: %v", err)
	}
	tab.slots[0].live = false
	tab.free = []uint32{0}
	last, _ := tab.put(2)
	if _, err := tab.take(last); err != nil || int64(last) < 0 {
		t.Errorf("last generation %#x: %v", last, err)
	}
	if again, _ := tab.put(3); again&(1<<indexBits-1) == 0 {
		t.Errorf("the slot was used again: %#x", again)
	}
}
