package stored

import (
	"testing"

	"tidemark/internal/status"
)

// forged is the sidecar that somebody without the key makes of s: right checksums, another manifest.
func forged(t testing.TB, s *Sidecar, m Manifest) []byte {
	t.Helper()
	var indexes []Content
	for _, c := range s.Manifest.Indexes {
		p, _ := s.Index(c.Kind)
		indexes = append(indexes, Content{Kind: c.Kind, Bytes: p})
	}
	out, err := EncodeSidecar(m, indexes, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Somebody who can write objects, and makes all checksums right, cannot make an encrypted segment say anything else.
func TestSealFindsWhatChecksumsDoNot(t *testing.T) {
	sealer, wrapped := testSealer(t)
	_, z := testCodecs(t)
	fresh := func() transformed {
		return transform(t, MinChunkSize, Transform{Sealer: sealer}, wrapped, []batch{{pattern(2 * MinChunkSize), true}, {pattern(100), true}})
	}
	if _, err := fresh().original(oneKey{"k1"}, z); err != nil {
		t.Fatal(err)
	}
	again := func(x *transformed, m Manifest) {
		s, err := DecodeSidecar(x.sidecar)
		if err != nil {
			t.Fatal(err)
		}
		m.Seal = s.Manifest.Seal
		x.sidecar = forged(t, s, m)
	}
	cases := map[string]func(*transformed){
		"chunk bytes": func(x *transformed) { x.object[5] ^= 1 },
		"chunks exchanged": func(x *transformed) {
			n := MinChunkSize
			x.object = append(append(append([]byte(nil), x.object[n:2*n]...), x.object[:n]...), x.object[2*n:]...)
		},
		"end offset":  func(x *transformed) { m := x.m; m.EndOffset++; again(x, m) },
		"base offset": func(x *transformed) { m := x.m; m.BaseOffset--; again(x, m) },
		"topic":       func(x *transformed) { m := x.m; m.Topic = "other"; again(x, m) },
		"wrapped key": func(x *transformed) {
			m := x.m
			m.WrappedKey = append([]byte(nil), m.WrappedKey...)
			m.WrappedKey[0] ^= 1
			again(x, m)
		},
		"an index": func(x *transformed) {
			m := x.m
			s, _ := DecodeSidecar(x.sidecar)
			m.Seal = s.Manifest.Seal
			p, _ := s.Index(OffsetIndex)
			p[0] ^= 1
			x.sidecar = forged(t, s, m)
		},
	}
	for name, damage := range cases {
		x := fresh()
		damage(&x)
		if _, err := x.original(oneKey{"k1"}, z); !status.Is(err, status.Corrupt) {
			t.Errorf("%s: %v, want Corrupt", name, err)
		}
	}
	if _, err := fresh().original(nil, z); !status.Is(err, status.Unsupported) {
		t.Errorf("no key ring: %v, want Unsupported", err)
	}
	if _, err := fresh().original(oneKey{"k2"}, z); !status.Is(err, status.Unsupported) {
		t.Errorf("key that is not there: %v, want that of the ring", err)
	}
}

// A cache counts a sidecar with its stored size: an opened one has its indexes in memory once.
func TestAnOpenedSidecarKeepsNothingOfTheStoredBytes(t *testing.T) {
	sealer, wrapped := testSealer(t)
	data := transform(t, MinChunkSize, Transform{Sealer: sealer}, wrapped, []batch{{pattern(50), false}}).sidecar
	s, err := DecodeSidecar(data)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := s.Open(oneKey{"k1"})
	if err != nil {
		t.Fatal(err)
	}
	size, crc := int64(len(data)), CRC(data)
	clear(data)
	var plain int64
	for _, x := range opened.Manifest.Indexes {
		p, ok := opened.Index(x.Kind)
		if !ok {
			t.Errorf("no %s", x.Kind)
		}
		plain += int64(len(p))
	}
	if opened.data != nil || plain > size || opened.Size() != size || opened.CRC() != crc {
		t.Errorf("%d stored bytes kept, %d of indexes; %d bytes with CRC32C %08x, want %d and %08x", len(opened.data), plain, opened.Size(), opened.CRC(), size, crc)
	}
}

func TestSidecarSealedGolden(t *testing.T) {
	sealer, wrapped := testSealer(t)
	x := transform(t, MinChunkSize, Transform{Sealer: sealer}, wrapped, []batch{{pattern(50), false}})
	golden(t, "sidecar-encrypted.hex", x.sidecar)
	golden(t, "log-encrypted.hex", x.object)
}

// Every damage of an encrypted sidecar is found without a key.
func TestSidecarSealedEveryByteFlipIsFound(t *testing.T) {
	sealer, wrapped := testSealer(t)
	data := transform(t, MinChunkSize, Transform{Sealer: sealer}, wrapped, []batch{{pattern(50), false}}).sidecar
	for i := range data {
		for bit := range 8 {
			data[i] ^= 1 << bit
			if _, err := DecodeSidecar(data); !status.Is(err, status.Corrupt) {
				t.Fatalf("bit %d of byte %d: %v, want Corrupt", bit, i, err)
			}
			data[i] ^= 1 << bit
		}
	}
}

func FuzzSidecarOpen(f *testing.F) {
	sealer, wrapped := testSealer(f)
	compressor, z := testCodecs(f)
	x := transform(f, MinChunkSize, Transform{Compressor: compressor, Sealer: sealer}, wrapped, []batch{{make([]byte, MinChunkSize+5), true}})
	s, err := DecodeSidecar(x.sidecar)
	if err != nil {
		f.Fatal(err)
	}
	payload := s.Manifest.Encode()[manifestHeader:]
	f.Add(payload, x.object)
	f.Fuzz(func(t *testing.T, payload, object []byte) { // a manifest and an object under right checksums
		m, err := DecodeManifest(frameManifest(payload, sealedFormat))
		if err != nil {
			return
		}
		s := &Sidecar{Manifest: m, data: make([]byte, 1<<16)}
		for _, x := range m.Indexes {
			if x.Offset+int64(x.Size) > int64(len(s.data)) {
				return
			}
		}
		if _, err := s.Open(oneKey{"k1"}); err != nil && !status.Is(err, status.Corrupt) && !status.Is(err, status.Unsupported) {
			t.Fatalf("class %v: %v", status.Of(err), err)
		}
		for i, c := range m.Map.Chunks {
			if c.Form != Compressed || m.Map.Room(i) > 1<<20 || len(object) > int(c.StoredSize) {
				continue
			}
			memory := make([]byte, c.StoredSize, m.Map.Room(i))
			copy(memory, object)
			if _, err := s.Decoder(z).Decode(i, memory, make([]byte, c.StoredSize)); err != nil && !status.Is(err, status.Corrupt) {
				t.Fatalf("class %v: %v", status.Of(err), err)
			}
			return
		}
	})
}
