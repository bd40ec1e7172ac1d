package stored

import (
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/status"
)

func TestManifestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := draw(t)
		got, err := DecodeManifest(want.Encode())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("round trip (-want +got):\n%s", d)
		}
	})
}

// draw makes a random valid manifest.
func draw(t *rapid.T) Manifest {
	id := rapid.Custom(func(t *rapid.T) [16]byte {
		return [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
	})
	chunk := rapid.Int32Range(MinChunkSize, MaxChunkSize).Draw(t, "chunk size")
	m := Map{Size: rapid.Int64Range(0, min(maxSegment, 40*int64(chunk))).Draw(t, "size"), ChunkSize: chunk}
	compressed, sealed := rapid.Bool().Draw(t, "compressed"), rapid.Bool().Draw(t, "sealed")
	for at := int64(0); at < m.Size; {
		c := Chunk{Original: at, Stored: m.StoredSize, CRC: rapid.Uint32().Draw(t, "crc")}
		n := min(int64(chunk), m.Size-at)
		if (compressed || sealed) && n > int64(chunk)/2 && rapid.Bool().Draw(t, "cut") {
			n = max(int64(chunk/4), n/2)
		}
		c.StoredSize = int32(n)
		if compressed && n > 1 && rapid.Bool().Draw(t, "this one") {
			c.StoredSize, c.Form = rapid.Int32Range(1, int32(n-1)).Draw(t, "stored"), Compressed
		}
		if sealed {
			c.StoredSize, c.Form = c.StoredSize+tagSize, c.Form|Sealed
		}
		m.Chunks = append(m.Chunks, c)
		m.StoredSize += int64(c.StoredSize)
		at += n
	}
	base := rapid.Int64Range(0, 1<<60).Draw(t, "base")
	out := Manifest{
		Identity: Identity{TopicID: id.Draw(t, "topic id"), Partition: rapid.Int32Range(0, 1<<30).Draw(t, "partition"),
			SegmentID: id.Draw(t, "segment id"), BaseOffset: base},
		Topic: rapid.StringN(0, 249, 249).Draw(t, "topic"), EndOffset: rapid.Int64Range(base-1, 1<<61).Draw(t, "end"),
		MaxTimestamp: rapid.Int64().Draw(t, "timestamp"), Map: m,
		Writer: rapid.StringN(0, 20, 80).Draw(t, "writer"), BrokerID: rapid.Int32().Draw(t, "broker"),
	}
	if sealed {
		out.KeyID = rapid.StringN(1, 20, 80).Draw(t, "key id")
		out.WrappedKey = rapid.SliceOfN(rapid.Byte(), WrappedKeySize, WrappedKeySize).Draw(t, "wrapped key")
		out.Seal = rapid.SliceOfN(rapid.Byte(), tagSize, tagSize).Draw(t, "seal")
	}
	var at int64
	for _, k := range rapid.Permutation([]IndexKind{1, 2, 3, 4, 5, 9}).Draw(t, "order") {
		size := rapid.Int32Range(tagSize, 1<<20).Draw(t, "index size")
		out.Indexes = append(out.Indexes, Index{Kind: k, Offset: at, Size: size, CRC: rapid.Uint32().Draw(t, "index crc")})
		at += int64(size)
	}
	return out
}

func TestManifestCheck(t *testing.T) {
	cases := map[string]func(*Manifest){
		"base":       func(m *Manifest) { m.BaseOffset = -1 },
		"end":        func(m *Manifest) { m.EndOffset = m.BaseOffset - 2 },
		"partition":  func(m *Manifest) { m.Partition = -1 },
		"topic":      func(m *Manifest) { m.Topic = "\xff" },
		"twice":      func(m *Manifest) { m.Indexes[1].Kind = m.Indexes[0].Kind },
		"kind 0":     func(m *Manifest) { m.Indexes[4].Kind = 0 },
		"gap":        func(m *Manifest) { m.Indexes[2].Offset++ },
		"negative":   func(m *Manifest) { m.Indexes[4].Size = -1 },
		"missing":    func(m *Manifest) { m.Indexes = m.Indexes[:3] },
		"chunk map":  func(m *Manifest) { m.Map.Chunks[0].Stored = 1 },
		"chunk size": func(m *Manifest) { m.Map.ChunkSize = 3 },
		"form":       func(m *Manifest) { m.Map.Chunks[0].Form = Compressed },
		"sealed one": func(m *Manifest) {
			m.Map.Chunks[0].Form, m.Map.Chunks[0].StoredSize = Sealed, m.Map.Chunks[0].StoredSize+tagSize
		},
		"key alone": func(m *Manifest) { m.WrappedKey = make([]byte, WrappedKeySize) },
		"plain key": func(m *Manifest) {
			m.KeyID, m.WrappedKey, m.Seal = "k", make([]byte, WrappedKeySize), make([]byte, tagSize)
		},
	}
	for name, damage := range cases {
		m, contents := sample()
		data, err := EncodeSidecar(m, contents, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := DecodeSidecar(data)
		if err != nil {
			t.Fatal(err)
		}
		bad := s.Manifest
		damage(&bad)
		if _, err := DecodeManifest(bad.Encode()); !status.Is(err, status.Corrupt) {
			t.Errorf("%s: %v, want Corrupt", name, err)
		}
	}
}

// A form of a later release is named, not misread.
func TestManifestUnknownForm(t *testing.T) {
	m, contents := sample()
	data, err := EncodeSidecar(m, contents, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := DecodeSidecar(data)
	if err != nil {
		t.Fatal(err)
	}
	s.Manifest.Map.Chunks[0].Form = 4
	if _, err := DecodeManifest(s.Manifest.Encode()); !status.Is(err, status.Unsupported) {
		t.Errorf("form 4: %v, want Unsupported", err)
	}
}

// A FlatBuffer that lies, under a frame that does not.
func TestManifestHostile(t *testing.T) {
	good, _ := sample()
	good.Indexes = []Index{{Kind: 1}, {Kind: 2}, {Kind: 3}, {Kind: 5}}
	payload := good.Encode()[manifestHeader:]
	if _, err := DecodeManifest(frameManifest(payload, plainFormat)); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	for i := range payload {
		for _, v := range []byte{0, 0x7f, 0x80, 0xff, payload[i] ^ 1} {
			p := append([]byte(nil), payload...)
			p[i] = v
			if _, err := DecodeManifest(frameManifest(p, plainFormat)); err != nil && !status.Is(err, status.Corrupt) && !status.Is(err, status.Unsupported) {
				t.Fatalf("byte %d = %02x: %v", i, v, err)
			}
		}
	}
	for _, p := range [][]byte{{}, {1}, {0, 0, 0, 0}, {255, 255, 255, 255}, make([]byte, 64)} {
		if _, err := DecodeManifest(frameManifest(p, plainFormat)); !status.Is(err, status.Corrupt) {
			t.Errorf("payload %x: %v, want Corrupt", p, err)
		}
	}
}

func TestManifestNewerVersion(t *testing.T) {
	m, _ := sample()
	framed := m.Encode()
	payload := framed[manifestHeader:]
	out := make([]byte, manifestHeader)
	copy(out, framed[:manifestHeader])
	out[4] = Format + 1
	flatbuffers.WriteUint32(out[12:], sum(out[:12], payload))
	if _, err := DecodeManifest(append(out, payload...)); !status.Is(err, status.Unsupported) {
		t.Errorf("newer version: %v, want Unsupported", err)
	}
}

func FuzzManifest(f *testing.F) {
	m, _ := sample()
	m.Indexes = []Index{{Kind: 1}, {Kind: 2}, {Kind: 3}, {Kind: 5}}
	f.Add(m.Encode()[manifestHeader:], false)
	m.Map.Chunks[0].Form, m.Map.Chunks[0].StoredSize = Compressed, 9
	f.Add(m.Encode()[manifestHeader:], true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, payload []byte, newer bool) {
		format := byte(plainFormat)
		if newer {
			format = sealedFormat
		}
		got, err := DecodeManifest(frameManifest(payload, format))
		if err != nil {
			if c := status.Of(err); c != status.Corrupt && c != status.Unsupported {
				t.Fatalf("class %v: %v", c, err)
			}
			return
		}
		if again, err := DecodeManifest(got.Encode()); err != nil || !cmp.Equal(got, again) {
			t.Fatalf("accepted but does not round trip: %v\n%s", err, cmp.Diff(got, again))
		}
	})
}
