package logtest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"

	"tidemark/internal/kafkalog"
)

// indexInterval is index.interval.bytes: after how many bytes of log an index entry is due.
const indexInterval = 4096

// Segment is a segment that grows batch by batch, with the files a broker keeps beside it.
type Segment struct {
	Base        int64
	Log         []byte
	OffsetIndex []byte
	TimeIndex   []byte
	Aborted     []kafkalog.AbortedTxn // transactions whose abort marker lies here
	Epochs      []kafkalog.EpochStart // of the partition so far

	next      int64
	open      map[int64]int64 // producer -> first offset
	producers map[int64]Producer
	unindexed int
	maxTime   int64
	maxTimeAt int64
}

// NewSegment is an empty segment that starts at offset base.
func NewSegment(base int64) *Segment {
	return &Segment{Base: base, next: base, open: map[int64]int64{}, producers: map[int64]Producer{}, maxTime: -1}
}

// Next is the offset that follows the last batch.
func (s *Segment) Next() int64 { return s.next }

// Roll is the segment that follows: same producers, same open transactions.
func (s *Segment) Roll() *Segment {
	n := NewSegment(s.next)
	n.open, n.producers, n.Epochs = s.open, s.producers, slices.Clone(s.Epochs)
	s.open, s.producers = cloneMap(s.open), cloneMap(s.producers)
	return n
}

// Add appends a batch as it is. Its offsets must follow the last batch.
func (s *Segment) Add(b Batch) *Segment {
	if b.Base < s.next {
		panic(fmt.Sprintf("logtest: batch at offset %d in a segment that has come to %d", b.Base, s.next))
	}
	raw := b.Bytes()
	_, maxTime := b.times()
	if maxTime > s.maxTime {
		s.maxTime, s.maxTimeAt = maxTime, b.LastOffset()
	}
	if s.unindexed > indexInterval {
		s.OffsetIndex = binary.BigEndian.AppendUint32(s.OffsetIndex, uint32(b.LastOffset()-s.Base))
		s.OffsetIndex = binary.BigEndian.AppendUint32(s.OffsetIndex, uint32(len(s.Log)))
		s.indexTime()
		s.unindexed = 0
	}
	s.unindexed += len(raw)
	if n := len(s.Epochs); n == 0 || s.Epochs[n-1].Epoch != b.LeaderEpoch {
		s.Epochs = append(s.Epochs, kafkalog.EpochStart{Epoch: b.LeaderEpoch, Start: b.Base})
	}
	s.track(b)
	s.Log = append(s.Log, raw...)
	s.next = b.LastOffset() + 1
	return s
}

// Produce appends a plain batch of one record per value at the next offset.
func (s *Segment) Produce(codec kafkalog.Codec, values ...string) *Segment {
	return s.Add(Batch{Base: s.next, Codec: codec, Records: Values(s.next, values...)})
}

// InTxn appends a transactional batch of a producer at the next offset.
func (s *Segment) InTxn(p Producer, values ...string) *Segment {
	return s.Add(Batch{Base: s.next, Transactional: true, Producer: &p, Records: Values(s.next, values...)})
}

// End appends the marker that ends the producer's transaction.
func (s *Segment) End(p Producer, what kafkalog.ControlType) *Segment {
	return s.Add(Marker(s.next, p, what))
}

func (s *Segment) track(b Batch) {
	if b.Producer == nil {
		return
	}
	id := b.Producer.ID
	s.producers[id] = *b.Producer
	switch first, isOpen := s.open[id]; {
	case !b.Transactional:
	case !b.Control && !isOpen:
		s.open[id] = b.Base
	case b.Control && isOpen:
		delete(s.open, id)
		if b.Records[0].Key[3] == byte(kafkalog.ControlAbort) {
			s.Aborted = append(s.Aborted, kafkalog.AbortedTxn{ProducerID: id, FirstOffset: first, LastOffset: b.Base,
				LastStableOffset: s.stable(b.Base + 1)})
		}
	}
}

func (s *Segment) stable(end int64) int64 {
	for _, first := range s.open {
		end = min(end, first)
	}
	return end
}

func (s *Segment) indexTime() {
	if n := len(s.TimeIndex); s.maxTime >= 0 && (n == 0 || int64(binary.BigEndian.Uint64(s.TimeIndex[n-12:])) < s.maxTime) {
		s.TimeIndex = binary.BigEndian.AppendUint64(s.TimeIndex, uint64(s.maxTime))
		s.TimeIndex = binary.BigEndian.AppendUint32(s.TimeIndex, uint32(s.maxTimeAt-s.Base))
	}
}

// TxnIndex is the .txnindex file; empty when no abort marker lies here.
func (s *Segment) TxnIndex() []byte {
	var out []byte
	for _, t := range s.Aborted {
		out = append(out, 0, 0)
		for _, v := range []int64{t.ProducerID, t.FirstOffset, t.LastOffset, t.LastStableOffset} {
			out = binary.BigEndian.AppendUint64(out, uint64(v))
		}
	}
	return out
}

// ProducerSnapshot is the .snapshot file at the end of the segment.
func (s *Segment) ProducerSnapshot() []byte {
	be, ids := binary.BigEndian, make([]int64, 0, len(s.producers))
	for id := range s.producers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	out := be.AppendUint32([]byte{0, 1, 0, 0, 0, 0}, uint32(len(ids)))
	for _, id := range ids {
		first, isOpen := s.open[id]
		if !isOpen {
			first = -1
		}
		out = be.AppendUint64(out, uint64(id))
		out = be.AppendUint16(out, uint16(s.producers[id].Epoch))
		out = be.AppendUint32(out, uint32(s.producers[id].Sequence))
		out = be.AppendUint64(out, uint64(s.next-1))
		out = be.AppendUint32(out, 0)
		out = be.AppendUint64(out, uint64(s.maxTime))
		out = be.AppendUint32(out, 0)
		out = be.AppendUint64(out, uint64(first))
	}
	be.PutUint32(out[2:], crc32.Checksum(out[6:], crc32.MakeTable(crc32.Castagnoli)))
	return out
}

// LeaderEpochs is the leader-epoch checkpoint that a broker hands over with the segment.
func (s *Segment) LeaderEpochs() []byte {
	out := fmt.Appendf(nil, "0\n%d\n", len(s.Epochs))
	for _, e := range s.Epochs {
		out = fmt.Appendf(out, "%d %d\n", e.Epoch, e.Start)
	}
	return out
}

// Files are the paths of a segment's files, named as a broker names them.
type Files struct {
	Log, OffsetIndex, TimeIndex, ProducerSnapshot string
	TxnIndex                                      string // "" when no abort marker lies in the segment
}

// Write closes the segment and writes its files into dir.
func (s *Segment) Write(dir string) (Files, error) {
	s.indexTime()
	name := func(offset int64, ext string) string { return filepath.Join(dir, fmt.Sprintf("%020d.%s", offset, ext)) }
	f := Files{Log: name(s.Base, "log"), OffsetIndex: name(s.Base, "index"), TimeIndex: name(s.Base, "timeindex"),
		ProducerSnapshot: name(s.next, "snapshot")}
	content := map[string][]byte{f.Log: s.Log, f.OffsetIndex: s.OffsetIndex, f.TimeIndex: s.TimeIndex, f.ProducerSnapshot: s.ProducerSnapshot()}
	if len(s.Aborted) > 0 {
		f.TxnIndex = name(s.Base, "txnindex")
		content[f.TxnIndex] = s.TxnIndex()
	}
	for path, data := range content {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return Files{}, err
		}
	}
	return f, nil
}

func cloneMap[V any](m map[int64]V) map[int64]V {
	c := make(map[int64]V, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}
