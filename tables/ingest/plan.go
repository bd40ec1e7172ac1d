package ingest

import (
	"cmp"
	"fmt"
	"slices"

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
	// NoHold asks for the stored object: the hold file turned out to be another one's content.
	NoHold bool

	unlisted bool // not in the last list of remote segments: just handed over, or removed by retention and held
}

// Limits of one range, and of what is looked at to learn how its transactions ended.
const (
	maxRangeBytes    = 1 << 30
	maxRangeSegments = 256
	maxTiles         = 8192
)

// Cut is a range to convert and the segments that tile it, in offset order.
type Cut struct {
	Base     int64
	Segments []Segment
	Ahead    []Segment // go on tiling after Segments; they are not converted with them
}

// tiles are all segments of the cut.
func (c Cut) tiles() []Segment { return append(slices.Clip(c.Segments), c.Ahead...) }

// reach is the end of the last tile.
func (c Cut) reach() int64 {
	if n := len(c.Ahead); n > 0 {
		return c.Ahead[n-1].End
	}
	return c.End()
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
// leadership change; of those that hold the wanted offset a listed one wins, then the one with the newest epoch at its end, then the
// one that reaches furthest, then the smaller id, so that the choice does not depend on order. ok is false when there is
// nothing to do; then gap tells whether next itself is missing although later segments exist.
func cut(next int64, segments []Segment) (c Cut, gap Gap, ok bool) {
	sorted := append([]Segment(nil), segments...)
	slices.SortFunc(sorted, func(a, b Segment) int { return cmp.Compare(a.Base, b.Base) })
	c.Base = next
	at, bytes, i := next, int64(0), 0
	var overlap []Segment // begin at or below at; none but the wanted reach beyond it
	for tiles := 0; tiles < maxTiles; tiles++ {
		for ; i < len(sorted) && sorted[i].Base <= at; i++ {
			overlap = append(overlap, sorted[i])
		}
		overlap = slices.DeleteFunc(overlap, func(s Segment) bool { return s.End <= at })
		if len(overlap) == 0 {
			if tiles == 0 && i < len(sorted) {
				return Cut{}, Gap{From: next, To: sorted[i].Base}, false
			}
			break
		}
		best := overlap[0]
		for _, s := range overlap[1:] {
			if better(s, best) {
				best = s
			}
		}
		if len(c.Segments) < maxRangeSegments && bytes < maxRangeBytes {
			c.Segments = append(c.Segments, best)
			bytes += best.Size
		} else {
			c.Ahead = append(c.Ahead, best)
		}
		at = best.End
	}
	return c, Gap{}, len(c.Segments) > 0
}

func better(a, b Segment) bool {
	if a.unlisted != b.unlisted {
		return b.unlisted
	}
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

// decided is the end of what may be converted of a cut: the smallest first offset among the transactions open at the end of one of its
// tiles, or the cut's own end. Every transaction with a record below it has its marker in the tiles up to that one, so their
// transaction indexes tell all outcomes.
func decided(c Cut, open []kafkalog.OpenTxn) int64 {
	end := c.End()
	for _, t := range open {
		end = min(end, t.FirstOffset)
	}
	return max(end, c.Base)
}
