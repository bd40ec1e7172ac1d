package stored

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/status"
)

// Any range over any chunk size maps to spans that hold exactly the bytes of the range.
func TestSpansMapBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := pattern(rapid.IntRange(0, 300_000).Draw(t, "size"))
		c := NewChunker(rapid.Int32Range(MinChunkSize, 2*MinChunkSize).Draw(t, "chunk"))
		for at := 0; at < len(data); {
			n := min(rapid.IntRange(1, 100_000).Draw(t, "write"), len(data)-at)
			c.Write(data[at : at+n])
			at += n
		}
		m, whole := c.Finish()
		if err := m.check(); err != nil {
			t.Fatalf("chunker made a bad map: %v", err)
		}
		if whole != CRC(data) || m.Size != int64(len(data)) {
			t.Fatalf("whole: size %d CRC %08x, want %d %08x", m.Size, whole, len(data), CRC(data))
		}
		for i, k := range m.Chunks {
			if got := CRC(data[k.Stored : k.Stored+int64(k.StoredSize)]); got != k.CRC {
				t.Fatalf("chunk %d: CRC %08x, want %08x", i, k.CRC, got)
			}
		}
		start := rapid.Int64Range(0, m.Size).Draw(t, "start")
		end := rapid.Int64Range(start, m.Size).Draw(t, "end")
		spans, err := m.Spans(start, end)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for _, s := range spans {
			if s.From >= s.To || s.To > m.OriginalSize(s.Chunk) {
				t.Fatalf("span %+v of a chunk of %d", s, m.OriginalSize(s.Chunk))
			}
			k := m.Chunks[s.Chunk]
			got = append(got, data[k.Stored+s.From:k.Stored+s.To]...)
		}
		if !bytes.Equal(got, data[start:end]) {
			t.Fatalf("[%d, %d) came back as %d other bytes", start, end, len(got))
		}
	})
}

func TestSpansRefuse(t *testing.T) {
	m := Map{Size: 100, StoredSize: 100, ChunkSize: MinChunkSize}
	for _, r := range [][2]int64{{-1, 5}, {5, 4}, {0, 101}, {101, 101}} {
		if _, err := m.Spans(r[0], r[1]); !status.Is(err, status.Invalid) {
			t.Errorf("range %v: %v, want Invalid", r, err)
		}
	}
}

func TestMapCheck(t *testing.T) {
	good := func() Map {
		c := NewChunker(MinChunkSize)
		c.Write(make([]byte, MinChunkSize+10))
		m, _ := c.Finish()
		return m
	}
	cases := map[string]func(*Map){
		"size":        func(m *Map) { m.Size++ },
		"negative":    func(m *Map) { m.Size, m.StoredSize = -1, -1 },
		"stored size": func(m *Map) { m.StoredSize-- },
		"chunk size":  func(m *Map) { m.ChunkSize = 0 },
		"fewer":       func(m *Map) { m.Chunks = m.Chunks[:1] },
		"gap":         func(m *Map) { m.Chunks[1].Stored++ },
		"short":       func(m *Map) { m.Chunks[1].StoredSize-- },
		"original":    func(m *Map) { m.Chunks[0].Original = 7 },
	}
	for name, damage := range cases {
		m := good()
		damage(&m)
		if err := m.check(); !status.Is(err, status.Corrupt) {
			t.Errorf("%s: %v, want Corrupt", name, err)
		}
	}
	if err := good().check(); err != nil {
		t.Error(err)
	}
}

func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7 + i>>8)
	}
	return p
}
