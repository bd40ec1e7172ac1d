package parquet

import (
	"fmt"
	"math"
	"strings"

	"pgregory.net/rapid"

	"tidemark/parquet/column"
	"tidemark/parquet/column/columntest"
	"tidemark/parquet/schema"
)

func rowsOf(b *column.Batch) []any {
	out := []any{}
	for i := 0; i < b.Len(); i++ {
		row := []any{}
		for _, c := range b.Columns {
			row = append(row, columntest.Read(c, i))
		}
		out = append(out, row)
	}
	return out
}

var scalars = []schema.Type{
	{Kind: schema.Boolean}, {Kind: schema.Int}, {Kind: schema.Long}, {Kind: schema.Float}, {Kind: schema.Double},
	{Kind: schema.Decimal, Precision: 9, Scale: 2}, {Kind: schema.Decimal, Precision: 18}, {Kind: schema.Decimal, Precision: 38, Scale: 10},
	{Kind: schema.Date}, {Kind: schema.Timestamp}, {Kind: schema.Timestamptz}, {Kind: schema.String}, {Kind: schema.Binary},
	{Kind: schema.Fixed, Width: 3}, {Kind: schema.UUID},
}

func drawSchema(t *rapid.T) schema.Schema {
	id := 0
	return schema.Schema{Fields: drawFields(t, &id, 3)}
}

func drawFields(t *rapid.T, id *int, depth int) []schema.Field {
	n := rapid.IntRange(1, 4).Draw(t, "fields")
	fields := make([]schema.Field, n)
	for i := range fields {
		*id += rapid.IntRange(1, 3).Draw(t, "id step")
		// Names out of order, with characters that upset code which makes Go names of them.
		fields[i] = schema.Field{ID: *id, Name: fmt.Sprintf("%c, %d.é", 'z'-i, i)}
		fields[i].Type = drawType(t, id, depth)
		fields[i].Required = rapid.IntRange(0, 9).Draw(t, "required") == 0
	}
	return fields
}

func drawType(t *rapid.T, id *int, depth int) schema.Type {
	switch k := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case depth > 0 && k == 0:
		return schema.Type{Kind: schema.Struct, Fields: drawFields(t, id, depth-1)}
	case depth > 0 && k == 1:
		*id++
		e := schema.Field{ID: *id, Name: "element"}
		e.Type = drawType(t, id, depth-1)
		return schema.Type{Kind: schema.List, Element: &e}
	}
	return rapid.SampledFrom(scalars).Draw(t, "scalar")
}

func drawBatch(t *rapid.T, s schema.Schema, rows int) *column.Batch {
	b := column.NewBatch(schema.Shapes(s.Fields))
	for range rows {
		for i, f := range s.Fields {
			columntest.Append(b.Columns[i], drawValue(t, f))
		}
	}
	return b
}

func drawValue(t *rapid.T, f schema.Field) any {
	if !f.Required && rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return nil
	}
	switch f.Type.Kind {
	case schema.Struct:
		out := []any{}
		for _, c := range f.Type.Fields {
			out = append(out, drawValue(t, c))
		}
		return out
	case schema.List:
		out := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			out = append(out, drawValue(t, *f.Type.Element))
		}
		return out
	case schema.String:
		head := strings.Repeat(rapid.SampledFrom([]string{"", "a", "é", "\U0010ffff"}).Draw(t, "head"), rapid.IntRange(0, 70).Draw(t, "repeat"))
		return head + strings.ToValidUTF8(rapid.StringN(0, 30, 40).Draw(t, "string"), "")
	case schema.Float:
		return rapid.SampledFrom([]float32{0, float32(math.Copysign(0, -1)), 1.5, -7, float32(math.NaN()), float32(math.Inf(1))}).Draw(t, "float")
	case schema.Double:
		return rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1.5, -7, math.NaN(), math.Inf(-1)}).Draw(t, "double")
	}
	switch shape := f.Type.Shape(); shape.Kind {
	case column.Bool:
		return rapid.Bool().Draw(t, "bool")
	case column.Int32:
		if f.Type.Kind == schema.Decimal {
			return rapid.Int32Range(-999999999, 999999999).Draw(t, "decimal")
		}
		return rapid.Int32().Draw(t, "int")
	case column.Int64:
		if f.Type.Kind == schema.Decimal {
			return rapid.Int64Range(-999999999999999999, 999999999999999999).Draw(t, "decimal")
		}
		return rapid.Int64().Draw(t, "long")
	case column.Fixed:
		x := rapid.SliceOfN(rapid.Byte(), shape.Width, shape.Width).Draw(t, "fixed")
		if isWideDecimal(f.Type) { // within 38 digits, and of both signs
			x[0] = rapid.SampledFrom([]byte{0, 0xff}).Draw(t, "sign")
		}
		return string(x)
	}
	head := strings.Repeat("\xff", rapid.SampledFrom([]int{0, 15, 63, 64, 80}).Draw(t, "head"))
	return head + string(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 0xfe, 0xff}), 0, 24).Draw(t, "binary"))
}
