package parquet

import (
	"bytes"
	"io"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/status"
	"tidemark/parquet/column"
	"tidemark/parquet/column/columntest"
	"tidemark/parquet/schema"
)

// Whatever the bytes are, reading ends with rows or with a classified error.
func FuzzReader(f *testing.F) {
	s, b := goldenBatch()
	file, _ := writeFile(f, s, Options{}, b)
	f.Add(file)
	f.Add([]byte("PAR1PAR1"))
	small := schema.Schema{Fields: []schema.Field{{ID: 1, Name: "a", Type: schema.Type{Kind: schema.List, Element: &schema.Field{ID: 2, Name: "element", Type: schema.Type{Kind: schema.String}}}}}}
	sb := column.NewBatch(schema.Shapes(small.Fields))
	columntest.Append(sb.Columns[0], []any{"x", nil, "y"})
	file, _ = writeFile(f, small, Options{Codec: Uncompressed}, sb)
	f.Add(file)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, want := range [][]schema.Field{s.Fields, small.Fields} {
			r, err := NewReader("fuzz", bytes.NewReader(data), int64(len(data)), want)
			got := column.NewBatch(schema.Shapes(want))
			for n := 0; err == nil && n < 1000; n++ {
				_, err = r.Read(got, 10)
			}
			if r != nil {
				r.Close()
			}
			if err != nil && err != io.EOF && !status.Is(err, status.Corrupt) && !status.Is(err, status.Invalid) {
				t.Fatalf("%v: %v", status.Of(err), err)
			}
		}
	})
}

// Some bytes changed at random: the same, without a fuzzing engine.
func TestReaderOnRandomDamage(t *testing.T) {
	s, b := goldenBatch()
	file, _ := writeFile(t, s, Options{Codec: Uncompressed}, b)
	rapid.Check(t, func(t *rapid.T) {
		data := bytes.Clone(file)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			data[rapid.IntRange(0, len(data)-1).Draw(t, "at")] = rapid.Byte().Draw(t, "byte")
		}
		r, err := NewReader("damaged", bytes.NewReader(data), int64(len(data)), s.Fields)
		got := column.NewBatch(schema.Shapes(s.Fields))
		for n := 0; err == nil && n < 1000; n++ {
			_, err = r.Read(got, 10)
		}
		if r != nil {
			r.Close()
		}
		if err != nil && err != io.EOF && !status.Is(err, status.Corrupt) && !status.Is(err, status.Invalid) {
			t.Fatalf("%v: %v", status.Of(err), err)
		}
	})
}
