package parquet

import (
	"github.com/parquet-go/parquet-go/format"

	"tidemark/parquet/schema"
)

// Facts describe a finished file for a table's manifest.
type Facts struct {
	Rows    int64
	Size    int64 // of the file, in bytes
	Splits  []int64
	Columns []ColumnFacts // of the leaf columns, in schema order
}

// ColumnFacts are the size, counts and bounds of one leaf column.
type ColumnFacts struct {
	FieldID int
	Size    int64 // compressed bytes in the file
	Values  int64 // values including nulls; in lists, level entries: an empty or null list counts as one null
	Nulls   int64
	NaNs    int64 // -1 for types without NaN
	// Lower and Upper are Iceberg single values (Iceberg spec, appendix D), nil if there is none: in lists, or where a
	// cut upper bound is not possible. Strings and binaries are cut to 16 bytes, those of system columns to 1024.
	Lower, Upper []byte
}

func (w *Writer) facts(meta *format.FileMetaData) Facts {
	f := Facts{Rows: meta.NumRows, Size: w.out.n}
	for _, g := range meta.RowGroups {
		f.Splits = append(f.Splits, g.FileOffset)
	}
	for i, l := range w.leaves {
		c := ColumnFacts{FieldID: l.id, NaNs: -1}
		if l.typ.Kind == schema.Float || l.typ.Kind == schema.Double {
			c.NaNs = l.bounds.nans
		}
		for _, g := range meta.RowGroups {
			chunk := &g.Columns[i].MetaData
			c.Size += chunk.TotalCompressedSize
			c.Values += chunk.NumValues
			c.Nulls += chunk.Statistics.NullCount
		}
		if !l.inList {
			c.Lower, c.Upper = l.bounds.values()
		}
		f.Columns = append(f.Columns, c)
	}
	return f
}
