package parquet

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/parquet/column"
	"tidemark/parquet/column/columntest"
	"tidemark/parquet/schema"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenBatch has the system columns and one value column of every kind.
func goldenBatch() (schema.Schema, *column.Batch) {
	s := schema.Schema{Fields: schema.System()}
	for i, typ := range scalars {
		s.Fields = append(s.Fields, schema.Field{Name: "v" + string(rune('a'+i)), Type: typ})
	}
	id := 0
	number(s.Fields, &id)
	b := column.NewBatch(schema.Shapes(s.Fields))
	for row := range 3 {
		for i, f := range s.Fields {
			columntest.Append(b.Columns[i], goldenValue(f.Type, row))
		}
	}
	return s, b
}

func goldenValue(t schema.Type, row int) any {
	if row == 1 {
		return nil
	}
	switch shape := t.Shape(); shape.Kind {
	case column.Bool:
		return row == 0
	case column.Int32:
		return int32(row*100 - 7)
	case column.Int64:
		return int64(row)*1_000_000_007 - 7
	case column.Float32:
		return float32(row) + 0.5
	case column.Float64:
		return float64(row) - 0.25
	case column.Bytes:
		return string(bytes.Repeat([]byte("añb"), row+1))
	case column.Fixed:
		return string(bytes.Repeat([]byte{byte(row)}, shape.Width))
	case column.Struct:
		return []any{goldenValue(t.Fields[0].Type, row), goldenValue(t.Fields[1].Type, 1)}
	}
	return []any{goldenValue(t.Element.Type, row), goldenValue(t.Element.Type, row+2)}
}

// The bytes of a file change only on purpose: conversion is repeated after crashes.
func TestGoldenFile(t *testing.T) {
	s, b := goldenBatch()
	file, _ := writeFile(t, s, Options{KeyValue: map[string]string{"tidemark.layout": "1"}}, b)
	const path = "testdata/flat.parquet"
	if *update {
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(rowsOf(b), readFile(t, golden, s.Fields, 2)); diff != "" {
		t.Errorf("rows of the golden file (-want +got):\n%s", diff)
	}
	if !bytes.Equal(golden, file) {
		t.Errorf("the writer makes %d other bytes than %s (%d); if that is wanted, run the test with -update", len(file), path, len(golden))
	}
}
