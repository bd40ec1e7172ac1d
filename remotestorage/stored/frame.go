package stored

import (
	"encoding/binary"
	"hash/crc32"

	"tidemark/internal/status"
)

// Format is the newest version of the stored form: this release reads all from 1 to it, and writes for each segment the oldest that can say what
// it is. Segments that are stored as they are have format 1, so that a release that knows only this one reads them.
const (
	Format       = sealedFormat
	plainFormat  = 1
	sealedFormat = 2 // chunks of any size up to ChunkSize, compressed, encrypted
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC is the checksum of the stored form: CRC32C.
func CRC(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

// The manifest frame: 16 bytes before the FlatBuffer.
const (
	manifestHeader = 16
	manifestMagic  = "TDMF"
)

// frameManifest puts the frame before payload.
func frameManifest(payload []byte, format byte) []byte {
	out := make([]byte, manifestHeader+len(payload))
	copy(out, manifestMagic)
	out[4] = format
	binary.LittleEndian.PutUint32(out[8:], uint32(len(payload)))
	copy(out[manifestHeader:], payload)
	binary.LittleEndian.PutUint32(out[12:], sum(out[:12], payload))
	return out
}

// openManifest checks the frame and returns the FlatBuffer, which aliases data.
func openManifest(data []byte) ([]byte, error) {
	if len(data) < manifestHeader {
		return nil, status.Errorf(status.Corrupt, "manifest: %d bytes, its frame alone is %d", len(data), manifestHeader)
	}
	if string(data[:4]) != manifestMagic {
		return nil, status.Errorf(status.Corrupt, "manifest: magic %x, want %x", data[:4], manifestMagic)
	}
	payload := data[manifestHeader:]
	if n := binary.LittleEndian.Uint32(data[8:]); uint64(n) != uint64(len(payload)) {
		return nil, status.Errorf(status.Corrupt, "manifest: length field %d, but %d bytes follow", n, len(payload))
	}
	if want, got := binary.LittleEndian.Uint32(data[12:]), sum(data[:12], payload); want != got {
		return nil, status.Errorf(status.Corrupt, "manifest: CRC32C %08x, want %08x", got, want)
	}
	if err := checkVersion("manifest", data[4]); err != nil {
		return nil, err
	}
	return payload, nil
}

func checkVersion(what string, v byte) error {
	if v == 0 {
		return status.Errorf(status.Corrupt, "%s: format version 0", what)
	}
	if v > Format {
		return status.Errorf(status.Unsupported, "%s: format version %d, this release reads up to %d: upgrade Tidemark on this broker", what, v, Format)
	}
	return nil
}

func sum(parts ...[]byte) uint32 {
	var c uint32
	for _, p := range parts {
		c = crc32.Update(c, castagnoli, p)
	}
	return c
}

// guard turns a panic of a FlatBuffers accessor, which has no verifier in Go, into Corrupt.
func guard(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = status.Errorf(status.Corrupt, "%s: structure: %v", what, p)
		}
	}()
	return f()
}
