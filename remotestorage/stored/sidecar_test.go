package stored

import (
	"bytes"
	"testing"

	"tidemark/internal/status"
)

func encoded(t testing.TB) []byte {
	t.Helper()
	m, contents := sample()
	data, err := EncodeSidecar(m, contents, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSidecarGolden(t *testing.T) { golden(t, "sidecar.hex", encoded(t)) }

func TestSidecarRoundTrip(t *testing.T) {
	m, contents := sample()
	s, err := DecodeSidecar(encoded(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range contents {
		got, ok := s.Index(c.Kind)
		if !ok || !bytes.Equal(got, c.Bytes) {
			t.Errorf("%s: %q, %v", c.Kind, got, ok)
		}
	}
	if s.Manifest.Identity != m.Identity || s.Manifest.EndOffset != m.EndOffset {
		t.Errorf("manifest: %+v", s.Manifest)
	}
}

func TestSidecarWithoutTransactions(t *testing.T) {
	m, contents := sample()
	data, err := EncodeSidecar(m, contents[:4], nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := DecodeSidecar(data)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := s.Index(TransactionIndex); ok {
		t.Errorf("absent transaction index: %q", p)
	}
}

// The manifest can be found by two reads from the end.
func TestSidecarFromTheEnd(t *testing.T) {
	data := encoded(t)
	tr, err := DecodeTrailer(data[len(data)-TrailerSize:])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeManifest(data[tr.ManifestOffset : tr.ManifestOffset+int64(tr.ManifestSize)]); err != nil {
		t.Error(err)
	}
}

func TestSidecarEveryByteFlipIsFound(t *testing.T) {
	data := encoded(t)
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

func TestSidecarEveryCutIsFound(t *testing.T) {
	data := encoded(t)
	for n := range data {
		if _, err := DecodeSidecar(data[:n]); !status.Is(err, status.Corrupt) {
			t.Fatalf("first %d bytes: %v, want Corrupt", n, err)
		}
		if n > 0 {
			if _, err := DecodeSidecar(data[n:]); !status.Is(err, status.Corrupt) {
				t.Fatalf("from byte %d: %v, want Corrupt", n, err)
			}
		}
	}
	if _, err := DecodeSidecar(append(bytes.Clone(data), 0)); !status.Is(err, status.Corrupt) {
		t.Errorf("one byte more: %v, want Corrupt", err)
	}
}

func TestEncodeSidecarRefuses(t *testing.T) {
	m, contents := sample()
	if _, err := EncodeSidecar(m, contents[1:], nil); !status.Is(err, status.Invalid) {
		t.Errorf("without offset index: %v, want Invalid", err)
	}
	m.Map.Size++
	if _, err := EncodeSidecar(m, contents, nil); !status.Is(err, status.Invalid) {
		t.Errorf("bad map: %v, want Invalid", err)
	}
}

func FuzzSidecar(f *testing.F) {
	f.Add(encoded(f))
	f.Add([]byte("TIDEMARK"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := DecodeSidecar(data)
		if err != nil {
			if c := status.Of(err); c != status.Corrupt && c != status.Unsupported {
				t.Fatalf("class %v: %v", c, err)
			}
			return
		}
		for k := range kindNames {
			s.Index(k)
		}
	})
}
