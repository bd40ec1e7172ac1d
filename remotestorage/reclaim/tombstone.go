package reclaim

import (
	"encoding/binary"
	"hash/crc32"

	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// Tombstone says that a segment is not wanted any more.
type Tombstone struct {
	stored.Identity
	End  int64 // offset after the last
	Time int64 // ms since 1970, of the request
}

// kind is what a record says about a segment.
type kind uint8

const (
	wantedGone kind = 1
	gone       kind = 2
)

const (
	headerSize    = 16
	recordSize    = 72
	journalMagic  = "TIDETOMB"
	journalFormat = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

func header() []byte {
	p := make([]byte, headerSize)
	copy(p, journalMagic)
	binary.LittleEndian.PutUint32(p[8:], journalFormat)
	binary.LittleEndian.PutUint32(p[12:], checksum(p[:12]))
	return p
}

// checkHeader is Corrupt for a file that is not a journal and Unsupported for one of a later version.
func checkHeader(p []byte) error {
	if len(p) < headerSize || string(p[:8]) != journalMagic || binary.LittleEndian.Uint32(p[12:]) != checksum(p[:12]) {
		return status.Errorf(status.Corrupt, "its first %d bytes are not the header of a tombstone journal", headerSize)
	}
	if v := binary.LittleEndian.Uint32(p[8:]); v != journalFormat {
		return status.Errorf(status.Unsupported, "it has format version %d, this release reads %d: upgrade Tidemark on this broker", v, journalFormat)
	}
	return nil
}

// appendRecord appends the record of t to p.
func appendRecord(p []byte, k kind, t Tombstone) []byte {
	var r [recordSize]byte
	r[4] = byte(k)
	copy(r[8:], t.TopicID[:])
	copy(r[24:], t.SegmentID[:])
	binary.LittleEndian.PutUint32(r[40:], uint32(t.Partition))
	binary.LittleEndian.PutUint64(r[48:], uint64(t.BaseOffset))
	binary.LittleEndian.PutUint64(r[56:], uint64(t.End))
	binary.LittleEndian.PutUint64(r[64:], uint64(t.Time))
	binary.LittleEndian.PutUint32(r[0:], checksum(r[4:]))
	return append(p, r[:]...)
}

// decodeRecord reads the record that r begins with; r has at least recordSize bytes.
func decodeRecord(r []byte) (kind, Tombstone, bool) {
	r = r[:recordSize]
	k := kind(r[4])
	if binary.LittleEndian.Uint32(r) != checksum(r[4:]) || (k != wantedGone && k != gone) {
		return 0, Tombstone{}, false
	}
	t := Tombstone{
		Identity: stored.Identity{
			TopicID: [16]byte(r[8:24]), SegmentID: [16]byte(r[24:40]),
			Partition:  int32(binary.LittleEndian.Uint32(r[40:])),
			BaseOffset: int64(binary.LittleEndian.Uint64(r[48:])),
		},
		End:  int64(binary.LittleEndian.Uint64(r[56:])),
		Time: int64(binary.LittleEndian.Uint64(r[64:])),
	}
	return k, t, t.Partition >= 0 && t.BaseOffset >= 0
}
