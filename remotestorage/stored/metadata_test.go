package stored

import (
	"encoding/binary"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/status"
)

func TestMetadataGolden(t *testing.T) {
	golden(t, "custom-metadata.hex", Metadata{Size: 150_000, CRC: 0xdeadbeef, SidecarSize: 465, SidecarCRC: 0x01020304, ChunkSize: MinChunkSize}.Encode())
	largest := Metadata{Size: math.MaxInt64, CRC: math.MaxUint32, SidecarSize: math.MaxInt32, SidecarCRC: math.MaxUint32, Transformed: true, ChunkSize: math.MaxInt32}.Encode()
	golden(t, "custom-metadata-largest.hex", largest)
	if len(largest) > MaxMetadata {
		t.Errorf("%d bytes: more than %d stop the tiering of the partition", len(largest), MaxMetadata)
	}
}

func TestMetadataRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Metadata{
			Size: rapid.Int64Range(0, maxSegment).Draw(t, "size"), CRC: rapid.Uint32().Draw(t, "crc"),
			SidecarSize: rapid.Int32Range(0, math.MaxInt32).Draw(t, "sidecar"), SidecarCRC: rapid.Uint32().Draw(t, "sidecar crc"),
			ChunkSize:   rapid.SampledFrom([]int32{0, MinChunkSize, 1 << 20, MaxChunkSize}).Draw(t, "chunk size"),
			Transformed: rapid.Bool().Draw(t, "transformed"),
		}
		data := want.Encode()
		if len(data) > MaxMetadata {
			t.Fatalf("%d bytes", len(data))
		}
		if got, err := DecodeMetadata(data); err != nil || got != want {
			t.Fatalf("got %+v, %v, want %+v", got, err, want)
		}
	})
}

func TestMetadataEveryDamageIsFound(t *testing.T) {
	data := Metadata{Size: 1, CRC: 2, SidecarSize: 3, SidecarCRC: 4}.Encode()
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			if _, err := DecodeMetadata(data); !status.Is(err, status.Corrupt) {
				t.Fatalf("bit %d of byte %d: %v, want Corrupt", bit, i, err)
			}
			data[i] ^= 1 << bit
		}
		if _, err := DecodeMetadata(data[:i]); !status.Is(err, status.Corrupt) {
			t.Fatalf("first %d bytes: %v, want Corrupt", i, err)
		}
	}
	if _, err := DecodeMetadata(append(data, 0)); !status.Is(err, status.Corrupt) {
		t.Errorf("one byte more: %v, want Corrupt", err)
	}
}

// The layout in the custom metadata is that of the manifest, but for the checksums.
func TestMetadataLayoutIsThatOfTheManifest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{0, 1, MinChunkSize - 1, MinChunkSize, MinChunkSize + 1, 3*MinChunkSize + 7}).Draw(t, "size")
		c := NewChunker(MinChunkSize)
		c.Write(make([]byte, size))
		want, crc := c.Finish()
		meta, err := DecodeMetadata(Metadata{Size: int64(size), CRC: crc, ChunkSize: MinChunkSize}.Encode())
		if err != nil {
			t.Fatal(err)
		}
		got, ok := meta.Layout()
		for i := range got.Chunks {
			if got.Chunks[i].CRC != 0 {
				t.Fatalf("chunk %d has a checksum", i)
			}
			got.Chunks[i].CRC = want.Chunks[i].CRC
		}
		if err := got.check(); !ok || err != nil || len(got.Chunks) != len(want.Chunks) {
			t.Fatalf("%v, %v: %d chunks of %d bytes, want %d", ok, err, len(got.Chunks), got.Size, len(want.Chunks))
		}
	})
	for _, m := range []Metadata{{Size: 5}, {Size: 5, ChunkSize: MinChunkSize, Transformed: true}} {
		if _, ok := m.Layout(); ok {
			t.Errorf("%+v tells a layout", m)
		}
	}
	for _, size := range []int32{-1, 1, MinChunkSize - 1, MaxChunkSize + 1} {
		if _, err := DecodeMetadata(Metadata{ChunkSize: size}.Encode()); !status.Is(err, status.Corrupt) {
			t.Errorf("chunk size %d: %v, want Corrupt", size, err)
		}
	}
}

// Format 1 cannot say that the log object is transformed: a release that knows only format 1 must refuse what it cannot read.
func TestMetadataTransformedIsNewer(t *testing.T) {
	data := Metadata{Transformed: true}.Encode()
	if data[1] != sealedFormat {
		t.Fatalf("transformed in format %d", data[1])
	}
	data[1] = plainFormat
	binary.LittleEndian.PutUint32(data[4:], sum(data[:4], data[metadataHeader:]))
	if _, err := DecodeMetadata(data); !status.Is(err, status.Corrupt) {
		t.Errorf("transformed in format 1: %v, want Corrupt", err)
	}
}

func FuzzCustomMetadata(f *testing.F) {
	good := Metadata{Size: 5, CRC: 6, SidecarSize: 7, SidecarCRC: 8}.Encode()
	f.Add(good)
	f.Add(good[metadataHeader:])
	f.Fuzz(func(t *testing.T, data []byte) {
		check := func(p []byte) {
			if _, err := DecodeMetadata(p); err != nil && !status.Is(err, status.Corrupt) && !status.Is(err, status.Unsupported) {
				t.Fatalf("class %v: %v", status.Of(err), err)
			}
		}
		check(data)
		if len(data) <= MaxMetadata-metadataHeader { // the same as a payload under a correct frame
			p := append([]byte{metadataMagic, plainFormat, byte(len(data)), 0, 0, 0, 0, 0}, data...)
			c := sum(p[:4], data)
			p[4], p[5], p[6], p[7] = byte(c), byte(c>>8), byte(c>>16), byte(c>>24)
			check(p)
		}
	})
}
