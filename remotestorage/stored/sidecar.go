package stored

import (
	"encoding/binary"
	"slices"

	"tidemark/internal/status"
)

// The trailer: the last 32 bytes of a sidecar.
const (
	TrailerSize  = 32
	trailerMagic = "TIDEMARK"
)

// MaxSidecarSize is the largest sidecar that is written or read. Kafka's indexes of one segment are bounded by
// segment.index.bytes (10 MiB by default) each; the leader epoch checkpoint and the producer snapshot grow with the
// partition.
const MaxSidecarSize = 256 << 20

// Content is one index on its way into a sidecar.
type Content struct {
	Kind  IndexKind
	Bytes []byte
}

// Sidecar is a decoded sidecar: the manifest and the indexes. It aliases the bytes it was decoded from, unless it was encrypted and opened.
type Sidecar struct {
	Manifest Manifest
	size     int64
	data     []byte // nil once an encrypted sidecar was opened: then crc is that of all of it
	crc      uint32
	plain    [][]byte // of Manifest.Indexes, once an encrypted sidecar was opened
	sealer   *Sealer  // of an encrypted sidecar that was opened
}

// EncodeSidecar lays out the sidecar of a segment. It fills m.Indexes itself from contents, in their order, encrypted if there is a sealer:
// then m has KeyID and WrappedKey, and the seal is made here. Too much content is Invalid; so is a manifest that would not decode again.
func EncodeSidecar(m Manifest, contents []Content, sealer *Sealer) ([]byte, error) {
	if sealer != nil {
		sealed := make([]Content, len(contents))
		for i, c := range contents {
			sealed[i] = Content{Kind: c.Kind, Bytes: sealer.sealIndex(c.Kind, c.Bytes)}
		}
		contents = sealed
	}
	m.Indexes = make([]Index, 0, len(contents))
	var at int64
	for _, c := range contents {
		if int64(len(c.Bytes)) > MaxSidecarSize-at {
			return nil, status.Errorf(status.Invalid, "indexes of %d bytes and more: a sidecar has at most %d", at+int64(len(c.Bytes)), MaxSidecarSize)
		}
		m.Indexes = append(m.Indexes, Index{Kind: c.Kind, Offset: at, Size: int32(len(c.Bytes)), CRC: CRC(c.Bytes)})
		at += int64(len(c.Bytes))
	}
	if sealer != nil {
		m.Seal = sealer.sealManifest(m)
	}
	if err := m.check(); err != nil {
		return nil, status.Errorf(status.Invalid, "sidecar: %w", err)
	}
	manifest := m.Encode()
	total := at + int64(len(manifest)) + TrailerSize
	if total > MaxSidecarSize {
		return nil, status.Errorf(status.Invalid, "a sidecar of %d bytes: at most %d", total, MaxSidecarSize)
	}
	out := make([]byte, 0, total)
	for _, c := range contents {
		out = append(out, c.Bytes...)
	}
	out = append(out, manifest...)
	return append(out, Trailer{ManifestOffset: at, ManifestSize: uint32(len(manifest)), ManifestCRC: CRC(manifest)}.encode(m.format())...), nil
}

// DecodeSidecar checks every byte of a sidecar. The result aliases data, which must not change after it.
func DecodeSidecar(data []byte) (*Sidecar, error) {
	if len(data) > MaxSidecarSize {
		return nil, status.Errorf(status.Corrupt, "sidecar: %d bytes, more than the largest of %d", len(data), MaxSidecarSize)
	}
	t, err := DecodeTrailer(data)
	if err != nil {
		return nil, err
	}
	if want := int64(len(data)) - TrailerSize; t.ManifestOffset > want || t.ManifestOffset+int64(t.ManifestSize) != want {
		return nil, status.Errorf(status.Corrupt, "sidecar: the manifest is said to be bytes [%d, %d), but the trailer starts at %d",
			t.ManifestOffset, t.ManifestOffset+int64(t.ManifestSize), want)
	}
	framed := data[t.ManifestOffset : len(data)-TrailerSize]
	if got := CRC(framed); got != t.ManifestCRC {
		return nil, status.Errorf(status.Corrupt, "sidecar: manifest at [%d, %d): CRC32C %08x, want %08x",
			t.ManifestOffset, len(data)-TrailerSize, got, t.ManifestCRC)
	}
	m, err := DecodeManifest(framed)
	if err != nil {
		return nil, err
	}
	s := &Sidecar{Manifest: m, size: int64(len(data)), data: data}
	var end int64
	for _, x := range m.Indexes {
		end = x.Offset + int64(x.Size)
		if end > t.ManifestOffset {
			return nil, status.Errorf(status.Corrupt, "sidecar: %s ends at %d, after the manifest's start at %d", x.Kind, end, t.ManifestOffset)
		}
		if got := CRC(data[x.Offset:end]); got != x.CRC {
			return nil, status.Errorf(status.Corrupt, "sidecar: %s at [%d, %d): CRC32C %08x, want %08x", x.Kind, x.Offset, end, got, x.CRC)
		}
	}
	if end != t.ManifestOffset {
		return nil, status.Errorf(status.Corrupt, "sidecar: indexes end at %d, the manifest starts at %d", end, t.ManifestOffset)
	}
	return s, nil
}

// Open returns the sidecar of an encrypted segment with its indexes as Kafka wrote them and what its chunks need to be decoded; another one
// returns itself. What it returns keeps nothing of the stored bytes of an encrypted one: its indexes are in memory once. keys may be nil: then an encrypted segment is Unsupported. Corrupt: something was changed on purpose. Other errors: those of keys.
func (s *Sidecar) Open(keys Keys) (*Sidecar, error) {
	m := s.Manifest
	if !m.Encrypted() || s.sealer != nil {
		return s, nil
	}
	if keys == nil {
		return nil, status.Errorf(status.Unsupported, "the segment is encrypted with key %q, and there is no key ring here: set segment.encryption.keys.file", m.KeyID)
	}
	dataKey, err := keys.Unwrap(m.KeyID, m.WrappedKey, WrapContext(m.Identity))
	if err != nil {
		return nil, err
	}
	opened := &Sidecar{Manifest: m, size: s.size, crc: s.CRC(), plain: make([][]byte, len(m.Indexes))}
	opened.sealer, err = NewSealer(m.Identity, dataKey)
	clear(dataKey)
	if err != nil {
		return nil, err
	}
	if err := opened.sealer.openManifest(m); err != nil {
		return nil, err
	}
	for i, x := range m.Indexes {
		if opened.plain[i], err = opened.sealer.openIndex(x.Kind, s.data[x.Offset:x.Offset+int64(x.Size)]); err != nil {
			return nil, err
		}
	}
	return opened, nil
}

// Decoder decodes the chunks of the segment. An encrypted sidecar must have been opened.
func (s *Sidecar) Decoder(z *Decompressor) Decoder {
	return Decoder{m: s.Manifest.Map, sealer: s.sealer, z: z}
}

// Index returns the bytes of an index, which alias the sidecar and must not be changed; ok is false if there is none. Those of an encrypted
// sidecar that was not opened are as they are stored.
func (s *Sidecar) Index(kind IndexKind) (p []byte, ok bool) {
	i := slices.IndexFunc(s.Manifest.Indexes, func(x Index) bool { return x.Kind == kind })
	if i < 0 {
		return nil, false
	}
	if s.plain != nil {
		return s.plain[i], true
	}
	x := s.Manifest.Indexes[i]
	return s.data[x.Offset : x.Offset+int64(x.Size) : x.Offset+int64(x.Size)], true
}

// Size is the size of the sidecar in bytes.
func (s *Sidecar) Size() int64 { return s.size }

// CRC is the CRC32C of the whole sidecar, as the custom metadata has it.
func (s *Sidecar) CRC() uint32 {
	if s.data == nil {
		return s.crc
	}
	return CRC(s.data)
}

// Trailer says where the manifest is.
type Trailer struct {
	ManifestOffset int64
	ManifestSize   uint32 // with its frame
	ManifestCRC    uint32 // of the frame and the manifest
}

func (t Trailer) encode(format byte) []byte {
	out := make([]byte, TrailerSize)
	binary.LittleEndian.PutUint64(out[0:], uint64(t.ManifestOffset))
	binary.LittleEndian.PutUint32(out[8:], t.ManifestSize)
	binary.LittleEndian.PutUint32(out[12:], t.ManifestCRC)
	binary.LittleEndian.PutUint32(out[16:], uint32(format))
	copy(out[24:], trailerMagic)
	binary.LittleEndian.PutUint32(out[20:], sum(out[:20], out[24:]))
	return out
}

// DecodeTrailer reads the trailer at the end of tail, which may be the whole sidecar or only its last TrailerSize bytes.
func DecodeTrailer(tail []byte) (Trailer, error) {
	if len(tail) < TrailerSize {
		return Trailer{}, status.Errorf(status.Corrupt, "sidecar: %d bytes, its trailer alone is %d", len(tail), TrailerSize)
	}
	p := tail[len(tail)-TrailerSize:]
	if string(p[24:]) != trailerMagic {
		return Trailer{}, status.Errorf(status.Corrupt, "sidecar: it does not end with the magic %q: cut, or another kind of object", trailerMagic)
	}
	if want, got := binary.LittleEndian.Uint32(p[20:]), sum(p[:20], p[24:]); want != got {
		return Trailer{}, status.Errorf(status.Corrupt, "sidecar: trailer CRC32C %08x, want %08x", got, want)
	}
	if v := binary.LittleEndian.Uint32(p[16:]); v == 0 || v > Format {
		return Trailer{}, status.Errorf(status.Unsupported, "sidecar: format version %d, this release reads up to %d: upgrade Tidemark on this broker", v, Format)
	}
	t := Trailer{
		ManifestOffset: int64(binary.LittleEndian.Uint64(p[0:])),
		ManifestSize:   binary.LittleEndian.Uint32(p[8:]),
		ManifestCRC:    binary.LittleEndian.Uint32(p[12:]),
	}
	if t.ManifestOffset < 0 || t.ManifestOffset > MaxSidecarSize || t.ManifestSize > MaxSidecarSize {
		return Trailer{}, status.Errorf(status.Corrupt, "sidecar: manifest of %d bytes at %d", t.ManifestSize, t.ManifestOffset)
	}
	return t, nil
}
