package readers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

// columns are the columns of the table: the system columns, then one of every type.
func columns() []schema.Field {
	field := func(name string, t schema.Type) schema.Field { return schema.Field{Name: name, Type: t} }
	element := func(t schema.Type) *schema.Field { return &schema.Field{Name: "element", Type: t} }
	return append(schema.System(),
		field("flag", schema.Type{Kind: schema.Boolean}),
		field("i32", schema.Type{Kind: schema.Int}),
		field("i64", schema.Type{Kind: schema.Long}),
		field("f32", schema.Type{Kind: schema.Float}),
		field("f64", schema.Type{Kind: schema.Double}),
		field("d9", schema.Type{Kind: schema.Decimal, Precision: 9, Scale: 2}),
		field("d18", schema.Type{Kind: schema.Decimal, Precision: 18, Scale: 4}),
		field("d38", schema.Type{Kind: schema.Decimal, Precision: 38, Scale: 10}),
		field("day", schema.Type{Kind: schema.Date}),
		field("local", schema.Type{Kind: schema.Timestamp}),
		field("at", schema.Type{Kind: schema.Timestamptz}),
		field("text", schema.Type{Kind: schema.String}),
		field("raw", schema.Type{Kind: schema.Binary}),
		field("fix", schema.Type{Kind: schema.Fixed, Width: 4}),
		field("id", schema.Type{Kind: schema.UUID}),
		field("nest", schema.Type{Kind: schema.Struct, Fields: []schema.Field{
			field("a", schema.Type{Kind: schema.Int}),
			field("tags", schema.Type{Kind: schema.List, Element: element(schema.Type{Kind: schema.String})}),
		}}),
	)
}

const dayMicros = int64(24 * time.Hour / time.Microsecond)

// row appends row n; every third row is null from the timestamp on, and every fourth has nulls inside.
func row(b *column.Batch, partition int32, n int64, at int64) {
	c := b.Columns
	c[schema.KafkaPartition].AppendInt32(partition)
	c[schema.KafkaOffset].AppendInt64(n)
	if n%3 == 2 {
		for _, v := range c[schema.KafkaTimestamp:] {
			v.AppendNull()
		}
		return
	}
	c[schema.KafkaTimestamp].AppendInt64(at + n)
	c[schema.KafkaTimestampType].AppendInt32(0)
	c[schema.KafkaLeaderEpoch].AppendInt32(7)
	c[schema.KafkaKey].AppendBytes([]byte{})
	headers := c[schema.KafkaHeaders].Children[0]
	for i := range n % 4 {
		headers.Children[0].AppendString(fmt.Sprintf("h%d", i))
		if i == 1 {
			headers.Children[1].AppendNull()
		} else {
			headers.Children[1].AppendBytes([]byte{0, byte(i)})
		}
		headers.AppendStruct()
	}
	c[schema.KafkaHeaders].AppendList()
	values(c[schema.SystemColumns:], n, at)
}

func values(c []*column.Vector, n, at int64) {
	c[0].AppendBool(n%2 == 0)
	c[1].AppendInt32(int32(-n))
	c[2].AppendInt64(n << 33)
	c[3].AppendFloat32(float32(n) / 4)
	c[4].AppendFloat64(-float64(n) / 8)
	c[5].AppendInt32(int32(n*100 + 5))
	c[6].AppendInt64(-(n*10000 + 1))
	wide := bytes.Repeat([]byte{0xff}, schema.DecimalWidth(38)) // -(n+1)
	binary.BigEndian.PutUint64(wide[len(wide)-8:], uint64(-(n + 1)))
	c[7].AppendBytes(wide)
	c[8].AppendInt32(int32(n))
	c[9].AppendInt64(n * 1_000_001)
	c[10].AppendInt64(at + n)
	c[11].AppendString(fmt.Sprintf("rów %d", n))
	c[12].AppendBytes([]byte{0xff, byte(n)})
	c[13].AppendBytes([]byte{1, 2, 3, byte(n)})
	id := make([]byte, 16)
	id[15] = byte(n)
	c[14].AppendBytes(id)
	nest := c[15]
	if n%4 == 3 {
		nest.AppendNull()
		return
	}
	nest.Children[0].AppendInt32(int32(n))
	tags := nest.Children[1].Children[0]
	if n%4 == 1 {
		nest.Children[1].AppendNull()
	} else {
		tags.AppendString("x")
		tags.AppendNull()
		nest.Children[1].AppendList()
	}
	nest.AppendStruct()
}
