package readers

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tidemark/catalog"
	"tidemark/catalog/builtin"
	"tidemark/internal/listener"
	"tidemark/internal/objectstore"
	"tidemark/parquet"
	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

// python is the interpreter of the environment that "make tools" makes.
func python(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("TIDEMARK_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache", "tidemark")
	}
	path := filepath.Join(cache, "venv", "bin", "python")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the Python environment with DuckDB and PyIceberg is missing (%v): run \"make tools\"", err)
	}
	return path
}

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

// tables makes one group in a store and commits two ranges of it.
type tables struct {
	ctx   context.Context
	store objectstore.Store
	c     *builtin.Catalog
	topic catalog.TopicID
}

func (s *tables) commit(t *testing.T, partition int32, count, at int64) {
	t.Helper()
	g, err := s.c.LoadGroup(s.ctx, s.topic)
	if err != nil {
		t.Fatal(err)
	}
	main := g.Tables[catalog.Main]
	r := catalog.Read(main.View, g.Claim)
	r.Ledger = r.Ledger.Begin(partition, 0)
	rng := catalog.Range{Partition: partition, Base: 0, End: count, BatchEpoch: 7, LastBatchBase: count - 1, LastRow: count - 1}
	timed := column.NewBatch(schema.Shapes(main.Schema.Fields))
	untimed := column.NewBatch(schema.Shapes(main.Schema.Fields))
	for n := range count {
		if n%3 == 2 {
			row(untimed, partition, n, at)
		} else {
			row(timed, partition, n, at)
		}
	}
	day := catalog.PartitionValue{FieldID: main.Partition[0].FieldID, Value: at / dayMicros}
	null := catalog.PartitionValue{FieldID: main.Partition[0].FieldID, Null: true}
	files := map[catalog.Role][]catalog.File{
		catalog.Main: {s.file(t, main, rng, 0, timed, day), s.file(t, main, rng, 1, untimed, null)},
	}
	choice := catalog.Choice{Offers: []catalog.Offer{{Range: rng, Generation: r.Ledger.Generation, Files: files}}}
	update := catalog.Plan(main.View, r, choice, fmt.Sprintf("commit-%d", partition), catalog.PathSegment)
	if _, err := s.c.Commit(s.ctx, g, map[catalog.Role]catalog.Update{catalog.Main: update}, files); err != nil {
		t.Fatal(err)
	}
}

func (s *tables) file(t *testing.T, table builtin.Table, r catalog.Range, n int, rows *column.Batch, p catalog.PartitionValue) catalog.File {
	t.Helper()
	var buf bytes.Buffer
	w, err := parquet.NewWriter(&buf, table.Schema, parquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBatch(rows); err != nil {
		t.Fatal(err)
	}
	facts, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	f := catalog.File{
		URI:  table.View.Location + "/" + catalog.DataFileName(s.topic, r, 7, n, "0123456789abcdef"),
		Size: facts.Size, Rows: facts.Rows, Schema: table.View.SchemaID, Spec: table.View.SpecID,
		Partition: []catalog.PartitionValue{p}, Splits: facts.Splits,
	}
	for _, c := range facts.Columns {
		f.Columns = append(f.Columns, catalog.ColumnFacts{FieldID: c.FieldID, Size: c.Size, Values: c.Values, Nulls: c.Nulls, NaNs: c.NaNs, Lower: c.Lower, Upper: c.Upper})
	}
	k, ok := s.store.Key(f.URI)
	if !ok {
		t.Fatalf("%s is not in the store", f.URI)
	}
	if _, err := s.store.Put(s.ctx, k, bytes.NewReader(buf.Bytes()), objectstore.Condition{Absent: true}); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestDuckDBAndPyIcebergReadThroughTheRESTCatalog(t *testing.T) {
	interpreter := python(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	store, err := objectstore.OpenFile(t.TempDir(), objectstore.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	log := slog.New(slog.DiscardHandler)
	c, err := builtin.Open(store, builtin.Config{Mode: builtin.CreateOnly}, log)
	if err != nil {
		t.Fatal(err)
	}
	s := &tables{ctx: ctx, store: store, c: c, topic: catalog.TopicID{9, 9}}
	raw := append(schema.System(), schema.RawValue())
	_, err = c.CreateGroup(ctx, builtin.GroupSpec{
		Claim:     catalog.Claim{ClusterID: "cluster", TopicID: s.topic, Topic: "all.types"},
		Namespace: "kafka", Name: builtin.TableName("all.types"),
		Main: schema.Schema{Fields: columns()}, Quarantine: schema.Schema{Fields: raw},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.commit(t, 0, 300, 20_000*dayMicros)
	s.commit(t, 1, 30, 20_001*dayMicros)
	l, err := listener.New(listener.Config{Address: "127.0.0.1:0"}, log)
	if err != nil {
		t.Fatal(err)
	}
	l.Mount("/iceberg", c.Handler())
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	defer l.Stop(10 * time.Second)
	for _, engine := range []string{"duckdb", "pyiceberg"} {
		t.Run(engine, func(t *testing.T) {
			out, err := exec.CommandContext(ctx, interpreter, "check.py", engine, "http://"+l.Address()+"/iceberg").CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}
