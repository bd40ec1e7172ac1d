package parquet

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

// leafValues are the values of a leaf outside of lists, one a row, nulls included.
func leafValues(rows []any, path []int) []any {
	out := make([]any, len(rows))
	for i, row := range rows {
		v := row
		for _, p := range path {
			if v == nil {
				break
			}
			v = v.([]any)[p]
		}
		out[i] = v
	}
	return out
}

// checkFacts compares the facts of a file with a naive reading of its rows.
func checkFacts(t fataler, s schema.Schema, rows []any, facts Facts) {
	t.Helper()
	next := 0
	var walk func(fields []schema.Field, path []int, inList bool)
	walk = func(fields []schema.Field, path []int, inList bool) {
		for i, f := range fields {
			at := append(append([]int(nil), path...), i)
			switch f.Type.Kind {
			case schema.Struct:
				walk(f.Type.Fields, at, inList)
				continue
			case schema.List:
				walk([]schema.Field{*f.Type.Element}, at, true)
				continue
			}
			c := facts.Columns[next]
			next++
			if c.FieldID != f.ID || len(rows) > 0 && c.Size <= 0 {
				t.Fatalf("facts of column %s: %+v", f.Name, c)
			}
			if inList {
				if c.Lower != nil || c.Upper != nil {
					t.Fatalf("column %s in a list has bounds: %+v", f.Name, c)
				}
				continue
			}
			checkColumn(t, f, leafValues(rows, at), c)
		}
	}
	walk(s.Fields, nil, false)
	if next != len(facts.Columns) {
		t.Fatalf("facts of %d columns, the schema has %d", len(facts.Columns), next)
	}
}

func checkColumn(t fataler, f schema.Field, values []any, c ColumnFacts) {
	t.Helper()
	nulls, nans := int64(0), int64(0)
	for _, v := range values {
		switch {
		case v == nil:
			nulls++
		case v == "NaN" && (f.Type.Kind == schema.Float || f.Type.Kind == schema.Double):
			nans++
		default:
			checkBound(t, f, v, c)
		}
	}
	if f.Type.Kind != schema.Float && f.Type.Kind != schema.Double {
		nans = -1
	}
	if c.Values != int64(len(values)) || c.Nulls != nulls || c.NaNs != nans {
		t.Fatalf("column %s: %d values, %d nulls, %d NaNs; facts %+v", f.Name, len(values), nulls, nans, c)
	}
	if nulls+max(nans, 0) == int64(len(values)) && (c.Lower != nil || c.Upper != nil) {
		t.Fatalf("column %s has bounds without values: %+v", f.Name, c)
	}
}

// checkBound checks that v lies within the bounds, by decoding them as the Iceberg specification says.
func checkBound(t fataler, f schema.Field, v any, c ColumnFacts) {
	t.Helper()
	if c.Lower == nil || c.Upper == nil {
		switch f.Type.Kind {
		case schema.UUID, schema.Binary, schema.String, schema.Fixed: // there may be none
		default:
			t.Fatalf("column %s has no bounds", f.Name)
		}
	}
	within := true
	switch x := v.(type) {
	case bool:
		within = c.Lower[0] <= byte(btoi(x)) && byte(btoi(x)) <= c.Upper[0]
	case int32:
		if f.Type.Kind == schema.Decimal {
			within = bigOf(c.Lower).Int64() <= int64(x) && int64(x) <= bigOf(c.Upper).Int64()
			break
		}
		within = int32(binary.LittleEndian.Uint32(c.Lower)) <= x && x <= int32(binary.LittleEndian.Uint32(c.Upper))
	case int64:
		if f.Type.Kind == schema.Decimal {
			within = bigOf(c.Lower).Int64() <= x && x <= bigOf(c.Upper).Int64()
			break
		}
		within = int64(binary.LittleEndian.Uint64(c.Lower)) <= x && x <= int64(binary.LittleEndian.Uint64(c.Upper))
	case float32:
		within = math.Float32frombits(binary.LittleEndian.Uint32(c.Lower)) <= x && x <= math.Float32frombits(binary.LittleEndian.Uint32(c.Upper))
	case float64:
		within = math.Float64frombits(binary.LittleEndian.Uint64(c.Lower)) <= x && x <= math.Float64frombits(binary.LittleEndian.Uint64(c.Upper))
	case string:
		if isWideDecimal(f.Type) {
			within = bigOf(c.Lower).Cmp(bigOf([]byte(x))) <= 0 && bigOf([]byte(x)).Cmp(bigOf(c.Upper)) <= 0
			break
		}
		within = (c.Lower == nil || bytes.Compare(c.Lower, []byte(x)) <= 0) && (c.Upper == nil || bytes.Compare([]byte(x), c.Upper) <= 0)
		if f.Type.Kind == schema.Binary && (len(c.Lower) > boundBytes || len(c.Upper) > boundBytes) {
			t.Fatalf("column %s: bounds of %d and %d bytes", f.Name, len(c.Lower), len(c.Upper))
		}
	}
	if !within {
		t.Fatalf("column %s: %q is outside of %x..%x", f.Name, v, c.Lower, c.Upper)
	}
}

func bigOf(x []byte) *big.Int {
	n := new(big.Int).SetBytes(x)
	if len(x) > 0 && x[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(x))))
	}
	return n
}

// checkStatistics checks that no statistic of the file itself excludes a value of its chunk or page.
func checkStatistics(t fataler, data []byte, s schema.Schema, facts Facts) {
	t.Helper()
	f, err := pq.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatalf("open with page index: %v", err)
	}
	leaves, err := newPlan(s)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	for g, group := range f.Metadata().RowGroups {
		if group.FileOffset != facts.Splits[g] {
			t.Fatalf("split %d at %d, the row group starts at %d", g, facts.Splits[g], group.FileOffset)
		}
		for c := range group.Columns {
			chunk := f.RowGroups()[g].ColumnChunks()[c]
			l := leaves.leaves[c]
			stats := group.Columns[c].MetaData.Statistics
			less := func(x, y pq.Value) bool { return f.Schema().Fields() != nil && chunk.Type().Compare(x, y) < 0 }
			index, _ := chunk.ColumnIndex()
			pages := chunk.Pages()
			for p := 0; ; p++ {
				page, err := pages.ReadPage()
				if err != nil {
					break
				}
				values := make([]pq.Value, page.NumValues())
				n, _ := page.Values().ReadValues(values)
				for _, v := range values[:n] {
					if v.IsNull() || isNaN(v) {
						continue
					}
					if stats.MinValue != nil && (isWideDecimal(l.typ) || less(v, chunk.Type().Kind().Value(stats.MinValue)) || less(chunk.Type().Kind().Value(stats.MaxValue), v)) {
						t.Fatalf("column %v: %v is outside of the chunk's %x..%x", l.path, v, stats.MinValue, stats.MaxValue)
					}
					if index != nil && index.NumPages() > 0 && (isWideDecimal(l.typ) || less(v, index.MinValue(p)) || less(index.MaxValue(p), v)) {
						t.Fatalf("column %v: %v is outside of page %d: %v..%v", l.path, v, p, index.MinValue(p), index.MaxValue(p))
					}
				}
				pq.Release(page)
			}
			pages.Close()
		}
	}
}

func isNaN(v pq.Value) bool {
	return v.Kind() == pq.Float && v.Float() != v.Float() || v.Kind() == pq.Double && v.Double() != v.Double()
}

func TestBoundsOfSystemColumnsAreWhole(t *testing.T) {
	s := schema.Schema{Fields: schema.System()}
	id := 0
	number(s.Fields, &id)
	b := column.NewBatch(schema.Shapes(s.Fields))
	key := bytes.Repeat([]byte("k"), 100)
	for i, c := range b.Columns {
		if i == schema.KafkaKey {
			c.AppendBytes(key)
			continue
		}
		c.AppendNull()
	}
	_, facts := writeFile(t, s, Options{}, b)
	if c := facts.Columns[schema.KafkaKey]; !bytes.Equal(c.Lower, key) || !bytes.Equal(c.Upper, key) {
		t.Errorf("bounds of _kafka_key are %q..%q", c.Lower, c.Upper)
	}
}

func number(fields []schema.Field, id *int) {
	for i := range fields {
		*id++
		fields[i].ID = *id
		number(fields[i].Type.Fields, id)
		if e := fields[i].Type.Element; e != nil {
			one := []schema.Field{*e}
			number(one, id)
			*e = one[0]
		}
	}
}
