package kafkalog_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/status"
)

// wanted is what a consumer must see of b.
func wanted(b logtest.Batch) []kafkalog.Record {
	var rs []kafkalog.Record
	for _, r := range b.Records {
		if b.LogAppendTime > 0 {
			r.Timestamp = b.LogAppendTime
		}
		rs = append(rs, r)
	}
	return rs
}

func TestRecordsReadBack(t *testing.T) {
	d := kafkalog.NewDecoder(kafkalog.Limits{})
	rapid.Check(t, func(t *rapid.T) {
		in := drawBatch(t, rapid.Int64Range(0, 1<<40).Draw(t, "base"))
		b, err := kafkalog.ParseBatch(in.Bytes(), 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeAll(d, b)
		if err != nil {
			t.Fatalf("%s, split %d: %v", in.Codec, in.Split, err)
		}
		if diff := cmp.Diff(wanted(in), got); diff != "" {
			t.Fatalf("%s, split %d (-want +got):\n%s", in.Codec, in.Split, diff)
		}
	})
}

// TestRecordsAgreeWithKgo reads whole segments with franz-go's decoder as well.
func TestRecordsAgreeWithKgo(t *testing.T) {
	d := kafkalog.NewDecoder(kafkalog.Limits{})
	rapid.Check(t, func(t *rapid.T) {
		s := logtest.NewSegment(rapid.Int64Range(0, 1<<40).Draw(t, "base"))
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			s.Add(drawBatch(t, s.Next()+rapid.Int64Range(0, 2).Draw(t, "batch gap")))
		}
		want := byKgo(t, s.Log, s.Base)
		batches, err := walkAll(s.Log)
		if err != nil {
			t.Fatal(err)
		}
		var got []kafkalog.Record
		for _, b := range batches {
			rs, err := decodeAll(d, b)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rs...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-kgo +kafkalog):\n%s", diff)
		}
	})
}

type fataler interface{ Fatalf(string, ...any) }

func byKgo(t fataler, log []byte, base int64) (records []kafkalog.Record) {
	p := kmsg.NewFetchResponseTopicPartition()
	p.RecordBatches, p.HighWatermark = log, 1<<62
	fp, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{KeepControlRecords: true, Offset: base}, &p, kgo.DefaultDecompressor(), nil)
	if fp.Err != nil {
		t.Fatalf("kgo: %v", fp.Err)
	}
	for _, r := range fp.Records {
		out := kafkalog.Record{Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
		for _, h := range r.Headers {
			out.Headers = append(out.Headers, kafkalog.Header{Key: []byte(h.Key), Value: h.Value})
		}
		records = append(records, out)
	}
	return records
}

func TestRecordsStop(t *testing.T) {
	d := kafkalog.NewDecoder(kafkalog.Limits{})
	b := mustBatch(t, logtest.Batch{Base: 5, Records: logtest.Values(5, "a", "b")})
	n := 0
	if err := d.Records(b, func(*kafkalog.Record) error { n++; return kafkalog.ErrStop }); err != nil || n != 1 {
		t.Errorf("ErrStop: %v after %d records", err, n)
	}
	boom := errors.New("boom")
	if err := d.Records(b, func(*kafkalog.Record) error { return boom }); err != boom {
		t.Errorf("error of fn = %v", err)
	}
}

func TestRecordsLimits(t *testing.T) {
	big := strings.Repeat("x", 4000)
	h := kafkalog.Header{Key: []byte("k")}
	for _, codec := range codecs {
		for _, split := range []int{0, 1000} {
			b := mustBatch(t, logtest.Batch{Codec: codec, Split: split, Records: logtest.Values(0, big, big)})
			for what, l := range map[string]kafkalog.Limits{"decompressed": {MaxDecompressed: 5000}, "record": {MaxRecordBytes: 3999}} {
				_, err := decodeAll(kafkalog.NewDecoder(l), b)
				if codec == kafkalog.None && what == "decompressed" {
					if err != nil {
						t.Errorf("none: %v", err)
					}
				} else if !status.Is(err, status.Unsupported) {
					t.Errorf("%s, split %d, limit on %s: %v", codec, split, what, err)
				}
			}
			exact := kafkalog.Limits{MaxDecompressed: 2*4000 + 19}
			if _, err := decodeAll(kafkalog.NewDecoder(exact), b); err != nil {
				t.Errorf("%s, split %d: exactly the limit: %v", codec, split, err)
			}
		}
	}
	b := mustBatch(t, logtest.Batch{Records: []kafkalog.Record{{Headers: []kafkalog.Header{h, h}}}})
	if _, err := decodeAll(kafkalog.NewDecoder(kafkalog.Limits{MaxHeaders: 1}), b); !status.Is(err, status.Unsupported) {
		t.Errorf("headers: %v", err)
	}
}

// TestRecordsContradictions seals batches that are wrong inside.
func TestRecordsContradictions(t *testing.T) {
	plain := logtest.Batch{Base: 7, Records: logtest.Values(7, "abc", "def")}.Bytes()
	const first = kafkalog.HeaderSize
	cases := []struct {
		name  string
		at    int
		value byte
	}{
		{"length beyond the batch", first, 0x7e},
		{"length negative", first, 1},
		{"length too small for the record", first, 16},
		{"length inside the next record", first, 22},
		{"offset delta beyond the last", first + 3, 8},
		{"offset delta negative", first + 3, 1},
		{"value length beyond the record", first + 5, 0x60},
		{"header count negative", first + 9, 1},
		{"header count without headers", first + 9, 2},
		{"two records at one offset", first + 10 + 4, 0},
		{"more records than bytes", 60, 200},
		{"fewer records than bytes", 60, 1},
		{"no records but bytes", 60, 0},
		{"unknown codec", 22, 5},
		{"gzip that is none", 22, 1},
		{"snappy that is none", 22, 2},
		{"lz4 that is none", 22, 3},
		{"zstd that is none", 22, 4},
	}
	d := kafkalog.NewDecoder(kafkalog.Limits{})
	for _, c := range cases {
		raw := append([]byte(nil), plain...)
		raw[c.at] = c.value
		logtest.Seal(raw)
		b, err := kafkalog.ParseBatch(raw, 0)
		if err == nil {
			_, err = decodeAll(d, b)
		}
		want := status.Corrupt
		if c.value == 5 {
			want = status.Unsupported
		}
		if !status.Is(err, want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestRecordsAllocateNothing(t *testing.T) {
	for _, codec := range codecs {
		for _, split := range []int{0, 500} {
			r := logtest.Values(0, strings.Repeat("abc", 100), strings.Repeat("def", 100))
			r[0].Headers = []kafkalog.Header{{Key: []byte("k"), Value: []byte("v")}}
			b := mustBatch(t, logtest.Batch{Codec: codec, Split: split, Records: r})
			d := kafkalog.NewDecoder(kafkalog.Limits{})
			fn := func(*kafkalog.Record) error { return nil }
			if n := testing.AllocsPerRun(50, func() { _ = d.Records(b, fn) }); n > 0 {
				t.Errorf("%s, split %d: %v allocations a batch", codec, split, n)
			}
		}
	}
}

func FuzzRecords(f *testing.F) {
	for _, codec := range codecs {
		for _, split := range []int{0, 5} {
			b := logtest.Batch{Codec: codec, Split: split, Records: logtest.Values(0, "a", "bb", "ccc")}
			b.Records[1].Headers = []kafkalog.Header{{Key: []byte("k")}}
			f.Add(int8(codec), int32(3), b.Bytes()[kafkalog.HeaderSize:])
		}
	}
	f.Fuzz(func(t *testing.T, codec int8, count int32, body []byte) {
		raw := append(logtest.Batch{Last: 100}.Bytes(), body...)
		raw[22] = byte(codec) & 7
		raw[8], raw[9], raw[10], raw[11] = byte((len(raw)-12)>>24), byte((len(raw)-12)>>16), byte((len(raw)-12)>>8), byte(len(raw)-12)
		raw[57], raw[58], raw[59], raw[60] = byte(count>>24), byte(count>>16), byte(count>>8), byte(count)
		logtest.Seal(raw)
		b, err := kafkalog.ParseBatch(raw, 0)
		if err != nil {
			if count >= 0 {
				t.Fatal(err)
			}
			return
		}
		n, last := int32(0), int64(-1)
		d := kafkalog.NewDecoder(kafkalog.Limits{MaxDecompressed: 1 << 20})
		err = d.Records(b, func(r *kafkalog.Record) error {
			if r.Offset <= last || r.Offset > b.LastOffset() {
				t.Fatalf("offset %d after %d in a batch that ends at %d", r.Offset, last, b.LastOffset())
			}
			last = r.Offset
			n++
			return nil
		})
		switch {
		case err == nil && n != count:
			t.Fatalf("%d records of %d without an error", n, count)
		case err != nil && !status.Is(err, status.Corrupt) && !status.Is(err, status.Unsupported):
			t.Fatalf("class of %v", err)
		}
	})
}
