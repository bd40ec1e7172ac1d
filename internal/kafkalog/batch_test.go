package kafkalog_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
)

var codecs = []kafkalog.Codec{kafkalog.None, kafkalog.Gzip, kafkalog.Snappy, kafkalog.LZ4, kafkalog.Zstd}

// walkAll returns copies of the batches of a segment.
func walkAll(log []byte) (batches []kafkalog.Batch, err error) {
	err = kafkalog.Walk(bytes.NewReader(log), int64(len(log)), func(b kafkalog.Batch) error {
		c, err := kafkalog.ParseBatch(bytes.Clone(b.Bytes()), b.Pos)
		batches = append(batches, c)
		return err
	})
	return batches, err
}

// decodeAll returns deep copies of the records of a batch.
func decodeAll(d *kafkalog.Decoder, b kafkalog.Batch) (records []kafkalog.Record, err error) {
	err = d.Records(b, func(r *kafkalog.Record) error {
		records = append(records, cloneRecord(*r))
		return nil
	})
	return records, err
}

func cloneRecord(r kafkalog.Record) kafkalog.Record {
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	r.Headers = slices.Clone(r.Headers)
	for i, h := range r.Headers {
		r.Headers[i] = kafkalog.Header{Key: bytes.Clone(h.Key), Value: bytes.Clone(h.Value)}
	}
	if len(r.Headers) == 0 {
		r.Headers = nil
	}
	return r
}

func mustBatch(t testing.TB, b logtest.Batch) kafkalog.Batch {
	t.Helper()
	parsed, err := kafkalog.ParseBatch(b.Bytes(), 0)
	if err != nil {
		t.Fatalf("a batch of the builder does not parse: %v", err)
	}
	return parsed
}

// drawBytes draws null, empty or some bytes, repetitive ones among them so that codecs find something to do.
func drawBytes(label string) *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		switch rapid.IntRange(0, 3).Draw(t, label+" kind") {
		case 0:
			return nil
		case 1:
			return []byte{}
		case 2:
			return bytes.Repeat([]byte(rapid.StringN(1, 8, 16).Draw(t, label)), rapid.IntRange(1, 400).Draw(t, label+" times"))
		}
		return rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(t, label)
	})
}

func drawBatch(t *rapid.T, base int64) logtest.Batch {
	b := logtest.Batch{
		Base:          base,
		LeaderEpoch:   rapid.Int32Range(-1, 9).Draw(t, "epoch"),
		Codec:         rapid.SampledFrom(codecs).Draw(t, "codec"),
		Split:         rapid.SampledFrom([]int{0, 0, 1000, 70000}).Draw(t, "split"),
		Transactional: rapid.Bool().Draw(t, "transactional"),
		LogAppendTime: rapid.SampledFrom([]int64{0, 0, 1_700_000_000_000}).Draw(t, "append time"),
		DeleteHorizon: rapid.SampledFrom([]int64{0, 0, 1_600_000_000_000}).Draw(t, "horizon"),
	}
	if b.Transactional || rapid.Bool().Draw(t, "idempotent") {
		b.Producer = &logtest.Producer{ID: rapid.Int64Range(0, 3).Draw(t, "producer"), Epoch: 1, Sequence: 7}
	}
	off := base
	for range rapid.IntRange(0, 20).Draw(t, "records") {
		off += rapid.Int64Range(0, 3).Draw(t, "gap")
		r := kafkalog.Record{Offset: off, Timestamp: rapid.Int64Range(-1, 1<<42).Draw(t, "time"),
			Key: drawBytes("key").Draw(t, "key"), Value: drawBytes("value").Draw(t, "value")}
		for i := range rapid.IntRange(0, 3).Draw(t, "headers") {
			r.Headers = append(r.Headers, kafkalog.Header{Key: fmt.Appendf(nil, "h%d", i), Value: drawBytes("header").Draw(t, "header")})
		}
		b.Records = append(b.Records, r)
		off++
	}
	b.Last = b.LastOffset() + rapid.Int64Range(0, 5).Draw(t, "removed tail")
	return b
}

func goldenFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "kafka-4.0.2", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// goldenRecords are the records that Golden.java put into a data batch.
func goldenRecords(base int64, n int, appendTime int64) []kafkalog.Record {
	var rs []kafkalog.Record
	for i := range n {
		r := kafkalog.Record{Offset: base + int64(i), Timestamp: 1_700_000_000_000 + int64(i)*1000}
		if appendTime > 0 {
			r.Timestamp = appendTime
		}
		switch i % 3 {
		case 1:
			r.Key = []byte{}
		case 2:
			r.Key = []byte("key-" + strconv.Itoa(i))
		}
		if i%5 != 4 {
			r.Value = []byte(strings.Repeat("value-"+strconv.Itoa(i)+"-", i*2))
		}
		if i%2 == 1 {
			r.Headers = []kafkalog.Header{{Key: []byte("h"), Value: []byte("x" + strconv.Itoa(i))}, {Key: []byte("ü")}}
		}
		rs = append(rs, r)
	}
	return rs
}

// TestKafkasOwnBytes reads a segment that Kafka's Java classes wrote, every codec in it.
func TestKafkasOwnBytes(t *testing.T) {
	batches, err := walkAll(goldenFile(t, "00000000000000001000.log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(batches) != 3*len(codecs) {
		t.Fatalf("%d batches", len(batches))
	}
	d, offset := kafkalog.NewDecoder(kafkalog.Limits{}), int64(1000)
	for i, b := range batches {
		codec := codecs[i/3]
		got, err := decodeAll(d, b)
		if err != nil {
			t.Fatalf("batch %d: %v", i, err)
		}
		if b.BaseOffset() != offset || b.LeaderEpoch() != 7 || b.Magic() != 2 || int(b.Count()) != len(got) {
			t.Errorf("batch %d: base %d, epoch %d, count %d", i, b.BaseOffset(), b.LeaderEpoch(), b.Count())
		}
		switch i % 3 {
		case 0:
			if b.Codec() != codec || b.ProducerID() != -1 || b.IsTransactional() || b.IsControl() || b.TimestampType() != kafkalog.CreateTime {
				t.Errorf("batch %d: codec %s, producer %d", i, b.Codec(), b.ProducerID())
			}
			if diff := cmp.Diff(goldenRecords(offset, 60, 0), got); diff != "" {
				t.Errorf("batch %d, %s (-want +got):\n%s", i, codec, diff)
			}
		case 1:
			if b.ProducerID() != 42 || b.ProducerEpoch() != 3 || !b.IsTransactional() || b.TimestampType() != kafkalog.LogAppendTime {
				t.Errorf("batch %d: producer %d/%d, transactional %v", i, b.ProducerID(), b.ProducerEpoch(), b.IsTransactional())
			}
			if diff := cmp.Diff(goldenRecords(offset, 3, 1_800_000_000_000), got); diff != "" {
				t.Errorf("batch %d, %s (-want +got):\n%s", i, codec, diff)
			}
		case 2:
			want := kafkalog.ControlCommit
			if codec == kafkalog.Gzip {
				want = kafkalog.ControlAbort
			}
			if what, err := kafkalog.ParseControl(&got[0]); !b.IsControl() || !b.IsTransactional() || err != nil || what != want {
				t.Errorf("batch %d: control %v, type %d, %v", i, b.IsControl(), what, err)
			}
		}
		offset = b.NextOffset()
	}
}

func TestKafkasOwnIndexes(t *testing.T) {
	txns, err := kafkalog.ParseTxnIndex(goldenFile(t, "00000000000000001000.txnindex"))
	want := []kafkalog.AbortedTxn{{ProducerID: 42, FirstOffset: 1124, LastOffset: 1127, LastStableOffset: 1128},
		{ProducerID: 43, FirstOffset: 900, LastOffset: 1200, LastStableOffset: 1150}}
	if diff := cmp.Diff(want, txns); err != nil || diff != "" {
		t.Errorf("transaction index: %v (-want +got):\n%s", err, diff)
	}
	open, err := kafkalog.ParseProducerSnapshot(goldenFile(t, "00000000000000001320.snapshot"))
	if diff := cmp.Diff([]kafkalog.OpenTxn{{ProducerID: 44, FirstOffset: 0}, {ProducerID: 43, FirstOffset: 1290}}, open); err != nil || diff != "" {
		t.Errorf("producer snapshot: %v (-want +got):\n%s", err, diff)
	}
	if err := kafkalog.CheckOffsetIndex(goldenFile(t, "00000000000000001000.index"), 1000, 50000); err != nil {
		t.Error(err)
	}
	if err := kafkalog.CheckTimeIndex(goldenFile(t, "00000000000000001000.timeindex"), 1000); err != nil {
		t.Error(err)
	}
}

// TestBuilderWritesKafkasBytes holds the builder against Kafka where no codec is involved.
func TestBuilderWritesKafkasBytes(t *testing.T) {
	batches, err := walkAll(goldenFile(t, "00000000000000001000.log"))
	if err != nil {
		t.Fatal(err)
	}
	plain := logtest.Batch{Base: 1000, LeaderEpoch: 7, Records: goldenRecords(1000, 60, 0)}
	if diff := cmp.Diff(batches[0].Bytes(), plain.Bytes()); diff != "" {
		t.Errorf("plain batch (-kafka +builder):\n%s", diff)
	}
	txn := logtest.Batch{Base: 1060, LeaderEpoch: 7, Records: goldenRecords(1060, 3, 0), LogAppendTime: 1_800_000_000_000,
		Transactional: true, Producer: &logtest.Producer{ID: 42, Epoch: 3}}
	if diff := cmp.Diff(batches[1].Bytes(), txn.Bytes()); diff != "" {
		t.Errorf("transactional batch (-kafka +builder):\n%s", diff)
	}
	s := logtest.NewSegment(1000)
	s.Aborted = []kafkalog.AbortedTxn{{ProducerID: 42, FirstOffset: 1124, LastOffset: 1127, LastStableOffset: 1128},
		{ProducerID: 43, FirstOffset: 900, LastOffset: 1200, LastStableOffset: 1150}}
	if diff := cmp.Diff(goldenFile(t, "00000000000000001000.txnindex"), s.TxnIndex()); diff != "" {
		t.Errorf("transaction index (-kafka +builder):\n%s", diff)
	}
}
