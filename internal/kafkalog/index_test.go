package kafkalog_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/status"
)

func indexedSegment() *logtest.Segment {
	s := logtest.NewSegment(1000)
	for range 20 {
		s.Produce(kafkalog.None, strings.Repeat("x", 3000))
	}
	return s
}

func TestIndexesOfASegment(t *testing.T) {
	s := indexedSegment()
	if _, err := s.Write(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if len(s.OffsetIndex) < 24 || len(s.TimeIndex) < 24 {
		t.Fatalf("the builder made indexes of %d and %d bytes", len(s.OffsetIndex), len(s.TimeIndex))
	}
	size := int64(len(s.Log))
	if err := kafkalog.CheckOffsetIndex(s.OffsetIndex, s.Base, size); err != nil {
		t.Error(err)
	}
	if err := kafkalog.CheckTimeIndex(s.TimeIndex, s.Base); err != nil {
		t.Error(err)
	}
	if kafkalog.CheckOffsetIndex(nil, 5, 0) != nil || kafkalog.CheckTimeIndex(nil, 5) != nil {
		t.Error("empty indexes are legal")
	}
	swap := append([]byte(nil), s.OffsetIndex...)
	copy(swap, s.OffsetIndex[8:16])
	zeroTail := append(append([]byte(nil), s.OffsetIndex...), make([]byte, 8)...)
	for name, err := range map[string]error{
		"offset index cut":        kafkalog.CheckOffsetIndex(s.OffsetIndex[:7], s.Base, size),
		"offset index descends":   kafkalog.CheckOffsetIndex(swap, s.Base, size),
		"offset index not cut":    kafkalog.CheckOffsetIndex(zeroTail, s.Base, size),
		"position beyond the end": kafkalog.CheckOffsetIndex(s.OffsetIndex, s.Base, 4097),
		"offset overflows":        kafkalog.CheckOffsetIndex(s.OffsetIndex, 1<<63-1, size),
		"time index cut":          kafkalog.CheckTimeIndex(s.TimeIndex[:11], s.Base),
		"time index repeats":      kafkalog.CheckTimeIndex(append(s.TimeIndex[:12:12], s.TimeIndex...), s.Base),
		"time offset overflows":   kafkalog.CheckTimeIndex(s.TimeIndex, 1<<63-1),
	} {
		if !status.Is(err, status.Corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzIndexes(f *testing.F) {
	s := indexedSegment()
	s.InTxn(logtest.Producer{ID: 1}, "x").End(logtest.Producer{ID: 1}, kafkalog.ControlAbort)
	if _, err := s.Write(f.TempDir()); err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{s.OffsetIndex, s.TimeIndex, s.TxnIndex(), s.ProducerSnapshot(), s.LeaderEpochs(), nil} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		txns, err1 := kafkalog.ParseTxnIndex(data)
		if err1 == nil {
			again := logtest.NewSegment(0)
			again.Aborted = txns
			if string(again.TxnIndex()) != string(data) {
				t.Fatal("a transaction index does not read back")
			}
			kafkalog.NewTxnView(txns)
		}
		epochs, err2 := kafkalog.ParseLeaderEpochs(data)
		for i := range epochs {
			if e, ok := kafkalog.EpochAt(epochs, epochs[i].Start); !ok || e != epochs[i].Epoch {
				t.Fatalf("epoch at %d is %d", epochs[i].Start, e)
			}
		}
		_, err3 := kafkalog.ParseProducerSnapshot(data)
		err4 := kafkalog.CheckOffsetIndex(data, 1000, 1<<30)
		err5 := kafkalog.CheckTimeIndex(data, 1000)
		if err4 == nil && len(data) > 8 && binary.BigEndian.Uint32(data) >= binary.BigEndian.Uint32(data[8:]) {
			t.Fatal("a descending offset index passes")
		}
		for _, err := range []error{err1, err2, err3, err4, err5} {
			if err != nil && !status.Is(err, status.Corrupt) && !status.Is(err, status.Unsupported) {
				t.Fatalf("class of %v", err)
			}
		}
	})
}
