package fetch

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

func TestStreamDeliversExactlyTheRange(t *testing.T) {
	m, f := setup(t, nil)
	ref, data := m.put(t, 1, 5*stored.MinChunkSize+777)
	rapid.Check(t, func(rt *rapid.T) {
		start := rapid.Int64Range(0, int64(len(data))).Draw(rt, "start")
		end := rapid.Int64Range(start, int64(len(data))+10).Draw(rt, "end")
		want := data[start:min(end, int64(len(data)))]
		s, total, err := f.Open(deadline(t), ref, start, end)
		if err != nil || total != int64(len(want)) {
			rt.Fatalf("open [%d, %d): total %d, %v", start, end, total, err)
		}
		defer s.Close()
		var got []byte
		dst := make([]byte, rapid.IntRange(500, 200_000).Draw(rt, "buffer"))
		for {
			n, err := s.Next(deadline(t), dst)
			if err != nil {
				rt.Fatal(err)
			}
			if n == 0 {
				break
			}
			got = append(got, dst[:n]...)
		}
		if !bytes.Equal(got, want) {
			rt.Fatalf("[%d, %d): %d bytes differ from %d", start, end, len(got), len(want))
		}
	})
}

func TestOpenRefusesAndCloses(t *testing.T) {
	m, f := setup(t, nil)
	ref, _ := m.put(t, 1, 100)
	for _, r := range [][2]int64{{-1, -1}, {101, -1}, {50, 49}} {
		if _, _, err := f.Open(deadline(t), ref, r[0], r[1]); !status.Is(err, status.Invalid) {
			t.Errorf("range %v: %v, want Invalid", r, err)
		}
	}
	s, total, err := f.Open(deadline(t), ref, 100, -1)
	if err != nil || total != 0 {
		t.Fatalf("at the end: %d, %v", total, err)
	}
	s.Close()
	s.Close()
	if _, err := s.Next(deadline(t), make([]byte, 1)); !status.Is(err, status.Closed) {
		t.Errorf("after close: %v, want Closed", err)
	}
}

func TestEmptySegment(t *testing.T) {
	m, f := setup(t, nil)
	ref, _ := m.put(t, 1, 0)
	s, total, err := f.Open(deadline(t), ref, 0, -1)
	if err != nil || total != 0 {
		t.Fatalf("open: %d, %v", total, err)
	}
	if n, err := s.Next(deadline(t), make([]byte, 10)); n != 0 || err != nil {
		t.Errorf("next: %d, %v", n, err)
	}
}
