package kafkalog_test

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/status"
)

// TestTxnViewAgreesWithKgo runs random transactions over several segments and compares the visible records with a
// read_committed consumer that is given the same aborted transactions.
func TestTxnViewAgreesWithKgo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := logtest.NewSegment(rapid.Int64Range(0, 1000).Draw(t, "base"))
		base := s.Base
		var log []byte
		var aborted []kafkalog.AbortedTxn
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			p := logtest.Producer{ID: rapid.Int64Range(0, 2).Draw(t, "producer")}
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				s.Produce(kafkalog.None, "plain")
			case 1, 2:
				s.InTxn(p, "x", "y")
			case 3:
				s.End(p, kafkalog.ControlAbort)
			case 4:
				s.End(p, kafkalog.ControlCommit)
			case 5:
				log, aborted = append(log, s.Log...), append(aborted, parsedTxns(t, s)...)
				s = s.Roll()
			}
		}
		log, aborted = append(log, s.Log...), append(aborted, parsedTxns(t, s)...)
		view, d := kafkalog.NewTxnView(aborted), kafkalog.NewDecoder(kafkalog.Limits{})
		batches, err := walkAll(log)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, b := range batches {
			if b.IsControl() || view.Aborted(b) {
				continue
			}
			rs, _ := decodeAll(d, b)
			for _, r := range rs {
				got = append(got, r.Offset)
			}
		}
		if diff := cmp.Diff(committedByKgo(t, log, base, aborted), got); diff != "" {
			t.Fatalf("visible offsets (-kgo +view):\n%s", diff)
		}
	})
}

func parsedTxns(t *rapid.T, s *logtest.Segment) []kafkalog.AbortedTxn {
	txns, err := kafkalog.ParseTxnIndex(s.TxnIndex())
	if err != nil {
		t.Fatal(err)
	}
	return txns
}

func committedByKgo(t *rapid.T, log []byte, base int64, aborted []kafkalog.AbortedTxn) (offsets []int64) {
	p := kmsg.NewFetchResponseTopicPartition()
	p.RecordBatches, p.HighWatermark = log, 1<<62
	for _, a := range aborted {
		at := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
		at.ProducerID, at.FirstOffset = a.ProducerID, a.FirstOffset
		p.AbortedTransactions = append(p.AbortedTransactions, at)
	}
	fp, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: base, IsolationLevel: kgo.ReadCommitted()}, &p, kgo.DefaultDecompressor(), nil)
	if fp.Err != nil {
		t.Fatalf("kgo: %v", fp.Err)
	}
	for _, r := range fp.Records {
		offsets = append(offsets, r.Offset)
	}
	return offsets
}

func TestTxnViewMergesDuplicates(t *testing.T) {
	v := kafkalog.NewTxnView([]kafkalog.AbortedTxn{{1, 10, 20, 0}, {1, 40, 50, 0}, {1, 10, 20, 0}, {2, 0, 100, 0}})
	at := func(producer, offset int64) bool {
		return v.Aborted(mustBatch(t, logtest.Batch{Base: offset, Transactional: true, Producer: &logtest.Producer{ID: producer}, Records: logtest.Values(offset, "x")}))
	}
	for offset, want := range map[int64]bool{9: false, 10: true, 19: true, 21: false, 39: false, 45: true, 51: false} {
		if at(1, offset) != want {
			t.Errorf("offset %d: aborted = %v", offset, !want)
		}
	}
	if at(3, 10) {
		t.Error("a producer without aborted transactions")
	}
	if v.Aborted(mustBatch(t, logtest.Batch{Base: 12, Producer: &logtest.Producer{ID: 1}, Records: logtest.Values(12, "x")})) {
		t.Error("a batch outside a transaction is aborted")
	}
}

func TestParseTxnIndexRefuses(t *testing.T) {
	s := logtest.NewSegment(0)
	s.Aborted = []kafkalog.AbortedTxn{{ProducerID: 1, FirstOffset: 5, LastOffset: 9}, {ProducerID: 2, FirstOffset: 6, LastOffset: 8}}
	if _, err := kafkalog.ParseTxnIndex(s.TxnIndex()); !status.Is(err, status.Corrupt) {
		t.Errorf("markers that do not ascend: %v", err)
	}
	s.Aborted = s.Aborted[:1]
	good := s.TxnIndex()
	if _, err := kafkalog.ParseTxnIndex(good[:33]); !status.Is(err, status.Corrupt) {
		t.Errorf("cut: %v", err)
	}
	for at, want := range map[int]status.Class{0: status.Unsupported, 2: status.Corrupt, 10: status.Corrupt, 18: status.Corrupt} {
		bad := append([]byte(nil), good...)
		bad[at] ^= 0x80
		if _, err := kafkalog.ParseTxnIndex(bad); !status.Is(err, want) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	if txns, err := kafkalog.ParseTxnIndex(nil); err != nil || len(txns) != 0 {
		t.Errorf("empty: %v", err)
	}
}

func TestParseProducerSnapshot(t *testing.T) {
	s := logtest.NewSegment(10)
	a, b := logtest.Producer{ID: 1}, logtest.Producer{ID: 2}
	s.InTxn(b, "x").InTxn(a, "y").InTxn(b, "z").End(b, kafkalog.ControlCommit).InTxn(b, "again")
	good := s.ProducerSnapshot()
	open, err := kafkalog.ParseProducerSnapshot(good)
	if diff := cmp.Diff([]kafkalog.OpenTxn{{ProducerID: 1, FirstOffset: 11}, {ProducerID: 2, FirstOffset: 14}}, open); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for at := range good {
		bad := append([]byte(nil), good...)
		bad[at] ^= 1
		want := status.Corrupt
		if at < 2 {
			want = status.Unsupported
		}
		if _, err := kafkalog.ParseProducerSnapshot(bad); !status.Is(err, want) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	lies := append([]byte(nil), good...) // a sealed count without the entries
	binary.BigEndian.PutUint32(lies[6:], 1<<30)
	binary.BigEndian.PutUint32(lies[2:], crc32.Checksum(lies[6:], crc32.MakeTable(crc32.Castagnoli)))
	for _, bad := range [][]byte{lies, good[:9], nil} {
		if _, err := kafkalog.ParseProducerSnapshot(bad); !status.Is(err, status.Corrupt) {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}
