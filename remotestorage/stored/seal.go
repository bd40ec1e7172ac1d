package stored

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"

	"tidemark/internal/status"
)

// Sizes of encryption, in bytes. The cipher is AES-256-GCM throughout (NIST SP 800-38D).
const (
	DataKeySize    = 32
	WrappedKeySize = 12 + DataKeySize + tagSize // nonce, encrypted data key, tag
	tagSize        = 16
)

// Keys unwraps data keys: the ring of key-encryption keys. aad is what the wrapping was bound to. Errors say which key is missing, or that
// the wrapped key was not made with it.
type Keys interface {
	Unwrap(keyID string, wrapped, aad []byte) (dataKey []byte, err error)
}

// role keeps the nonces of one data key apart: nothing that is sealed for one purpose can stand for another.
type role byte

const (
	roleChunk    role = 1 // numbered by chunk
	roleIndex    role = 2 // numbered by IndexKind
	roleManifest role = 3
)

// Sealer encrypts and decrypts the parts of one segment with its data key. A data key must seal one segment once: a copy that is made
// again has another segment id and another data key. Safe for concurrent use.
type Sealer struct {
	aead cipher.AEAD
	id   Identity
}

// NewSealer makes the sealer of a segment. It keeps nothing of dataKey; one that is not DataKeySize long is Invalid.
func NewSealer(id Identity, dataKey []byte) (*Sealer, error) {
	if len(dataKey) != DataKeySize {
		return nil, status.Errorf(status.Invalid, "a data key of %d bytes, want %d", len(dataKey), DataKeySize)
	}
	block, err := aes.NewCipher(dataKey)
	if err != nil {
		return nil, status.Errorf(status.Internal, "AES: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, status.Errorf(status.Internal, "AES-GCM: %w", err)
	}
	return &Sealer{aead: aead, id: id}, nil
}

// WrapContext is what the data key of a segment is bound to when it is wrapped.
func WrapContext(id Identity) []byte { return id.context(0, 0) }

// context is the common start of all additional data: format, role, the segment, the number within the role.
func (id Identity) context(r role, number uint32) []byte {
	out := make([]byte, 0, 80)
	out = append(out, sealedFormat, byte(r))
	out = append(out, id.TopicID[:]...)
	out = binary.BigEndian.AppendUint32(out, uint32(id.Partition))
	out = append(out, id.SegmentID[:]...)
	out = binary.BigEndian.AppendUint64(out, uint64(id.BaseOffset))
	return binary.BigEndian.AppendUint32(out, number)
}

func nonce(r role, number uint32) []byte {
	out := make([]byte, 12)
	out[0] = byte(r)
	binary.BigEndian.PutUint32(out[8:], number)
	return out
}

// chunkContext binds a chunk to its place and to how it is to be decoded.
func (s *Sealer) chunkContext(i int, original int64, size int, form Form) []byte {
	out := s.id.context(roleChunk, uint32(i))
	out = binary.BigEndian.AppendUint64(out, uint64(original))
	out = binary.BigEndian.AppendUint32(out, uint32(size))
	return append(out, byte(form))
}

// sealChunk encrypts in place; data needs room for the tag in its capacity, else it is copied.
func (s *Sealer) sealChunk(data []byte, i int, original int64, size int, form Form) []byte {
	return s.aead.Seal(data[:0], nonce(roleChunk, uint32(i)), data, s.chunkContext(i, original, size, form))
}

// openChunk decrypts into dst, which is data[:0] or does not overlap data.
func (s *Sealer) openChunk(dst, data []byte, i int, original int64, size int, form Form) ([]byte, error) {
	out, err := s.aead.Open(dst, nonce(roleChunk, uint32(i)), data, s.chunkContext(i, original, size, form))
	if err != nil {
		return nil, status.Errorf(status.Corrupt, "chunk %d does not decrypt: its bytes or its place were changed on purpose, for its checksum is right", i)
	}
	return out, nil
}

func (s *Sealer) sealIndex(kind IndexKind, data []byte) []byte {
	return s.aead.Seal(make([]byte, 0, len(data)+tagSize), nonce(roleIndex, uint32(kind)), data, s.id.context(roleIndex, uint32(kind)))
}

func (s *Sealer) openIndex(kind IndexKind, data []byte) ([]byte, error) {
	out, err := s.aead.Open(make([]byte, 0, len(data)), nonce(roleIndex, uint32(kind)), data, s.id.context(roleIndex, uint32(kind)))
	if err != nil {
		return nil, status.Errorf(status.Corrupt, "the %s does not decrypt: it was changed on purpose, for its checksum is right", kind)
	}
	return out, nil
}

// manifestContext is what the seal of a manifest covers: every field of format 2 but Writer, the wrapped key and the seal itself. Fields that
// a later release appends are not in it.
func (m Manifest) manifestContext() []byte {
	out := m.Identity.context(roleManifest, 0)
	text := func(s string) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(s)))
		out = append(out, s...)
	}
	text(m.Topic)
	for _, v := range []int64{m.EndOffset, m.MaxTimestamp, m.Map.Size, m.Map.StoredSize, int64(m.Map.ChunkSize), int64(m.BrokerID), int64(len(m.Map.Chunks))} {
		out = binary.BigEndian.AppendUint64(out, uint64(v))
	}
	for _, c := range m.Map.Chunks {
		out = binary.BigEndian.AppendUint64(out, uint64(c.Original))
		out = binary.BigEndian.AppendUint64(out, uint64(c.Stored))
		out = binary.BigEndian.AppendUint32(out, uint32(c.StoredSize))
		out = binary.BigEndian.AppendUint32(out, c.CRC)
		out = append(out, byte(c.Form))
	}
	out = binary.BigEndian.AppendUint64(out, uint64(len(m.Indexes)))
	for _, x := range m.Indexes {
		out = append(out, byte(x.Kind))
		out = binary.BigEndian.AppendUint64(out, uint64(x.Offset))
		out = binary.BigEndian.AppendUint32(out, uint32(x.Size))
		out = binary.BigEndian.AppendUint32(out, x.CRC)
	}
	text(m.KeyID)
	return out
}

func (s *Sealer) sealManifest(m Manifest) []byte {
	return s.aead.Seal(nil, nonce(roleManifest, 0), nil, m.manifestContext())
}

func (s *Sealer) openManifest(m Manifest) error {
	if _, err := s.aead.Open(nil, nonce(roleManifest, 0), m.Seal, m.manifestContext()); err != nil {
		return status.Errorf(status.Corrupt, "manifest: its seal does not fit: it was changed on purpose, for its checksum is right")
	}
	return nil
}
