package parquet

import (
	"bytes"
	"context"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"tidemark/parquet/column"
	"tidemark/parquet/column/columntest"
	"tidemark/parquet/schema"
)

// readArrow reads a file with Apache Arrow.
func readArrow(t fataler, data []byte, s schema.Schema) []any {
	t.Helper()
	f, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("arrow: %v", err)
	}
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, arrowmemory.DefaultAllocator)
	if err != nil {
		t.Fatalf("arrow: %v", err)
	}
	table, err := r.ReadTable(context.Background())
	if err != nil {
		t.Fatalf("arrow: %v", err)
	}
	defer table.Release()
	out := make([]any, table.NumRows())
	for i := range out {
		out[i] = make([]any, 0, len(s.Fields))
	}
	for c, f := range s.Fields {
		if name := table.Column(c).Name(); name != f.Name {
			t.Fatalf("arrow: column %d is %s, want %s", c, name, f.Name)
		}
		row := 0
		for _, chunk := range table.Column(c).Data().Chunks() {
			for i := range chunk.Len() {
				out[row] = append(out[row].([]any), arrowModel(t, chunk, i, f.Type))
				row++
			}
		}
	}
	return out
}

func arrowModel(t fataler, a arrow.Array, i int, typ schema.Type) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int32:
		return a.Value(i)
	case *array.Int64:
		return a.Value(i)
	case *array.Date32:
		return int32(a.Value(i))
	case *array.Timestamp:
		return int64(a.Value(i))
	case *array.Float32:
		return columntest.Float(a.Value(i))
	case *array.Float64:
		return columntest.Float(a.Value(i))
	case *array.String:
		return a.Value(i)
	case *array.Binary:
		return string(a.Value(i))
	case *array.FixedSizeBinary:
		return string(a.Value(i))
	case *extensions.UUIDArray:
		u := a.Value(i)
		return string(u[:])
	case *array.Decimal128:
		return decimalModel(a.Value(i), typ)
	case *array.Struct:
		out := []any{}
		for j, f := range typ.Fields {
			out = append(out, arrowModel(t, a.Field(j), i, f.Type))
		}
		return out
	case *array.List:
		out := []any{}
		from, to := a.ValueOffsets(i)
		for j := from; j < to; j++ {
			out = append(out, arrowModel(t, a.ListValues(), int(j), typ.Element.Type))
		}
		return out
	}
	t.Fatalf("arrow: type %T", a)
	return nil
}

func decimalModel(x decimal128.Num, typ schema.Type) any {
	n := x.BigInt()
	switch shape := typ.Shape(); shape.Kind {
	case column.Int32:
		return int32(n.Int64())
	case column.Int64:
		return n.Int64()
	default:
		if n.Sign() < 0 {
			n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*shape.Width)))
		}
		return string(n.FillBytes(make([]byte, shape.Width)))
	}
}
