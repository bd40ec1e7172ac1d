package convert

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tidemark/catalog"
	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

func TestAbortedTransactionsWithMarkersInLaterSegments(t *testing.T) {
	p, q := logtest.Producer{ID: 1}, logtest.Producer{ID: 2}
	first := logtest.NewSegment(0).Produce(kafkalog.None, "plain0").InTxn(p, "aborted1", "aborted2").InTxn(q, "committed3")
	second := first.Roll().InTxn(p, "aborted4").End(q, kafkalog.ControlCommit).Produce(kafkalog.Zstd, "plain6")
	third := second.Roll().End(p, kafkalog.ControlAbort).InTxn(p, "committed8").End(p, kafkalog.ControlCommit)
	c := converter(t, definition(rawDecoder))
	want := map[int64]string{0: "plain0", 3: "committed3", 6: "plain6", 8: "committed8"}
	got := convert(t, c, input(first, second, third))
	if !reflect.DeepEqual(seen(got), want) {
		t.Errorf("rows %v, want %v", seen(got), want)
	}
	if n := got.Counts; n != (catalog.Counts{Rows: 4, Aborted: 3, Control: 3}) || got.Range.End != 10 || got.Range.LastRow != 8 {
		t.Errorf("counts %+v, range %+v", n, got.Range)
	}
	// The first segment alone, with the outcome known from the third one's index.
	in := input(first, second, third)
	in.Segments, in.End = in.Segments[:1], first.Next()
	if got := convert(t, c, in); !reflect.DeepEqual(seen(got), map[int64]string{0: "plain0", 3: "committed3"}) || got.Counts.Aborted != 2 {
		t.Errorf("rows %v, counts %+v", seen(got), got.Counts)
	}
}

func TestOverlappingSegmentsGiveEachOffsetOnce(t *testing.T) {
	whole := logtest.NewSegment(0)
	for i := range 6 {
		whole.Add(logtest.Batch{Base: int64(10 * i), LeaderEpoch: int32(i / 3), Last: int64(10*i + 9), Records: logtest.Values(int64(10*i), "a", "b", "c")})
	}
	part := func(from, to int) *logtest.Segment {
		s := logtest.NewSegment(int64(10 * from))
		for i := from; i < to; i++ {
			s.Add(logtest.Batch{Base: int64(10 * i), LeaderEpoch: int32(i / 3), Last: int64(10*i + 9), Records: logtest.Values(int64(10*i), "a", "b", "c")})
		}
		return s
	}
	c := converter(t, definition(rawDecoder))
	want := convert(t, c, input(whole))
	got := convert(t, c, input(part(0, 3), part(1, 4), part(2, 6), part(5, 6)))
	if !reflect.DeepEqual(got.rows, want.rows) || got.Range != want.Range || got.Counts != want.Counts {
		t.Errorf("rows %v, want %v; range %+v, want %+v", seen(got), seen(want), got.Range, want.Range)
	}
}

func TestEmptySegmentsAndRangesWithoutRows(t *testing.T) {
	c := converter(t, definition(rawDecoder))
	t.Run("empty file", func(t *testing.T) {
		in := Input{Base: 5, End: 9, Before: catalog.Progress{BatchEpoch: 3, LastBatchBase: 2, LastBatchCRC: 77},
			Segments: []Segment{{Name: "empty", Source: bytes.NewReader(nil), Span: kafkalog.Span{Base: 0, End: 8}}}}
		got := convert(t, c, in)
		want := catalog.Range{Base: 5, End: 9, BatchEpoch: 3, LastBatchBase: 2, LastBatchCRC: 77, LastRow: -1}
		if got.Range != want || len(got.Files) != 0 {
			t.Errorf("range %+v, want %+v; %d files", got.Range, want, len(got.Files))
		}
	})
	t.Run("all aborted", func(t *testing.T) {
		p := logtest.Producer{ID: 1}
		s := logtest.NewSegment(0).InTxn(p, "a", "b").End(p, kafkalog.ControlAbort)
		got := convert(t, c, input(s))
		if len(got.Files) != 0 || got.Range.End != 3 || got.Range.LastRow != -1 || got.Range.LastBatchBase != 2 {
			t.Errorf("%d files, range %+v", len(got.Files), got.Range)
		}
		if got.Counts != (catalog.Counts{Aborted: 2, Control: 1}) {
			t.Errorf("counts %+v", got.Counts)
		}
	})
	t.Run("bare batch header of the cleaner", func(t *testing.T) {
		s := logtest.NewSegment(0).Add(logtest.Batch{Base: 0, Last: 4}).Produce(kafkalog.None, "x")
		if got := convert(t, c, input(s)); !reflect.DeepEqual(seen(got), map[int64]string{5: "x"}) || got.Range.End != 6 {
			t.Errorf("rows %v range %+v", seen(got), got.Range)
		}
	})
}

// A log may begin inside a batch (DeleteRecords), and a range may end there.
func TestRangesThatBeginOrEndInsideABatch(t *testing.T) {
	p := logtest.Producer{ID: 1}
	s := logtest.NewSegment(0).Produce(kafkalog.LZ4, "0", "1", "2", "3").InTxn(p, "4", "5", "6").End(p, kafkalog.ControlAbort)
	c := converter(t, definition(rawDecoder))
	in := input(s)
	in.Base, in.End = 2, 6
	got := convert(t, c, in)
	if !reflect.DeepEqual(seen(got), map[int64]string{2: "2", 3: "3"}) || got.Counts.Aborted != 2 || got.Range.Base != 2 || got.Range.End != 6 {
		t.Errorf("rows %v, counts %+v, range %+v", seen(got), got.Counts, got.Range)
	}
}

func TestDamageNamesTheSegment(t *testing.T) {
	c := converter(t, definition(rawDecoder))
	first := logtest.NewSegment(0).Produce(kafkalog.None, "good")
	make := func(change func(in *Input, log []byte)) Input {
		second := first.Roll().Produce(kafkalog.Zstd, "good", "too")
		in := input(first, second)
		log := slices.Clone(second.Log)
		in.Segments[1].Source = bytes.NewReader(log)
		change(&in, log)
		return in
	}
	cases := []struct {
		name   string
		change func(in *Input, log []byte)
		class  status.Class
	}{
		{"flipped bit", func(_ *Input, log []byte) { log[len(log)-1] ^= 1 }, status.Corrupt},
		{"cut off", func(in *Input, log []byte) {
			in.Segments[1].Source = bytes.NewReader(log[:len(log)-3])
		}, status.Corrupt},
		{"another offset, which no CRC covers", func(_ *Input, log []byte) { log[7] += 3 }, status.Corrupt},
		{"written again under another epoch", func(in *Input, _ []byte) {
			in.Segments[1].Span.Epochs = []kafkalog.EpochStart{{Epoch: 4, Start: 0}}
		}, status.Corrupt},
		{"not zstd inside", func(_ *Input, log []byte) {
			log[kafkalog.HeaderSize] ^= 0xff
			logtest.Seal(log)
		}, status.Corrupt},
	}
	for _, k := range cases {
		_, err := c.Run(t.Context(), make(k.change), &files{})
		if !status.Is(err, k.class) || !strings.Contains(err.Error(), "segment at 1") {
			t.Errorf("%s: %v (%s)", k.name, err, status.Of(err))
		}
	}
}

func TestSegmentsMustTileTheRange(t *testing.T) {
	c := converter(t, definition(rawDecoder))
	a := logtest.NewSegment(0).Produce(kafkalog.None, "a", "b")
	b := logtest.NewSegment(5).Produce(kafkalog.None, "c")
	for name, change := range map[string]func(*Input){
		"hole":       func(in *Input) {},
		"short":      func(in *Input) { in.Segments = in.Segments[:1] },
		"none":       func(in *Input) { in.Segments = nil },
		"empty":      func(in *Input) { in.End = in.Base },
		"late begin": func(in *Input) { in.Segments = in.Segments[1:] },
	} {
		in := input(a, b)
		change(&in)
		if _, err := c.Run(t.Context(), in, &files{}); !status.Is(err, status.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsOfTheOutputAndTheContext(t *testing.T) {
	c := converter(t, definition(rawDecoder))
	in := input(logtest.NewSegment(0).Produce(kafkalog.None, "a"))
	full := status.Errorf(status.Transient, "no space")
	if _, err := c.Run(t.Context(), in, &files{fail: full}); !errors.Is(err, full) {
		t.Errorf("output: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Run(ctx, in, &files{}); !status.Is(err, status.Cancelled) {
		t.Errorf("context: %v", err)
	}
}

func TestNewRefusesATableThatDoesNotFit(t *testing.T) {
	change := map[string]func(*Definition){
		"delay": func(d *Definition) { d.Main.Fields[8].Type.Kind = schema.Int },
		"ratio": func(d *Definition) { d.Main.Fields = slices.Delete(slices.Clone(d.Main.Fields), 9, 10) },
		"reason": func(d *Definition) {
			d.Quarantine.Fields[quarantineReason].Name = "why"
		},
		"tags.element": func(d *Definition) { d.Main.Fields[10].Type.Element.Required = true },
		"extra": func(d *Definition) {
			d.Main.Fields = append(d.Main.Fields, schema.Field{ID: 99, Name: "extra", Required: true})
		},
	}
	for want, f := range change {
		def := definition(jsonDecoder(t, flightSchema))
		f(&def)
		if _, err := New(def); !status.Is(err, status.Invalid) || !strings.Contains(err.Error(), "column "+want) || !strings.Contains(err.Error(), "topic flights") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestAConversionIsAPureFunction(t *testing.T) {
	p := logtest.Producer{ID: 1}
	s := logtest.NewSegment(0).Produce(kafkalog.Snappy, `{"carrier":"UA","delay":3}`, `{"delay":1}`, `nonsense`).
		InTxn(p, `{"carrier":"x"}`).End(p, kafkalog.ControlAbort).Produce(kafkalog.None, `{"carrier":"B6","tags":["a","b"]}`)
	def := definition(jsonDecoder(t, flightSchema))
	first := convert(t, converter(t, def), input(s))
	for range 3 {
		again := convert(t, converter(t, def), input(s))
		if !reflect.DeepEqual(again.Result, first.Result) {
			t.Fatalf("result %+v, the first time %+v", again.Result, first.Result)
		}
		for i := range first.files.data {
			if !bytes.Equal(first.files.data[i].Bytes(), again.files.data[i].Bytes()) {
				t.Errorf("file %d has other bytes", i)
			}
		}
	}
}

// stream draws one log: batches of every kind, with day-sized time steps.
func stream(t *rapid.T) (batches []logtest.Batch, aborted []kafkalog.AbortedTxn, records int) {
	offset, now := rapid.Int64Range(0, 5).Draw(t, "start"), int64(-2*86400000)
	values := []string{`{"carrier":"a"}`, `{"carrier":"b","delay":7}`, `{}`, `{"carrier":"c","x":1}`, `oops`}
	for i := range rapid.IntRange(1, 12).Draw(t, "batches") {
		p := logtest.Producer{ID: int64(i)}
		b := logtest.Batch{Base: offset, LeaderEpoch: int32(i / 4), Codec: rapid.SampledFrom([]kafkalog.Codec{kafkalog.None, kafkalog.Zstd}).Draw(t, "codec")}
		for range rapid.IntRange(0, 5).Draw(t, "records") {
			now += rapid.Int64Range(0, 3*86400000/2).Draw(t, "step")
			rec := kafkalog.Record{Offset: offset, Timestamp: now, Value: []byte(rapid.SampledFrom(values).Draw(t, "value"))}
			if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
				rec.Value, rec.Timestamp = nil, -1
			}
			b.Records = append(b.Records, rec)
			offset += rapid.Int64Range(1, 3).Draw(t, "skip")
		}
		if len(b.Records) > 0 && rapid.Bool().Draw(t, "txn") {
			b.Transactional, b.Producer = true, &p
			batches = append(batches, b)
			end := kafkalog.ControlCommit
			if rapid.Bool().Draw(t, "abort") {
				end = kafkalog.ControlAbort
				aborted = append(aborted, kafkalog.AbortedTxn{ProducerID: p.ID, FirstOffset: b.Base, LastOffset: offset})
			}
			m := logtest.Marker(offset, p, end)
			m.LeaderEpoch = b.LeaderEpoch
			batches = append(batches, m)
			records += len(b.Records) + 1
			offset++
			continue
		}
		b.Last = offset + rapid.Int64Range(0, 2).Draw(t, "hole")
		offset = b.Last + 1
		batches, records = append(batches, b), records+len(b.Records)
	}
	return batches, aborted, records
}

// cutInto makes segments of batches, rolled after each batch with the given probability in tenths.
func cutInto(batches []logtest.Batch, roll func(i int) bool) []*logtest.Segment {
	s := logtest.NewSegment(batches[0].Base)
	segments := []*logtest.Segment{s}
	for i, b := range batches {
		if i > 0 && roll(i) {
			s = s.Roll()
			segments = append(segments, s)
		}
		s.Add(b)
	}
	return segments
}

// run converts a stream range by range, each ending where the limits or ends say, and returns all rows.
func chain(t testing.TB, c *Converter, in Input, ends []int64) (rows map[catalog.Role]map[int64]row, counts catalog.Counts, last catalog.Range) {
	rows = map[catalog.Role]map[int64]row{catalog.Main: {}, catalog.Quarantine: {}}
	whole := in.End
	for in.Base < whole {
		in.End = whole
		for _, e := range ends {
			if e > in.Base {
				in.End = min(in.End, e)
			}
		}
		got := convert(t, c, in)
		if got.Range.Base != in.Base || got.Range.End <= in.Base || got.Range.End > in.End {
			t.Fatalf("asked [%d, %d), got %+v", in.Base, in.End, got.Range)
		}
		for role, some := range got.rows {
			for offset, r := range some {
				if offset < got.Range.Base || offset >= got.Range.End || rows[role][offset] != nil {
					t.Fatalf("offset %d of range %+v is a stranger or there already", offset, got.Range)
				}
				rows[role][offset] = r
			}
		}
		counts.Rows += got.Counts.Rows
		counts.Quarantined += got.Counts.Quarantined
		counts.Aborted += got.Counts.Aborted
		counts.Control += got.Counts.Control
		counts.Tombstones += got.Counts.Tombstones
		last, in.Base = got.Range, got.Range.End
		in.Before = catalog.Progress{Next: last.End, BatchEpoch: last.BatchEpoch, LastBatchBase: last.LastBatchBase, LastBatchCRC: last.LastBatchCRC}
	}
	return rows, counts, last
}

// One record stream through any range cuts, segment cuts and limits gives the same rows.
func TestCutsAndLimitsDoNotChangeRows(t *testing.T) {
	decoder := jsonDecoder(t, flightSchema)
	reference := converter(t, definition(decoder))
	rapid.Check(t, func(rt *rapid.T) {
		batches, aborted, records := stream(rt)
		build := func(segments []*logtest.Segment) Input {
			in := input(segments...)
			in.Aborted = kafkalog.NewTxnView(aborted)
			return in
		}
		want, wantCounts, wantLast := chain(t, reference, build(cutInto(batches, func(int) bool { return false })), nil)
		if n := wantCounts; n.Rows+n.Quarantined+n.Aborted+n.Control != int64(records) {
			rt.Fatalf("%+v do not make %d records", n, records)
		}
		def := definition(decoder)
		def.Limits = Limits{OpenPartitions: rapid.IntRange(1, 3).Draw(rt, "open"), FileBytes: rapid.SampledFrom([]int64{1, 1 << 30}).Draw(rt, "bytes"),
			Memory: rapid.SampledFrom([]int64{1, 1 << 30}).Draw(rt, "memory")}
		in := build(cutInto(batches, func(int) bool { return rapid.Bool().Draw(rt, "roll") }))
		ends := rapid.SliceOfN(rapid.Int64Range(in.Base, in.End), 0, 4).Draw(rt, "ends")
		got, counts, last := chain(t, converter(t, def), in, ends)
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("rows %v, want %v", got, want)
		}
		last.Base, wantLast.Base = 0, 0 // where the last range begins is the cuts' business
		last.LastRow, wantLast.LastRow = 0, 0
		if counts != wantCounts || last != wantLast {
			rt.Fatalf("counts %+v, want %+v; end %+v, want %+v", counts, wantCounts, last, wantLast)
		}
	})
}

func TestFootersSayRangeCountsAndPart(t *testing.T) {
	day := int64(86400000)
	s := logtest.NewSegment(0)
	for i := range int64(3) {
		s.Add(logtest.Batch{Base: 2 * i, LeaderEpoch: 2, Records: []kafkalog.Record{
			{Offset: 2 * i, Timestamp: i * day, Value: []byte(`{"carrier":"x"}`)}, {Offset: 2*i + 1, Timestamp: i % 2 * day, Value: []byte("bad")},
		}})
	}
	c := converter(t, definition(jsonDecoder(t, flightSchema)))
	in := input(s)
	in.Partition = 6
	got := convert(t, c, in)
	if len(got.Files) != 5 {
		t.Fatalf("%d files, want three of main and two of quarantine", len(got.Files))
	}
	parts := map[catalog.Role][]int{}
	for i, f := range got.footers {
		if f.Range != got.Range || f.Counts != got.Counts || f.Claim.TopicID != claim.TopicID || f.LeaderEpoch != 9 || f.Pipeline != "5" || f.Generation != 1 {
			t.Errorf("file %d: footer %+v, result %+v", i, f, got.Result)
		}
		if f.Parts != map[catalog.Role]int{catalog.Main: 3, catalog.Quarantine: 2}[f.Role] {
			t.Errorf("file %d of %s: %d parts", i, f.Role, f.Parts)
		}
		parts[f.Role] = append(parts[f.Role], f.Part)
	}
	if !reflect.DeepEqual(parts, map[catalog.Role][]int{catalog.Main: {1, 2, 3}, catalog.Quarantine: {1, 2}}) {
		t.Errorf("parts %v", parts)
	}
	want := catalog.Range{Partition: 6, End: 6, BatchEpoch: 2, LastBatchBase: 4, LastRow: 4, LastBatchCRC: got.Range.LastBatchCRC}
	if got.Range != want || got.Range.LastBatchCRC == 0 {
		t.Errorf("range %+v, want %+v", got.Range, want)
	}
	if !maps.Equal(got.Reasons, map[string]int64{"BAD_JSON": 3}) {
		t.Errorf("reasons %v", got.Reasons)
	}
}
