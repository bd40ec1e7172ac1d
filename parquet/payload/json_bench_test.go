package payload

import (
	"testing"

	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

func BenchmarkJSON(b *testing.B) {
	d := compile(b, flatSchema, Options{})
	batch := column.NewBatch(schema.Shapes(d.Fields()))
	value := []byte(flatValue)
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		if batch.Columns[0].Len() == 4096 {
			batch.Reset()
		}
		if bad := d.Decode(value, batch.Columns); bad != nil {
			b.Fatal(bad)
		}
	}
}
