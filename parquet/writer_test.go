package parquet

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/internal/budget"
	"tidemark/internal/status"
	"tidemark/parquet/column"
	"tidemark/parquet/column/columntest"
	"tidemark/parquet/schema"
)

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func writeFile(t fataler, s schema.Schema, opt Options, batches ...*column.Batch) ([]byte, Facts) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, s, opt)
	if err != nil {
		t.Fatalf("NewWriter: %v", err)
	}
	for _, b := range batches {
		if err := w.WriteBatch(b); err != nil {
			t.Fatalf("WriteBatch: %v", err)
		}
	}
	facts, err := w.Close()
	if err != nil {
		t.Fatalf("Close: %v", err)
	}
	return out.Bytes(), facts
}

func readFile(t fataler, file []byte, want []schema.Field, step int) []any {
	t.Helper()
	r, err := NewReader("test", bytes.NewReader(file), int64(len(file)), want)
	if err != nil {
		t.Fatalf("NewReader: %v", err)
	}
	defer r.Close()
	b := column.NewBatch(schema.Shapes(want))
	for {
		if _, err := r.Read(b, step); err == io.EOF {
			return rowsOf(b)
		} else if err != nil {
			t.Fatalf("Read: %v", err)
		}
	}
}

// Random nested batches come back equal through our reader and through Arrow's, which shares no code with the writer.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchema(t)
		var batches []*column.Batch
		var want []any
		for range rapid.IntRange(0, 3).Draw(t, "batches") {
			b := drawBatch(t, s, rapid.IntRange(0, 20).Draw(t, "rows"))
			batches = append(batches, b)
			want = append(want, rowsOf(b)...)
		}
		opt := Options{
			Codec:         rapid.SampledFrom([]Codec{Zstd, ZstdFastest, Snappy, Uncompressed}).Draw(t, "codec"),
			RowGroupBytes: rapid.SampledFrom([]int64{0, 1, 600}).Draw(t, "row group"),
			KeyValue:      map[string]string{"tidemark.layout": "1"},
		}
		file, facts := writeFile(t, s, opt, batches...)
		if want == nil {
			want = []any{}
		}
		if diff := cmp.Diff(want, readFile(t, file, s.Fields, 7)); diff != "" {
			t.Fatalf("own reader (-written +read):\n%s", diff)
		}
		if diff := cmp.Diff(want, readArrow(t, file, s)); diff != "" {
			t.Fatalf("arrow (-written +read):\n%s", diff)
		}
		if facts.Rows != int64(len(want)) || facts.Size != int64(len(file)) {
			t.Fatalf("facts say %d rows, %d bytes; there are %d, %d", facts.Rows, facts.Size, len(want), len(file))
		}
		footer, err := ReadFooter("test", bytes.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatalf("ReadFooter: %v", err)
		}
		if footer.Rows != facts.Rows || footer.KeyValue["tidemark.layout"] != "1" || footer.RowGroups != len(facts.Splits) {
			t.Fatalf("footer %+v against facts %+v", footer, facts)
		}
		if diff := cmp.Diff(s.Fields, footer.Fields); diff != "" {
			t.Fatalf("fields of the footer (-written +read):\n%s", diff)
		}
		checkFacts(t, s, want, facts)
		checkStatistics(t, file, s, facts)
	})
}

func TestProjection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchema(t)
		b := drawBatch(t, s, 9)
		file, _ := writeFile(t, s, Options{}, b)
		// One column of the file under another name, and one that it does not have.
		i := rapid.IntRange(0, len(s.Fields)-1).Draw(t, "column")
		f := s.Fields[i]
		f.Name = "renamed"
		got := readFile(t, file, []schema.Field{f, {ID: 9999, Name: "new", Type: schema.Type{Kind: schema.String}}}, 100)
		for r, row := range rowsOf(b) {
			want := []any{row.([]any)[i], nil}
			if diff := cmp.Diff(want, got[r]); diff != "" {
				t.Fatalf("row %d (-want +got):\n%s", r, diff)
			}
		}
	})
}

// A struct keeps its nulls when only fields that the file lacks are asked of it.
func TestProjectionOfUnknownNestedField(t *testing.T) {
	list := schema.Field{ID: 5, Name: "l", Type: schema.Type{Kind: schema.List, Element: &schema.Field{ID: 2, Name: "element", Type: schema.Type{Kind: schema.Int}}}}
	inner := schema.Type{Kind: schema.Struct, Fields: []schema.Field{list}}
	s := schema.Schema{Fields: []schema.Field{{ID: 3, Name: "s", Type: inner}}}
	b := column.NewBatch(schema.Shapes(s.Fields))
	for _, v := range []any{nil, []any{[]any{int32(1), int32(2)}}, []any{nil}, []any{[]any{}}} {
		columntest.Append(b.Columns[0], v)
	}
	file, _ := writeFile(t, s, Options{}, b)
	want := s.Fields[0]
	want.Type = schema.Type{Kind: schema.Struct, Fields: []schema.Field{{ID: 77, Name: "new", Type: schema.Type{Kind: schema.Long}}}}
	got := readFile(t, file, []schema.Field{want}, 10)
	if diff := cmp.Diff([]any{[]any{nil}, []any{[]any{nil}}, []any{[]any{nil}}, []any{[]any{nil}}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPromotion(t *testing.T) {
	s := schema.Schema{Fields: []schema.Field{{ID: 1, Name: "i", Type: schema.Type{Kind: schema.Int}}, {ID: 2, Name: "f", Type: schema.Type{Kind: schema.Float}}}}
	b := column.NewBatch(schema.Shapes(s.Fields))
	b.Columns[0].AppendInt32(-5)
	b.Columns[1].AppendFloat32(1.25)
	file, _ := writeFile(t, s, Options{}, b)
	want := []schema.Field{{ID: 1, Name: "i", Type: schema.Type{Kind: schema.Long}}, {ID: 2, Name: "f", Type: schema.Type{Kind: schema.Double}}}
	if diff := cmp.Diff([]any{[]any{int64(-5), 1.25}}, readFile(t, file, want, 10)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want[0].Type.Kind = schema.String
	if _, err := NewReader("f", bytes.NewReader(file), int64(len(file)), want); !status.Is(err, status.Invalid) {
		t.Errorf("an int read as string: %v", err)
	}
}

func TestNewWriterRefuses(t *testing.T) {
	str := schema.Type{Kind: schema.String}
	for name, fields := range map[string][]schema.Field{
		"no columns":     nil,
		"no id":          {{Name: "a", Type: str}},
		"id twice":       {{ID: 1, Name: "a", Type: str}, {ID: 1, Name: "b", Type: str}},
		"name twice":     {{ID: 1, Name: "a", Type: str}, {ID: 2, Name: "a", Type: str}},
		"no name":        {{ID: 1, Type: str}},
		"empty struct":   {{ID: 1, Name: "a", Type: schema.Type{Kind: schema.Struct}}},
		"wide decimal":   {{ID: 1, Name: "a", Type: schema.Type{Kind: schema.Decimal, Precision: 39}}},
		"fixed of width": {{ID: 1, Name: "a", Type: schema.Type{Kind: schema.Fixed}}},
	} {
		if _, err := NewWriter(io.Discard, schema.Schema{Fields: fields}, Options{}); !status.Is(err, status.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWriteBatchRefusesOtherShapes(t *testing.T) {
	s := schema.Schema{Fields: []schema.Field{{ID: 1, Name: "a", Type: schema.Type{Kind: schema.Long}, Required: true}}}
	w, err := NewWriter(io.Discard, s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b := column.NewBatch([]column.Shape{{Kind: column.Int32}})
	b.Columns[0].AppendInt32(1)
	if err := w.WriteBatch(b); !status.Is(err, status.Invalid) {
		t.Errorf("int for long: %v", err)
	}
	b = column.NewBatch(schema.Shapes(s.Fields))
	b.Columns[0].AppendNull()
	if err := w.WriteBatch(b); !status.Is(err, status.Invalid) {
		t.Errorf("null in a required column: %v", err)
	}
	if _, err := w.Close(); !status.Is(err, status.Invalid) {
		t.Errorf("Close after a failed write: %v", err)
	}
	if err := w.WriteBatch(b); !status.Is(err, status.Closed) {
		t.Errorf("WriteBatch after Close: %v", err)
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	if f.after -= len(p); f.after < 0 {
		return 0, status.Errorf(status.Throttled, "full")
	}
	return len(p), nil
}

func TestErrorsOfTheOutputKeepTheirClass(t *testing.T) {
	s := schema.Schema{Fields: []schema.Field{{ID: 1, Name: "a", Type: schema.Type{Kind: schema.Binary}}}}
	for _, after := range []int{0, 10, 70 << 10} {
		w, _ := NewWriter(&failing{after}, s, Options{Codec: Uncompressed, RowGroupBytes: 1})
		b := column.NewBatch(schema.Shapes(s.Fields))
		b.Columns[0].AppendBytes(bytes.Repeat([]byte("x"), 70<<10))
		err := w.WriteBatch(b)
		if err == nil {
			_, err = w.Close()
		}
		if !status.Is(err, status.Throttled) {
			t.Errorf("after %d bytes: %v", after, err)
		}
	}
}

func TestMemoryIsChargedAndGivenBack(t *testing.T) {
	s := schema.Schema{Fields: []schema.Field{{ID: 1, Name: "a", Type: schema.Type{Kind: schema.Binary}}}}
	memory := budget.NewBytes("test", 4<<20)
	b := column.NewBatch(schema.Shapes(s.Fields))
	for i := range 9 {
		b.Columns[0].AppendBytes(bytes.Repeat([]byte{byte(i)}, 1<<20))
	}
	file, facts := writeFile(t, s, Options{Codec: Uncompressed, Memory: memory}, b)
	if len(facts.Splits) < 3 {
		t.Errorf("9 MB within 4 MiB gave row groups at %v", facts.Splits)
	}
	if memory.Used() != 0 {
		t.Errorf("%d bytes are still charged", memory.Used())
	}
	if diff := cmp.Diff(rowsOf(b), readFile(t, file, s.Fields, 3)); diff != "" {
		t.Error("rows differ")
	}
	release, _ := memory.TryAcquire(4 << 20)
	defer release()
	if _, err := NewWriter(io.Discard, s, Options{Memory: memory}); !status.Is(err, status.Throttled) {
		t.Errorf("without memory: %v", err)
	}
}

func TestSameInputSameBytes(t *testing.T) {
	s, b := wideBatch(500)
	opt := Options{KeyValue: map[string]string{"b": "1", "a": "2", "c": "3"}}
	first, _ := writeFile(t, s, opt, b)
	second, _ := writeFile(t, s, opt, b)
	if !bytes.Equal(first, second) {
		t.Error("two files of the same batch differ")
	}
}

// A dictionary is given up before it holds much more than its limit.
func TestDictionaryIsGivenUp(t *testing.T) {
	s := schema.Schema{Fields: []schema.Field{{ID: 1, Name: "a", Type: schema.Type{Kind: schema.String}}}}
	b := column.NewBatch(schema.Shapes(s.Fields))
	value := bytes.Repeat([]byte("v"), 1000)
	for i := range 20000 {
		value[0], value[1], value[2] = byte('a'+i%26), byte('a'+i/26%26), byte('a'+i/676)
		if i < sampleValues {
			value[0], value[1], value[2] = 'a', 'a', 'a'
		}
		b.Columns[0].AppendBytes(value)
	}
	file, _ := writeFile(t, s, Options{}, b)
	parsed, err := open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	stats := parsed.Metadata().RowGroups[0].Columns[0].MetaData
	if len(stats.EncodingStats) < 3 {
		t.Errorf("encodings %+v: no fall back to plain", stats.EncodingStats)
	}
	if diff := cmp.Diff(rowsOf(b), readFile(t, file, s.Fields, 1000)); diff != "" {
		t.Error("rows differ")
	}
}

func TestDamagedFilesAreCorrupt(t *testing.T) {
	s, b := wideBatch(50)
	file, _ := writeFile(t, s, Options{}, b)
	read := func(file []byte) error {
		r, err := NewReader("part-1", bytes.NewReader(file), int64(len(file)), s.Fields)
		if err != nil {
			return err
		}
		defer r.Close()
		got := column.NewBatch(schema.Shapes(s.Fields))
		for err == nil {
			_, err = r.Read(got, 100)
		}
		return err
	}
	if err := read(file); err != io.EOF {
		t.Fatalf("whole file: %v", err)
	}
	for _, n := range []int{0, 3, 11, len(file) / 2, len(file) - 1} {
		if err := read(file[:n]); !status.Is(err, status.Corrupt) || !bytes.Contains([]byte(err.Error()), []byte("part-1")) {
			t.Errorf("first %d bytes: %v", n, err)
		}
	}
	silent := 0
	for i := 0; i < len(file); i += 5 {
		damaged := bytes.Clone(file)
		damaged[i] ^= 0x55
		switch err := read(damaged); status.Of(err) {
		case status.Corrupt, status.Invalid:
		default:
			if !errors.Is(err, io.EOF) {
				t.Errorf("byte %d: %v", i, err)
			}
			silent++
		}
	}
	t.Logf("%d of %d damaged bytes went unnoticed (statistics, names, unused fields)", silent, len(file)/5)
}

func TestErrorsOfTheSourceKeepTheirClass(t *testing.T) {
	s, b := wideBatch(50)
	file, _ := writeFile(t, s, Options{}, b)
	src := sourceFunc(func(p []byte, off int64) (int, error) {
		if off < int64(len(file)/2) && off > 0 {
			return 0, status.Errorf(status.Transient, "store is away")
		}
		return bytes.NewReader(file).ReadAt(p, off)
	})
	r, err := NewReader("x", src, int64(len(file)), s.Fields)
	if err == nil {
		_, err = r.Read(column.NewBatch(schema.Shapes(s.Fields)), 100)
	}
	if !status.Is(err, status.Transient) {
		t.Errorf("err = %v", err)
	}
}

type sourceFunc func([]byte, int64) (int, error)

func (f sourceFunc) ReadAt(p []byte, off int64) (int, error) { return f(p, off) }
