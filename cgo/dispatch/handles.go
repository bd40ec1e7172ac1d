package dispatch

import (
	"sync"

	"tidemark/internal/status"
)

// Handle stands for an instance, an operation or a stream on the other side of the boundary. Bits 0-23 are an index,
// 24-31 say of what, 32-62 are a generation: a closed handle never becomes that of something else. Zero is never
// issued, and a handle is positive as a signed number.
type Handle uint64

const (
	indexBits     = 24
	maxGeneration = 1<<31 - 1
)

// The tags make a handle of one table foreign to the others.
const (
	tagInstance = 1
	tagOp       = 2
	tagStream   = 3
)

// table maps handles to values. Slots are reused under a new generation; one that has used up its generations is not.
type table[T any] struct {
	what string
	tag  uint8
	max  int // live entries

	mu    sync.Mutex
	slots []slot[T]
	free  []uint32
	live  int
}

type slot[T any] struct {
	generation uint32 // of the last issue
	live       bool
	value      T
}

func newTable[T any](what string, tag uint8, max int) *table[T] {
	return &table[T]{what: what, tag: tag, max: min(max, 1<<indexBits)}
}

// put issues a handle. A full table is Throttled: something is not being closed.
func (t *table[T]) put(v T) (Handle, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live >= t.max || (len(t.free) == 0 && len(t.slots) == 1<<indexBits) {
		return 0, status.Errorf(status.Throttled, "%d %ss are open, no more are allowed", t.live, t.what)
	}
	var i uint32
	if n := len(t.free); n > 0 {
		i, t.free = t.free[n-1], t.free[:n-1]
	} else {
		i = uint32(len(t.slots))
		t.slots = append(t.slots, slot[T]{})
	}
	s := &t.slots[i]
	s.generation++
	s.live, s.value = true, v
	t.live++
	return Handle(s.generation)<<32 | Handle(t.tag)<<indexBits | Handle(i), nil
}

// find returns the slot of a live handle. The caller holds mu.
func (t *table[T]) find(h Handle) (*slot[T], uint32, error) {
	i, tag, generation := uint32(h&(1<<indexBits-1)), uint8(h>>indexBits), uint32(h>>32)
	if tag != t.tag || int(i) >= len(t.slots) || generation == 0 || generation > t.slots[i].generation {
		return nil, 0, status.Errorf(status.Invalid, "%#x is not a handle of any %s", uint64(h), t.what)
	}
	s := &t.slots[i]
	if generation < s.generation || !s.live {
		return nil, 0, status.Errorf(status.Closed, "%s %#x is closed", t.what, uint64(h))
	}
	return s, i, nil
}

func (t *table[T]) get(h Handle) (v T, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, _, err := t.find(h)
	if err != nil {
		return v, err
	}
	return s.value, nil
}

// take ends a handle: of two concurrent calls one gets the value, the other Closed.
func (t *table[T]) take(h Handle) (v T, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, i, err := t.find(h)
	if err != nil {
		return v, err
	}
	var none T
	v, s.value, s.live = s.value, none, false
	t.live--
	if s.generation < maxGeneration {
		t.free = append(t.free, i)
	}
	return v, nil
}

// takeIf ends the handles of all values that match, and returns the values.
func (t *table[T]) takeIf(match func(T) bool) (out []T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.slots {
		s := &t.slots[i]
		if !s.live || !match(s.value) {
			continue
		}
		var none T
		out = append(out, s.value)
		s.value, s.live = none, false
		t.live--
		if s.generation < maxGeneration {
			t.free = append(t.free, uint32(i))
		}
	}
	return out
}

// each calls f for every value. f must not use the table.
func (t *table[T]) each(f func(T)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.slots {
		if t.slots[i].live {
			f(t.slots[i].value)
		}
	}
}

func (t *table[T]) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.live
}
