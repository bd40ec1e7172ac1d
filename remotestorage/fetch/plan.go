package fetch

import (
	"container/list"

	"tidemark/remotestorage/stored"
)

// The plan of reading is pure: which chunks one GET fetches, and how far ahead of a reader. Sizes are bytes of memory: of a
// compressed chunk that is more than the GET brings.

// run is the chunks [from, to) that one GET fetches.
type run struct{ from, to int }

func (r run) len() int { return r.to - r.from }

// demand is the GET for chunk i, which is missing: the missing chunks from i on within the window and the most bytes of a
// GET, chunk i whatever its size.
func demand(m stored.Map, i int, window, most int64, missing func(i int) bool) run {
	r := run{i, i + 1}
	bytes := int64(m.Room(i))
	for r.to < len(m.Chunks) && missing(r.to) {
		bytes += int64(m.Room(r.to))
		if bytes > min(window, most) {
			break
		}
		r.to++
	}
	return r
}

// together is the size of the chunks i to last.
func together(m stored.Map, i, last int) (bytes int64) {
	for ; i <= last; i++ {
		bytes += int64(m.Room(i))
	}
	return bytes
}

// further is the GET to start for a reader that is at chunk i, if any, and how many bytes of the window lie behind the end of
// the segment. So that GETs are large, it is not started before half of the window is missing, or all that is left of
// the segment.
func further(m stored.Map, i int, window, most int64, missing func(i int) bool) (r run, beyond int64) {
	left := window - int64(m.Room(i))
	j := i + 1
	for ; j < len(m.Chunks) && !missing(j); j++ {
		left -= int64(m.Room(j))
	}
	r = run{j, j}
	var bytes int64
	for r.to < len(m.Chunks) && missing(r.to) {
		n := int64(m.Room(r.to))
		if n > left || bytes+n > most {
			break
		}
		bytes, left = bytes+n, left-n
		r.to++
	}
	atEnd := r.to == len(m.Chunks)
	if atEnd {
		beyond = max(left, 0)
	}
	if !atEnd && bytes < min(window/2, most) {
		return run{}, beyond
	}
	return r, beyond
}

// history is how large the window was when a chunk was last read, for the most recently read chunks. A reader that comes to
// the chunk after one in the history reads in sequence, whoever read the one before: the broker opens a new stream for
// every fetch.
type history struct {
	windows map[chunkKey]*list.Element
	order   list.List // of windowAt, oldest first
	most    int
}

type windowAt struct {
	key    chunkKey
	window int64
}

func newHistory(most int) *history {
	return &history{windows: map[chunkKey]*list.Element{}, most: most}
}

func (h *history) of(key chunkKey) (window int64, ok bool) {
	el, ok := h.windows[key]
	if !ok {
		return 0, false
	}
	return el.Value.(windowAt).window, true
}

func (h *history) note(key chunkKey, window int64) {
	if el, ok := h.windows[key]; ok {
		el.Value = windowAt{key, window}
		h.order.MoveToBack(el)
		return
	}
	h.windows[key] = h.order.PushBack(windowAt{key, window})
	if h.order.Len() > h.most {
		oldest := h.order.Remove(h.order.Front()).(windowAt)
		delete(h.windows, oldest.key)
	}
}

// window is how far a reader at chunk i may be ahead: one chunk after a jump, twice as far with each chunk in sequence. start
// is that of the first chunk of a segment: not zero if the one before was read to its end.
func (h *history) window(key chunkKey, size, start, most int64) int64 {
	w := size
	before, sequential := h.of(chunkKey{key.log, key.chunk - 1})
	if sequential {
		w = 2 * before
	} else if key.chunk == 0 {
		w = max(w, start)
	}
	if again, ok := h.of(key); ok {
		w = max(w, again)
	}
	return max(min(w, most), size)
}
