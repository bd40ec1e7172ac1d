package kafkalog

import (
	"encoding/binary"
	"math"

	"tidemark/internal/status"
)

const (
	offsetEntry = 8  // relative offset, position (storage/…/log/OffsetIndex.java)
	timeEntry   = 12 // timestamp, relative offset (storage/…/log/TimeIndex.java)
)

// CheckOffsetIndex is Corrupt unless data is an .index file for a segment with base offset base and segmentSize bytes:
// whole entries, offsets and positions ascending strictly, positions inside the segment. An empty index is legal.
func CheckOffsetIndex(data []byte, base, segmentSize int64) error {
	if len(data)%offsetEntry != 0 {
		return status.Errorf(status.Corrupt, "offset index: %d bytes are no multiple of %d", len(data), offsetEntry)
	}
	lastOff, lastPos := int64(-1), int64(-1)
	for i := 0; i < len(data); i += offsetEntry {
		off := int64(int32(binary.BigEndian.Uint32(data[i:])))
		pos := int64(int32(binary.BigEndian.Uint32(data[i+4:])))
		if off <= lastOff || pos <= lastPos || pos >= segmentSize || base > math.MaxInt64-off {
			return status.Errorf(status.Corrupt, "offset index: entry %d: offset %d+%d at position %d of %d does not follow +%d at %d",
				i/offsetEntry, base, off, pos, segmentSize, lastOff, lastPos)
		}
		lastOff, lastPos = off, pos
	}
	return nil
}

// CheckTimeIndex is Corrupt unless data is a .timeindex file for a segment with base offset base: whole entries,
// timestamps ascending strictly, offsets never descending. An empty index is legal.
func CheckTimeIndex(data []byte, base int64) error {
	if len(data)%timeEntry != 0 {
		return status.Errorf(status.Corrupt, "time index: %d bytes are no multiple of %d", len(data), timeEntry)
	}
	lastTime, lastOff := int64(-1), int64(0)
	for i := 0; i < len(data); i += timeEntry {
		time := int64(binary.BigEndian.Uint64(data[i:]))
		off := int64(int32(binary.BigEndian.Uint32(data[i+8:])))
		if time <= lastTime || off < lastOff || base > math.MaxInt64-off {
			return status.Errorf(status.Corrupt, "time index: entry %d: timestamp %d at offset %d+%d does not follow %d at +%d",
				i/timeEntry, time, base, off, lastTime, lastOff)
		}
		lastTime, lastOff = time, off
	}
	return nil
}
