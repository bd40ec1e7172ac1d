package dispatch

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark/internal/status"
	"tidemark/internal/wire"
)

// Bounds of one field. A message within MaxPayload may still repeat one vector many times by pointing at it, so all
// that a decode copies is counted as well (reader.left).
const (
	maxTopic      = 249 // Kafka's own bound of a topic name
	maxPath       = 4096
	maxShort      = 1024
	maxText       = 64 << 10
	maxProperties = 1000
	maxEpochs     = 1 << 16
	maxCustom     = 4096
	maxCheckpoint = 512 << 10
	maxPartitions = 1 << 16
	maxSegments   = 1 << 15
	maxStates     = 1000
	maxDeadline   = 24 * time.Hour
)

// reader copies fields out of a message. It keeps the first fault; after it, fields are worthless but safe.
type reader struct {
	left  int    // bytes this decode may still copy
	topic string // the last one, reused: lists repeat it
	err   error
}

func newReader(payload []byte) *reader { return &reader{left: 8*len(payload) + maxText} }

// invalid turns a panic of an accessor into the error of a damaged message. It is deferred by every decode function.
func invalid(what string, err *error) {
	if p := recover(); p != nil {
		*err = status.Errorf(status.Invalid, "%s: malformed message: %v", what, p)
	}
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = status.Errorf(status.Invalid, "%s", fmt.Sprintf(format, args...))
	}
}

// take counts n bytes as copied and reports whether the message may still go on.
func (r *reader) take(n int) bool {
	if r.left -= n; r.left < 0 {
		r.fail("message expands to more than its size allows")
	}
	return r.err == nil
}

func (r *reader) text(field string, b []byte, bound int) string {
	switch {
	case len(b) > bound:
		r.fail("%s: %d bytes, at most %d", field, len(b), bound)
	case !utf8.Valid(b):
		r.fail("%s: not UTF-8", field)
	case r.take(len(b)):
		return string(b)
	}
	return ""
}

func (r *reader) required(field string, b []byte, bound int) string {
	if len(b) == 0 {
		r.fail("%s: missing", field)
	}
	return r.text(field, b, bound)
}

func (r *reader) path(field string, b []byte) string {
	p := r.text(field, b, maxPath)
	if p != "" && (!filepath.IsAbs(p) || strings.IndexByte(p, 0) >= 0) {
		r.fail("%s: %q is not an absolute path", field, p)
		return ""
	}
	return p
}

func (r *reader) blob(field string, b []byte, bound int) []byte {
	if len(b) > bound {
		r.fail("%s: %d bytes, at most %d", field, len(b), bound)
		return nil
	}
	if len(b) == 0 || !r.take(len(b)) {
		return nil
	}
	return append([]byte(nil), b...)
}

// count checks the length of a vector before anything is allocated for it; each is the size of an element.
func (r *reader) count(field string, n, bound, each int) int {
	if n > bound {
		r.fail("%s: %d entries, at most %d", field, n, bound)
		return 0
	}
	if !r.take(n * each) {
		return 0
	}
	return n
}

func (r *reader) atLeast(field string, v, low int64) int64 {
	if v < low {
		r.fail("%s: %d is below %d", field, v, low)
	}
	return v
}

func (r *reader) within(field string, v, low, high int64) int64 {
	if v < low || v > high {
		r.fail("%s: %d is not within %d to %d", field, v, low, high)
	}
	return v
}

func (r *reader) deadline(field string, ms int32) time.Duration {
	return time.Duration(r.within(field, int64(ms), 1, maxDeadline.Milliseconds())) * time.Millisecond
}

func (r *reader) uuid(field string, u *wire.Uuid) (id [16]byte) {
	if u == nil {
		r.fail("%s: missing", field)
		return id
	}
	binary.BigEndian.PutUint64(id[:8], u.Msb())
	binary.BigEndian.PutUint64(id[8:], u.Lsb())
	if id == [16]byte{} {
		r.fail("%s: zero", field)
	}
	return id
}

func (r *reader) topicName(field string, b []byte) string {
	if len(b) > 0 && string(b) == r.topic {
		return r.topic
	}
	r.topic = r.required(field, b, maxTopic)
	return r.topic
}

func (r *reader) partition(t *wire.TopicPartition) TopicPartition {
	return TopicPartition{
		TopicID:   r.uuid("topic_id", t.TopicId(nil)),
		Topic:     r.topicName("topic", t.Topic()),
		Partition: int32(r.atLeast("partition", int64(t.Partition()), 0)),
		From:      r.atLeast("from", t.From(), 0),
	}
}

func (r *reader) partitions(field string, n int, at func(*wire.TopicPartition, int) bool) []TopicPartition {
	n = r.count(field, n, maxPartitions, 48)
	out := make([]TopicPartition, 0, n)
	var t wire.TopicPartition
	for i := 0; i < n && r.err == nil; i++ {
		at(&t, i)
		out = append(out, r.partition(&t))
	}
	return out
}

func (r *reader) segment(m *wire.SegmentRef) Segment {
	if m == nil {
		r.fail("segment: missing")
		return Segment{}
	}
	s := Segment{
		TopicID:       r.uuid("segment.topic_id", m.TopicId(nil)),
		Topic:         r.topicName("segment.topic", m.Topic()),
		Partition:     int32(r.atLeast("segment.partition", int64(m.Partition()), 0)),
		ID:            r.uuid("segment.segment_id", m.SegmentId(nil)),
		BaseOffset:    r.atLeast("segment.base_offset", m.BaseOffset(), 0),
		MaxTimestamp:  r.atLeast("segment.max_timestamp_ms", m.MaxTimestampMs(), -1),
		Size:          r.atLeast("segment.size", int64(m.Size()), 0),
		Custom:        r.blob("segment.custom", m.CustomBytes(), maxCustom),
		BrokerID:      m.BrokerId(),
		TxnIndexEmpty: m.TxnIndexEmpty(),
	}
	s.EndOffset = r.atLeast("segment.end_offset", m.EndOffset(), s.BaseOffset)
	n := r.count("segment.epochs", m.EpochsLength(), maxEpochs, 16)
	s.Epochs = make([]Epoch, 0, n)
	var e wire.Epoch
	for i := 0; i < n && r.err == nil; i++ {
		m.Epochs(&e, i)
		s.Epochs = append(s.Epochs, Epoch{
			Epoch: int32(r.atLeast("segment.epochs.epoch", int64(e.Epoch()), 0)),
			Start: r.atLeast("segment.epochs.start", e.Start(), 0),
		})
	}
	return s
}
