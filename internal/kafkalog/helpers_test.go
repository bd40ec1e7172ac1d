package kafkalog_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

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
