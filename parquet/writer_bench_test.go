package parquet

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

// wideBatch is a flat table of 20 columns of several kinds with skewed values.
func wideBatch(rows int) (schema.Schema, *column.Batch) {
	var s schema.Schema
	kinds := []schema.Kind{schema.Long, schema.Timestamptz, schema.Double, schema.String, schema.Binary}
	for i := range 20 {
		s.Fields = append(s.Fields, schema.Field{ID: i + 1, Name: fmt.Sprintf("c%d", i), Type: schema.Type{Kind: kinds[i%len(kinds)]}})
	}
	b := column.NewBatch(schema.Shapes(s.Fields))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		for c, v := range b.Columns {
			switch {
			case r.IntN(20) == 0:
				v.AppendNull()
			case kinds[c%len(kinds)] == schema.Long:
				v.AppendInt64(int64(i*3 + r.IntN(3)))
			case kinds[c%len(kinds)] == schema.Timestamptz:
				v.AppendInt64(1_700_000_000_000_000 + int64(i)*1000 + r.Int64N(1000))
			case kinds[c%len(kinds)] == schema.Double:
				v.AppendFloat64(float64(r.IntN(100_000)) / 100)
			case kinds[c%len(kinds)] == schema.String:
				v.AppendString([]string{"created", "paid", "shipped", "delivered", "cancelled"}[r.IntN(5)])
			default:
				v.AppendString(fmt.Sprintf("user-%d-%x", r.IntN(1000), r.Uint32()))
			}
		}
	}
	return s, b
}

func BenchmarkWrite(b *testing.B) {
	const rows = 8192
	s, batch := wideBatch(rows)
	for _, codec := range []Codec{Zstd, ZstdFastest, Snappy, Uncompressed} {
		b.Run([]string{"zstd", "zstd-fastest", "snappy", "none"}[codec], func(b *testing.B) {
			b.SetBytes(int64(batch.Size()))
			b.ReportAllocs()
			w, err := NewWriter(io.Discard, s, Options{Codec: codec})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := w.WriteBatch(batch); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := w.Close(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
