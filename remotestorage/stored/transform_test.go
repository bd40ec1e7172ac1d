package stored

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/status"
)

// oneKey is a key ring of tests: wrapping is the exclusive or with the context, so that another segment's context gives another key.
type oneKey struct{ id string }

func (k oneKey) wrap(dataKey []byte, aad []byte) []byte {
	out := make([]byte, WrappedKeySize)
	copy(out, dataKey)
	for i, b := range aad {
		out[i%DataKeySize] ^= b
	}
	return out
}

func (k oneKey) Unwrap(id string, wrapped, aad []byte) ([]byte, error) {
	if id != k.id {
		return nil, status.Errorf(status.Unsupported, "no key %q", id)
	}
	return k.wrap(wrapped[:DataKeySize], aad)[:DataKeySize], nil
}

var testID = Identity{TopicID: [16]byte{1, 2}, Partition: 3, SegmentID: [16]byte{4, 5}, BaseOffset: 77}

func testSealer(t testing.TB) (*Sealer, []byte) {
	t.Helper()
	dataKey := bytes.Repeat([]byte{7}, DataKeySize)
	s, err := NewSealer(testID, dataKey)
	if err != nil {
		t.Fatal(err)
	}
	return s, oneKey{"k1"}.wrap(dataKey, WrapContext(testID))
}

func testCodecs(t testing.TB) (*Compressor, *Decompressor) {
	t.Helper()
	c, err := NewCompressor(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecompressor(1)
	if err != nil {
		t.Fatal(err)
	}
	return c, d
}

// transformed is one segment as it is stored.
type transformed struct {
	m       Manifest
	object  []byte
	sidecar []byte
	indexes []Content
}

// batch is a run of bytes of one kind.
type batch struct {
	bytes        []byte
	compressible bool
}

func transform(t testing.TB, chunk int32, tr Transform, wrapped []byte, batches []batch) transformed {
	t.Helper()
	var out transformed
	w := NewTransformer(chunk, tr, func(c Chunk, data []byte) error {
		if int64(len(out.object)) != c.Stored {
			t.Fatalf("chunk at %d comes after %d bytes", c.Stored, len(out.object))
		}
		out.object = append(out.object, data...)
		return nil
	})
	for _, b := range batches {
		if err := w.Write(b.bytes, b.compressible); err != nil {
			t.Fatal(err)
		}
	}
	m, whole, err := w.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if whole != CRC(out.object) {
		t.Fatalf("CRC of the whole %08x, want %08x", whole, CRC(out.object))
	}
	_, out.indexes = sample()
	out.m = Manifest{Identity: testID, Topic: "orders", EndOffset: 99, Map: m, Writer: "test"}
	if tr.Sealer != nil {
		out.m.KeyID, out.m.WrappedKey = "k1", wrapped
	}
	if out.sidecar, err = EncodeSidecar(out.m, out.indexes, tr.Sealer); err != nil {
		t.Fatal(err)
	}
	return out
}

// original reads the whole segment back from its two objects.
func (x transformed) original(keys Keys, z *Decompressor) ([]byte, error) {
	s, err := DecodeSidecar(x.sidecar)
	if err != nil {
		return nil, err
	}
	if s, err = s.Open(keys); err != nil {
		return nil, err
	}
	for _, want := range x.indexes {
		if got, ok := s.Index(want.Kind); !ok || !bytes.Equal(got, want.Bytes) {
			return nil, status.Errorf(status.Internal, "%s came back as %q, %v", want.Kind, got, ok)
		}
	}
	var out []byte
	m, d := s.Manifest.Map, s.Decoder(z)
	for i, c := range m.Chunks {
		memory := make([]byte, c.StoredSize, m.Room(i))
		copy(memory, x.object[c.Stored:])
		data, err := d.Decode(i, memory, make([]byte, 0, d.Scratch(i)))
		if err != nil {
			return nil, err
		}
		out = append(out, data...)
	}
	return out, nil
}

// Whatever the batches and whatever is done to them, the segment comes back byte for byte.
func TestTransformMapsBack(t *testing.T) {
	sealer, wrapped := testSealer(t)
	compressor, z := testCodecs(t)
	rapid.Check(t, func(rt *rapid.T) {
		tr := Transform{}
		if rapid.Bool().Draw(rt, "compressed") {
			tr.Compressor = compressor
		}
		if rapid.Bool().Draw(rt, "sealed") {
			tr.Sealer = sealer
		}
		var want []byte
		var batches []batch
		noise := uint32(1)
		for range rapid.IntRange(0, 12).Draw(rt, "batches") {
			b := batch{pattern(rapid.IntRange(1, 100_000).Draw(rt, "size")), rapid.Bool().Draw(rt, "compressible")}
			if rapid.Bool().Draw(rt, "noise") {
				for i := range b.bytes {
					noise = noise*1664525 + 1013904223
					b.bytes[i] = byte(noise >> 24)
				}
			}
			batches, want = append(batches, b), append(want, b.bytes...)
		}
		x := transform(t, rapid.Int32Range(MinChunkSize, 2*MinChunkSize).Draw(rt, "chunk"), tr, wrapped, batches)
		got, err := x.original(oneKey{"k1"}, z)
		if err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("%d bytes came back as %d, equal %v: %v", len(want), len(got), bytes.Equal(got, want), err)
		}
		if m := x.m.Map; len(want) > 0 {
			pos := rapid.Int64Range(0, m.Size-1).Draw(rt, "pos")
			if i := m.Index(pos); m.Chunks[i].Original > pos || pos >= m.Chunks[i].Original+m.OriginalSize(i) {
				rt.Fatalf("byte %d is said to be in chunk %d: %+v", pos, i, m.Chunks[i])
			}
		}
		if tr.Sealer != nil && len(want) > 0 && !x.m.Map.Transformed() {
			rt.Fatal("sealed, but not transformed")
		}
	})
}

// Batches that are compressed already are stored as they are; those beside them are not.
func TestTransformDecidesByBatch(t *testing.T) {
	compressor, _ := testCodecs(t)
	text := bytes.Repeat([]byte("a line of text that repeats; "), 4*MinChunkSize/29)
	x := transform(t, MinChunkSize, Transform{Compressor: compressor}, nil, []batch{{text, true}, {text, false}, {text[:100], true}, {text, false}, {text, true}})
	forms := map[Form]int64{}
	for i, c := range x.m.Map.Chunks {
		forms[c.Form] += x.m.Map.OriginalSize(i)
	}
	n := int64(len(text))
	if plain := forms[0]; plain < 2*n-MinChunkSize || plain > 2*n+MinChunkSize {
		t.Errorf("%d bytes are plain, want about %d: %v", plain, 2*n, forms)
	}
	if x.m.Map.StoredSize > 2*n+n/4 {
		t.Errorf("%d bytes are stored as %d", x.m.Map.Size, x.m.Map.StoredSize)
	}
	if f := x.m.format(); f != sealedFormat {
		t.Errorf("format %d", f)
	}
}

// A full encrypted chunk takes as much memory as any: a tag more would cost a whole step of buffer sizes.
func TestTransformFillsChunksWithTheirTag(t *testing.T) {
	sealer, wrapped := testSealer(t)
	x := transform(t, MinChunkSize, Transform{Sealer: sealer}, wrapped, []batch{{pattern(3 * MinChunkSize), false}})
	if m := x.m.Map; m.Chunks[0].StoredSize != MinChunkSize || m.Room(0) != MinChunkSize {
		t.Errorf("chunk 0: %d bytes stored, room of %d", m.Chunks[0].StoredSize, m.Room(0))
	}
}

// What nothing is done to stays in format 1, which older releases read.
func TestTransformThatSavesNothing(t *testing.T) {
	compressor, _ := testCodecs(t)
	x := transform(t, MinChunkSize, Transform{Compressor: compressor}, nil, []batch{{pattern(3 * MinChunkSize), false}})
	if x.m.format() != plainFormat || x.m.Map.Transformed() {
		t.Errorf("format %d, transformed %v", x.m.format(), x.m.Map.Transformed())
	}
}
