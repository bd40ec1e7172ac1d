package kafkalog_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
)

// benchSegment has about 32 MB of records of 230 B with key and header, 500 a batch, compressible about fourfold.
func benchSegment(codec kafkalog.Codec) (log []byte, plain int64) {
	rnd := rand.New(rand.NewSource(1))
	s := logtest.NewSegment(0)
	words := make([][]byte, 512)
	for i := range words {
		words[i] = make([]byte, 6)
		rnd.Read(words[i])
	}
	for plain < 32<<20 {
		b := logtest.Batch{Base: s.Next(), Codec: codec}
		for i := range int64(500) {
			var value []byte
			for len(value) < 180 {
				value = append(value, words[rnd.Intn(len(words))]...)
			}
			b.Records = append(b.Records, kafkalog.Record{Offset: b.Base + i, Timestamp: 1_700_000_000_000 + i, Key: fmt.Appendf(nil, "key-%08d", rnd.Intn(1e8)),
				Value: value, Headers: []kafkalog.Header{{Key: []byte("trace"), Value: []byte("0123456789")}}})
			plain += int64(len(value)) + 40
		}
		s.Add(b)
	}
	return s.Log, plain
}

func BenchmarkWalk(b *testing.B) {
	log, _ := benchSegment(kafkalog.None)
	src, w := bytes.NewReader(log), kafkalog.Walker{}
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Walk(src, 0, src.Size(), func(kafkalog.Batch) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDecode walks and decodes; bytes are those of the plain records.
func BenchmarkDecode(b *testing.B) {
	for _, codec := range codecs {
		b.Run(codec.String(), func(b *testing.B) {
			log, plain := benchSegment(codec)
			src, w, d := bytes.NewReader(log), kafkalog.Walker{}, kafkalog.NewDecoder(kafkalog.Limits{})
			b.SetBytes(plain)
			b.ReportMetric(float64(plain)/float64(len(log)), "ratio")
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				err := w.Walk(src, 0, src.Size(), func(batch kafkalog.Batch) error {
					return d.Records(batch, func(r *kafkalog.Record) error { n += len(r.Value); return nil })
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
