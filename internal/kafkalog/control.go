package kafkalog

import (
	"encoding/binary"

	"tidemark/internal/status"
)

// ControlType is what a control record says; the numbers are Kafka's (clients/…/record/ControlRecordType.java).
type ControlType int16

// The control types a topic partition holds. Others exist in the metadata log only.
const (
	ControlAbort  ControlType = 0 // ends the producer's transaction: its records do not exist
	ControlCommit ControlType = 1 // ends the producer's transaction: its records exist
)

// ParseControl reads the type from the key of a control record. An unknown type is returned, not refused; a key too
// short for a version and a type is Corrupt.
func ParseControl(r *Record) (ControlType, error) {
	if len(r.Key) < 4 || int16(binary.BigEndian.Uint16(r.Key)) < 0 {
		return 0, status.Errorf(status.Corrupt, "control record at offset %d: its key of %d bytes is no version and type", r.Offset, len(r.Key))
	}
	return ControlType(binary.BigEndian.Uint16(r.Key[2:])), nil
}
