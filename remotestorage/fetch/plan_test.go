package fetch

import (
	"testing"

	"pgregory.net/rapid"

	"tidemark/remotestorage/stored"
)

func mapOf(chunks int, size int32) stored.Map {
	m := stored.Map{ChunkSize: size}
	for i := range chunks {
		m.Chunks = append(m.Chunks, stored.Chunk{Original: int64(i) * int64(size), Stored: int64(i) * int64(size), StoredSize: size})
	}
	m.Size = int64(chunks) * int64(size)
	m.StoredSize = m.Size
	return m
}

// Whatever is there already: a GET has only missing chunks, in a row, no more bytes than allowed, and the demanded one.
func TestPlanOfAnyState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "chunks")
		m := mapOf(n, stored.MinChunkSize)
		there := rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "there")
		i := rapid.IntRange(0, n-1).Draw(t, "at")
		window := rapid.Int64Range(1, 70*stored.MinChunkSize).Draw(t, "window")
		most := rapid.Int64Range(1, 70*stored.MinChunkSize).Draw(t, "largest GET")
		missing := func(j int) bool { return !there[j] }
		check := func(what string, r run, from int) {
			for j := r.from; j < r.to; j++ {
				if there[j] {
					t.Fatalf("%s %v fetches chunk %d, which is there", what, r, j)
				}
			}
			if r.len() == 0 {
				return
			}
			if r.from < from || r.to > n || int64(r.len())*stored.MinChunkSize > max(most, stored.MinChunkSize) {
				t.Fatalf("%s %v of %d chunks from %d on", what, r, n, from)
			}
			if last := int64(r.to-i) * stored.MinChunkSize; last > max(window, stored.MinChunkSize) {
				t.Fatalf("%s %v reaches beyond the window", what, r)
			}
		}
		if !there[i] {
			r := demand(m, i, window, most, missing)
			check("demand", r, i)
			if r.from != i || r.len() < 1 {
				t.Fatalf("demand of chunk %d is %v", i, r)
			}
		}
		r, beyond := further(m, i, window, most, missing)
		check("ahead", r, i+1)
		if beyond < 0 || beyond > window || beyond > 0 && r.to != n && r.len() > 0 {
			t.Fatalf("%v, %d bytes beyond the end", r, beyond)
		}
	})
}

// A reader in sequence gets few, large GETs; each chunk once; one that jumps gets what it asks for.
func TestPlanOfSequenceAndJumps(t *testing.T) {
	const mib = 1 << 20
	m := mapOf(100, mib)
	there := map[int]bool{}
	missing := func(j int) bool { return !there[j] }
	h := newHistory(1000)
	var gets []int
	take := func(r run) {
		for j := r.from; j < r.to; j++ {
			if there[j] {
				t.Fatalf("chunk %d twice", j)
			}
			there[j] = true
		}
		if r.len() > 0 {
			gets = append(gets, r.len())
		}
	}
	read := func(i int, start int64) {
		w := h.window(chunkKey{"a", i}, mib, start, 64*mib)
		if missing(i) {
			take(demand(m, i, w, 32*mib, missing))
		}
		h.note(chunkKey{"a", i}, w)
		r, _ := further(m, i, w, 32*mib, missing)
		take(r)
	}
	for i := range 100 {
		read(i, 0)
	}
	if len(gets) > 9 || len(there) != 100 {
		t.Errorf("GETs of %v MiB for 100 MiB from a cold start", gets)
	}
	there, gets, h = map[int]bool{}, nil, newHistory(1000)
	for i := range 100 {
		read(i, 64*mib)
	}
	if len(gets) > 5 || len(there) != 100 {
		t.Errorf("GETs of %v MiB for 100 MiB in the middle of a topic", gets)
	}
	there, gets, h = map[int]bool{}, nil, newHistory(1000)
	for _, i := range []int{50, 7, 80, 33} {
		read(i, 0)
	}
	if len(there) != 4 {
		t.Errorf("jumps fetched GETs of %v MiB, want 4 of 1", gets)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	h := newHistory(3)
	for i := range 10 {
		h.note(chunkKey{"a", i}, 1)
	}
	if len(h.windows) != 3 || h.order.Len() != 3 {
		t.Errorf("%d windows, %d in order", len(h.windows), h.order.Len())
	}
	if _, ok := h.of(chunkKey{"a", 9}); !ok {
		t.Error("the last is forgotten")
	}
}
