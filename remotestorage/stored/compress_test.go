package stored

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tidemark/internal/status"
)

// A frame that claims more than its chunk has is refused without making room for the claim.
func TestDecodeHostileFrame(t *testing.T) {
	compressor, z := testCodecs(t)
	x := transform(t, MinChunkSize, Transform{Compressor: compressor}, nil, []batch{{make([]byte, 2*MinChunkSize), true}})
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, frame := range map[string][]byte{
		"larger":  enc.EncodeAll(make([]byte, 64<<20), nil),
		"smaller": enc.EncodeAll(make([]byte, 10), nil),
		"two":     append(enc.EncodeAll(make([]byte, MinChunkSize), nil), enc.EncodeAll(make([]byte, 1), nil)...),
		"cut":     x.object[:4],
		"none":    {},
	} {
		d := Decoder{m: Map{Size: 2 * MinChunkSize, ChunkSize: MinChunkSize, Chunks: []Chunk{
			{StoredSize: int32(len(frame)), Form: Compressed}, {Original: MinChunkSize, Stored: int64(len(frame)), StoredSize: 1},
		}}, z: z}
		memory := append(make([]byte, 0, MinChunkSize), frame...)
		if _, err := d.Decode(0, memory, make([]byte, 0, len(frame))); !status.Is(err, status.Corrupt) {
			t.Errorf("%s: %v, want Corrupt", name, err)
		}
	}
}

func TestNewCompressorRefuses(t *testing.T) {
	for _, level := range []int{0, 20, -1} {
		if _, err := NewCompressor(level, 1); !status.Is(err, status.Invalid) {
			t.Errorf("level %d: %v, want Invalid", level, err)
		}
	}
	if _, err := NewSealer(testID, make([]byte, 16)); !status.Is(err, status.Invalid) {
		t.Errorf("short data key: %v, want Invalid", err)
	}
}

// Frames that were stored stay readable, whatever encoder made them.
func TestCompressedGolden(t *testing.T) {
	compressor, z := testCodecs(t)
	want := bytes.Repeat([]byte("Kafka"), 30_000)
	path := filepath.Join("testdata", "log-compressed.bin")
	x := transform(t, MinChunkSize, Transform{Compressor: compressor}, nil, []batch{{want, true}})
	if *update {
		if err := os.WriteFile(path, append(x.sidecar, x.object...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.Index(kept, []byte(trailerMagic)) + len(trailerMagic)
	x.sidecar, x.object = kept[:end], kept[end:]
	if got, err := x.original(nil, z); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, equal %v: %v", len(got), bytes.Equal(got, want), err)
	}
}
