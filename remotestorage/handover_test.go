package remotestorage

import (
	"sync"
	"testing"
	"time"

	"tidemark/internal/objectstore/storetest"
)

type sink struct {
	mu   sync.Mutex
	got  []Segment
	do   func()
	made func() int // hold files at the time
	held []int
}

func (s *sink) HandOver(seg Segment) {
	s.mu.Lock()
	s.got = append(s.got, seg)
	if s.made != nil {
		s.held = append(s.held, s.made())
	}
	s.mu.Unlock()
	if s.do != nil {
		s.do()
	}
}

func TestHandOverAfterTheHoldFile(t *testing.T) {
	s := &sink{}
	m := start(t, config(t), storetest.NewMemory(), Deps{Sink: s, Wanted: func([16]byte) (uint64, bool) { return 1, true }})
	s.made = func() int { return len(m.Held()) }
	c := segment(t, 1000)
	copied(t, m, &c)
	if len(s.got) != 1 || s.got[0].ID != c.ID || string(s.got[0].Custom) != string(c.Custom) || s.held[0] != 1 {
		t.Errorf("handed over %d segments, %v hold files at the time", len(s.got), s.held)
	}
}

func TestFailedCopyIsNotHandedOver(t *testing.T) {
	s := &sink{}
	store := storetest.Faulty(storetest.NewMemory(), storetest.Fault{Op: storetest.Put, Key: ".sidecar"})
	m, c := start(t, config(t), store, Deps{Sink: s, Wanted: func([16]byte) (uint64, bool) { return 1, true }}), segment(t, 1000)
	if _, err := m.Copy(deadline(t), c.Segment, c.paths); err == nil {
		t.Fatal("the copy succeeded")
	}
	if len(s.got) != 0 || len(m.Held()) != 0 {
		t.Errorf("%d segments handed over, %d held", len(s.got), len(m.Held()))
	}
}

// Table trouble never fails or delays a copy beyond the bound.
func TestHandOverCannotHurtACopy(t *testing.T) {
	block := make(chan struct{})
	for name, do := range map[string]func(){"panic": func() { panic("sink") }, "hang": func() { <-block }} {
		cfg, c := config(t), segment(t, 1000)
		cfg.HandOverTimeout = 20 * time.Millisecond
		m := start(t, cfg, storetest.NewMemory(), Deps{Sink: &sink{do: do}})
		copied(t, m, &c)
		readBack(t, m, c)
		if n := metric(t, m, "handover_slow_total"); (n == 1) != (name == "hang") {
			t.Errorf("%s: %v slow hand-overs counted", name, n)
		}
		if name == "hang" { // many more: none waits for the others
			for range maxHandOvers + 5 {
				c.ID[4]++
				copied(t, m, &c)
			}
			if n := m.passing.Used(); n > maxHandOvers {
				t.Errorf("%d hand-overs under way", n)
			}
			close(block)
		}
	}
}

func TestNoTableNoHold(t *testing.T) {
	for _, deps := range []Deps{{}, {Sink: &sink{}}, {Wanted: func([16]byte) (uint64, bool) { return 0, false }}} {
		m, c := start(t, config(t), storetest.NewMemory(), deps), segment(t, 1000)
		copied(t, m, &c)
		if held := m.Held(); len(held) != 0 {
			t.Errorf("held: %v", held)
		}
	}
}
