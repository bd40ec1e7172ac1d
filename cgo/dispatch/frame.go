package dispatch

import (
	"encoding/binary"
	"hash/crc32"

	"tidemark/internal/status"
)

// ABI is the number of the exported C functions as a set; a jar and a library with different numbers do not talk.
const ABI = 1

// SchemaVersion is the version in every frame. It moves only for changes that appending a field cannot express.
const SchemaVersion = 1

// Kind says which table a frame carries (internal/wire/messages.fbs).
type Kind uint16

// The kinds. Replies are requests plus 100; 100 itself is the error.
const (
	KindInit       Kind = 1
	KindOpen       Kind = 2
	KindCopy       Kind = 3
	KindStream     Kind = 4
	KindDelete     Kind = 5
	KindLeadership Kind = 6
	KindFacts      Kind = 7
	KindWanted     Kind = 8
	KindSegments   Kind = 9
	KindStates     Kind = 10
	KindError      Kind = 100
	KindWantedList Kind = 108
)

const (
	frameMagic  = 0x31464d54 // "TMF1"
	frameHeader = 24
	// MaxPayload bounds one message. The largest is the segment list of a partition.
	MaxPayload = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// EncodeFrame puts a frame around a finished FlatBuffer (docs/format/messages.md). The result is new memory.
func EncodeFrame(kind Kind, correlation uint64, payload []byte) []byte {
	f := make([]byte, frameHeader+len(payload))
	binary.LittleEndian.PutUint32(f[0:], frameMagic)
	binary.LittleEndian.PutUint32(f[4:], uint32(len(payload)))
	binary.LittleEndian.PutUint16(f[12:], uint16(kind))
	binary.LittleEndian.PutUint16(f[14:], SchemaVersion)
	binary.LittleEndian.PutUint64(f[16:], correlation)
	copy(f[frameHeader:], payload)
	binary.LittleEndian.PutUint32(f[8:], frameCRC(f))
	return f
}

// frameCRC covers the header without the CRC field itself, and the payload.
func frameCRC(f []byte) uint32 {
	crc := crc32.Update(0, castagnoli, f[0:8])
	return crc32.Update(crc, castagnoli, f[12:])
}

// frameKind checks everything about a frame that can be checked without its table, and returns its parts.
// The payload aliases f. Every fault is Invalid.
func frameKind(f []byte) (Kind, []byte, error) {
	if len(f) < frameHeader {
		return 0, nil, status.Errorf(status.Invalid, "message of %d bytes: shorter than its frame of %d", len(f), frameHeader)
	}
	if m := binary.LittleEndian.Uint32(f); m != frameMagic {
		return 0, nil, status.Errorf(status.Invalid, "message begins with %#08x, not with the frame magic", m)
	}
	n := binary.LittleEndian.Uint32(f[4:])
	if n > MaxPayload || int(n) != len(f)-frameHeader {
		return 0, nil, status.Errorf(status.Invalid, "frame announces %d bytes, %d are at hand, at most %d are allowed",
			n, len(f)-frameHeader, MaxPayload)
	}
	if want, got := binary.LittleEndian.Uint32(f[8:]), frameCRC(f); want != got {
		return 0, nil, status.Errorf(status.Invalid, "frame checksum is %#08x, its bytes have %#08x", want, got)
	}
	if v := binary.LittleEndian.Uint16(f[14:]); v != SchemaVersion {
		return 0, nil, status.Errorf(status.Invalid, "message schema version %d, this library speaks %d: jar and library must be of one version",
			v, SchemaVersion)
	}
	return Kind(binary.LittleEndian.Uint16(f[12:])), f[frameHeader:], nil
}

// framePayload is frameKind for a place where only one kind is legal.
func framePayload(f []byte, want Kind) ([]byte, error) {
	kind, payload, err := frameKind(f)
	if err != nil {
		return nil, err
	}
	if kind != want {
		return nil, status.Errorf(status.Invalid, "message of kind %d where %d is expected", kind, want)
	}
	return payload, nil
}
