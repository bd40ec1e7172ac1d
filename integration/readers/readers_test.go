package readers

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tidemark/catalog"
	"tidemark/catalog/builtin"
	"tidemark/integration/objectserver"
	"tidemark/internal/listener"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/status"
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

// tables is one group in a store.
type tables struct {
	ctx   context.Context
	store objectstore.Store
	c     *builtin.Catalog
	topic catalog.TopicID
}

// commit adds one range, again after every lost race.
func (s *tables) commit(t *testing.T, partition int32, count, at int64) {
	t.Helper()
	for attempt := 0; ; attempt++ {
		err := s.try(t, partition, count, at, attempt)
		if err == nil {
			return
		}
		if !status.Is(err, status.Conflict) {
			t.Errorf("partition %d: %v", partition, err)
			return
		}
	}
}

func (s *tables) try(t *testing.T, partition int32, count, at int64, attempt int) error {
	t.Helper()
	g, err := s.c.LoadGroup(s.ctx, s.topic)
	if err != nil {
		return err
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
		catalog.Main: {s.file(t, main, rng, 2*attempt, timed, day), s.file(t, main, rng, 2*attempt+1, untimed, null)},
	}
	choice := catalog.Choice{Offers: []catalog.Offer{{Range: rng, Generation: r.Ledger.Generation, Files: files}}}
	update := catalog.Plan(main.View, r, choice, fmt.Sprintf("commit-%d", partition), catalog.PathSegment)
	_, err = s.c.Commit(s.ctx, g, map[catalog.Role]catalog.Update{catalog.Main: update}, files)
	return err
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

// create makes the group and commits two ranges of it at the same time.
func create(t *testing.T, ctx context.Context, store objectstore.Store, cfg builtin.Config) *tables {
	t.Helper()
	c, err := builtin.Open(store, cfg, slog.New(slog.DiscardHandler))
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
	var wg sync.WaitGroup
	wg.Go(func() { s.commit(t, 0, 300, 20_000*dayMicros) })
	wg.Go(func() { s.commit(t, 1, 30, 20_001*dayMicros) })
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return s
}

// check serves the catalog and lets both engines read it.
func (s *tables) check(t *testing.T, env ...string) {
	t.Helper()
	interpreter := python(t)
	l, err := listener.New(listener.Config{Address: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l.Mount("/iceberg", s.c.Handler())
	l.Start()
	defer l.Stop(10 * time.Second)
	for _, engine := range []string{"duckdb", "pyiceberg"} {
		t.Run(engine, func(t *testing.T) {
			cmd := exec.CommandContext(s.ctx, interpreter, "check.py", engine, "http://"+l.Address()+"/iceberg")
			cmd.Env = append(os.Environ(), env...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestEnginesReadFromADirectory(t *testing.T) {
	store, err := objectstore.OpenFile(t.TempDir(), objectstore.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	create(t, testContext(t), store, builtin.Config{Mode: builtin.CreateOnly}).check(t)
}

func TestEnginesReadFromS3(t *testing.T) {
	ctx := testContext(t)
	server, err := objectserver.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	cfg := server.Config("lake")
	store, err := s3.Open(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	reading := map[string]string{"s3.endpoint": cfg.Endpoint, "s3.region": cfg.Region, "client.region": cfg.Region, "s3.path-style-access": "true"}
	create(t, ctx, store, builtin.Config{Mode: builtin.Swap, Reading: reading}).check(t,
		"CHECK_S3_ENDPOINT="+cfg.Endpoint, "CHECK_S3_REGION="+cfg.Region, "CHECK_S3_KEY="+cfg.AccessKey, "CHECK_S3_SECRET="+cfg.SecretKey.Reveal())
}
