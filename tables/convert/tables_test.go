package convert

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"tidemark/catalog"
	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/parquet/schema"
)

const dayMs = 86400000

// onDays is a batch with one record a day.
func onDays(base int64, value string, days ...int64) logtest.Batch {
	b := logtest.Batch{Base: base}
	for i, d := range days {
		b.Records = append(b.Records, kafkalog.Record{Offset: base + int64(i), Timestamp: d * dayMs, Value: []byte(value)})
	}
	return b
}

func TestFilesAreOneByDay(t *testing.T) {
	s := logtest.NewSegment(0).Add(onDays(0, "v", 0, 1, -1, 0, -719162, 2932896))
	s.Add(logtest.Batch{Base: 6, Records: []kafkalog.Record{{Offset: 6, Timestamp: -1}, {Offset: 7, Timestamp: -dayMs - 1}, {Offset: 8, Timestamp: 1 << 60}}})
	got := convert(t, converter(t, definition(rawDecoder)), input(s))
	rows := map[string]int64{}
	for _, f := range got.Files {
		p := f.Partition[0]
		if len(f.Partition) != 1 || p.FieldID != 1000 || f.Spec != 3 || f.Schema != 7 {
			t.Errorf("file %d: %+v", f.Index, f.File)
		}
		day := fmt.Sprint(p.Value)
		if p.Null {
			day = "null"
		}
		rows[day] = f.Rows
	}
	want := map[string]int64{"0": 2, "1": 1, "-1": 1, "-2": 1, "-719162": 1, "2932896": 1, "null": 2}
	if fmt.Sprint(rows) != fmt.Sprint(want) {
		t.Errorf("rows by day %v, want %v", rows, want)
	}
}

func TestUnpartitionedTablesHaveOneFile(t *testing.T) {
	def := definition(rawDecoder)
	def.Specs = map[catalog.Role]Spec{catalog.Main: {ID: 0}, catalog.Quarantine: {ID: 0}}
	got := convert(t, converter(t, def), input(logtest.NewSegment(0).Add(onDays(0, "v", 0, 1, 2, 3))))
	if len(got.Files) != 1 || got.Files[0].Partition != nil || got.Files[0].Rows != 4 {
		t.Errorf("files %+v", got.Files)
	}
}

func TestARangeEndsBeforeTheBatchAfterTooManyDays(t *testing.T) {
	s := logtest.NewSegment(0).Add(onDays(0, "v", 0, 1)).Add(onDays(2, "v", 2, 1, 0)).Add(onDays(5, "v", 0))
	for limit, want := range map[int]int64{1: 2, 2: 2, 3: 5, 4: 6} {
		def := definition(rawDecoder)
		def.Limits.OpenPartitions = limit
		got := convert(t, converter(t, def), input(s))
		if got.Range.End != want || got.Counts.Rows != want || got.Range.LastRow != want-1 {
			t.Errorf("%d days: range %+v, %d rows, want end %d", limit, got.Range, got.Counts.Rows, want)
		}
	}
}

// A producer may put any number of days into one batch: the files open at once stay bounded.
func TestABatchWithTooManyDaysIsCut(t *testing.T) {
	days := make([]int64, 50)
	for i := range days {
		days[i] = int64(i)
	}
	for _, value := range []string{`{"carrier":"x"}`, `bad`} {
		s := logtest.NewSegment(0).Add(onDays(0, `{"carrier":"x"}`, 0)).Add(onDays(1, value, days...))
		def := definition(jsonDecoder(t, flightSchema))
		def.Limits.OpenPartitions = 4
		c := converter(t, def)
		in := input(s)
		got := convert(t, c, in)
		open := map[catalog.Role]int{}
		for _, f := range got.Files {
			open[f.Role]++
		}
		if open[catalog.Main] > 8 || open[catalog.Quarantine] > 8 || got.Range.End <= 1 || got.Range.End > 10 {
			t.Errorf("%s: %v files open, range %+v", value, open, got.Range)
		}
		if got.Range.LastBatchBase != 1 || got.Range.BatchEpoch != 0 {
			t.Errorf("%s: the batch in which the range ends is its last: %+v", value, got.Range)
		}
		rows, counts, last := chain(t, c, in, nil)
		if last.End != 51 || counts.Rows+counts.Quarantined != 51 || len(rows[catalog.Main])+len(rows[catalog.Quarantine]) != 51 {
			t.Errorf("%s: counts %+v, end %d", value, counts, last.End)
		}
	}
}

func TestMemoryBoundsTheFilesOfARange(t *testing.T) {
	s := logtest.NewSegment(0).Add(onDays(0, "v", 0, 1, 2, 3, 4, 5))
	def := definition(rawDecoder)
	def.Limits.Memory = 3 << 20 // two writers beside the first
	got := convert(t, converter(t, def), input(s))
	if n := len(got.Files); n != 3 || got.Range.End != 3 {
		t.Errorf("%d files, range %+v", n, got.Range)
	}
}

func TestARangeEndsWhenAFileIsLargeEnough(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := logtest.NewSegment(0)
	for i := range int64(40) {
		value := make([]byte, 256<<10)
		for j := range value {
			value[j] = byte(random.Uint32())
		}
		s.Add(logtest.Batch{Base: i, Records: []kafkalog.Record{{Offset: i, Value: value}}})
	}
	def := definition(rawDecoder)
	def.Limits.FileBytes = 1 << 20
	c := converter(t, def)
	in := input(s)
	for ranges := 0; in.Base < in.End; ranges++ {
		got := convert(t, c, in)
		// What is gathered before the writer sees it comes on top.
		if size := got.Files[0].Size; len(got.Files) != 1 || size > def.Limits.FileBytes+batchBytes+(1<<20) || ranges > 20 {
			t.Fatalf("range %+v: %d files, the first has %d bytes", got.Range, len(got.Files), size)
		}
		in.Base = got.Range.End
	}
}

func TestNoFileForRecordsThatAreAllBad(t *testing.T) {
	s := logtest.NewSegment(0).Add(onDays(0, "bad", 0, 1, 2)).Add(onDays(3, `{"carrier":"x"}`, 7))
	got := convert(t, converter(t, definition(jsonDecoder(t, flightSchema))), input(s))
	if len(got.Files) != 4 || got.Files[3].Role != catalog.Main || got.Files[3].Partition[0].Value != 7 {
		t.Errorf("files %+v", got.Files)
	}
}

func TestColumnsOfOthersAreNull(t *testing.T) {
	def := definition(jsonDecoder(t, flightSchema))
	extra := schema.Field{ID: 500, Name: "added_by_spark", Type: schema.Type{Kind: schema.Struct, Fields: []schema.Field{{ID: 501, Name: "x", Type: schema.Type{Kind: schema.Int}}}}}
	// In front, and with the definition's columns in another order.
	fields := append([]schema.Field{extra}, def.Main.Fields...)
	fields[1], fields[9] = fields[9], fields[1]
	def.Main.Fields = fields
	s := logtest.NewSegment(0).Produce(kafkalog.None, `{"carrier":"x","delay":2}`, `bad`, `{"carrier":"y"}`)
	var out files
	got, err := converter(t, def).Run(t.Context(), input(s), &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got.Files {
		if f.Role != catalog.Main {
			continue
		}
		for _, c := range f.Columns {
			if c.FieldID == 501 && (c.Values != 2 || c.Nulls != 2) {
				t.Errorf("column of others: %+v", c)
			}
		}
		if f.Rows != 2 {
			t.Errorf("%d rows", f.Rows)
		}
	}
}

func TestBoundsOfTheOffsetColumn(t *testing.T) {
	s := logtest.NewSegment(300).Produce(kafkalog.None, "a", "b", "c")
	got := convert(t, converter(t, definition(rawDecoder)), input(s))
	for _, c := range got.Files[0].Columns {
		if c.FieldID == 2 && (!bytes.Equal(c.Lower, []byte{44, 1, 0, 0, 0, 0, 0, 0}) || !bytes.Equal(c.Upper, []byte{46, 1, 0, 0, 0, 0, 0, 0}) || c.Values != 3) {
			t.Errorf("offsets: %+v", c)
		}
	}
}
