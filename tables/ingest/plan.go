package ingest

import (
	"fmt"
	"sort"

	"tidemark/catalog"
	"tidemark/internal/kafkalog"
)

// Partition names a partition of one topic incarnation.
type Partition struct {
	TopicID   catalog.TopicID
	Topic     string
	Partition int32
}

// String is the partition as people write it.
func (p Partition) String() string { return fmt.Sprintf("%s-%d", p.Topic, p.Partition) }

// key is a partition's identity, without the topic's name.
type key struct {
	topic     catalog.TopicID
	partition int32
}

func (p Partition) key() key { return key{p.TopicID, p.Partition} }

// Segment is a closed, tiered segment.
type Segment struct {
	Partition
	ID            [16]byte
	Base, End     int64 // [Base, End)
	Size          int64 // bytes of the log file
	MaxTimestamp  int64 // ms
	Epochs        []kafkalog.EpochStart
	Custom        []byte // custom metadata, owned by the storage side
	TxnIndexEmpty bool
}

// Limits of one range.
const (
	maxRangeBytes    = 1 << 30
	maxRangeSegments = 256
)

// Cut is a range to convert and the segments that tile it, in offset order.
type Cut struct {
	Base     int64
	Segments []Segment
}

// End is the first offset above the last segment of the cut.
func (c Cut) End() int64 { return c.Segments[len(c.Segments)-1].End }

// Bytes is the size of the segments.
func (c Cut) Bytes() int64 {
	var n int64
	for _, s := range c.Segments {
		n += s.Size
	}
	return n
}

// Gap is a run of offsets no segment covers, although later segments exist.
type Gap struct{ From, To int64 }

// cut chooses the segments that tile the offsets from next on, as far as they reach without a hole. Segments overlap after a
// leadership change; of those that hold the wanted offset the one with the newest epoch at its end wins, then the one that reaches
// furthest, then the smaller id, so that the choice does not depend on order. ok is false when there is nothing to do; then gap
// tells whether next itself is missing although later segments exist.
func cut(next int64, segments []Segment) (c Cut, gap Gap, ok bool) {
	sorted := append([]Segment(nil), segments...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Base < sorted[j].Base })
	c.Base = next
	at := next
	for len(c.Segments) < maxRangeSegments && c.Bytes() < maxRangeBytes {
		best, later := -1, int64(-1)
		for i, s := range sorted {
			if s.Base > at {
				later = s.Base
				break
			}
			if s.End > at && (best < 0 || better(s, sorted[best])) {
				best = i
			}
		}
		if best < 0 {
			if len(c.Segments) == 0 && later >= 0 {
				return Cut{}, Gap{From: next, To: later}, false
			}
			break
		}
		c.Segments = append(c.Segments, sorted[best])
		at = sorted[best].End
	}
	return c, Gap{}, len(c.Segments) > 0
}

func better(a, b Segment) bool {
	if ea, eb := lastEpoch(a), lastEpoch(b); ea != eb {
		return ea > eb
	}
	if a.End != b.End {
		return a.End > b.End
	}
	return string(a.ID[:]) < string(b.ID[:])
}

func lastEpoch(s Segment) int32 {
	if len(s.Epochs) == 0 {
		return -1
	}
	return s.Epochs[len(s.Epochs)-1].Epoch
}

// decided is the end of what may be converted of a cut: the smallest first offset among the transactions open at the end of its
// last segment, or that end. Every transaction below it has its marker inside the cut or before it, so the transaction
// indexes of the cut's segments tell all outcomes.
func decided(c Cut, open []kafkalog.OpenTxn) int64 {
	end := c.End()
	for _, t := range open {
		end = min(end, t.FirstOffset)
	}
	return max(end, c.Base)
}
