package builtin

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"tidemark/catalog"
	"tidemark/catalog/iceberg"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

// bench is one catalog under test: the store and the mode it is used in.
type bench struct {
	name  string
	mode  Mode
	store func(t *testing.T) objectstore.Store
}

func benches() []bench {
	memory := func(t *testing.T) objectstore.Store { return storetest.NewMemory() }
	file := func(t *testing.T) objectstore.Store {
		s, err := objectstore.OpenFile(t.TempDir(), objectstore.FileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	return []bench{{"memory, create-only", CreateOnly, memory}, {"memory, swap", Swap, memory}, {"file, create-only", CreateOnly, file}}
}

func each(t *testing.T, test func(t *testing.T, b bench)) { run(t, benches(), test) }

// eachInMemory leaves out the file store, whose syncs would make tests of every step take minutes.
func eachInMemory(t *testing.T, test func(t *testing.T, b bench)) { run(t, benches()[:2], test) }

func run(t *testing.T, benches []bench, test func(t *testing.T, b bench)) {
	for _, b := range benches {
		t.Run(b.name, func(t *testing.T) { test(t, b) })
	}
}

func open(t *testing.T, store objectstore.Store, mode Mode) *Catalog {
	t.Helper()
	c, err := Open(store, Config{Mode: mode}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func topicID(n byte) catalog.TopicID { return catalog.TopicID{0: 1, 15: n} }

func testSpec(n byte, name string) GroupSpec {
	columns := append(schema.System(), schema.RawValue())
	return GroupSpec{
		Claim:     catalog.Claim{ClusterID: "cluster", TopicID: topicID(n), Topic: name},
		Namespace: "kafka", Name: TableName(name),
		Main: schema.Schema{Fields: columns}, Quarantine: schema.Schema{Fields: columns},
	}
}

func create(t *testing.T, c *Catalog, spec GroupSpec) *GroupView {
	t.Helper()
	g, err := c.CreateGroup(testContext(t), spec)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// plan makes the updates and files of one commit that covers [next, next+n) of a partition of a loaded group.
func plan(g *GroupView, partition int32, n int64, random string) (map[catalog.Role]catalog.Update, map[catalog.Role][]catalog.File, catalog.Range) {
	view := g.Tables[catalog.Main].View
	r := catalog.Read(view, g.Claim)
	l := r.Ledger.Begin(partition, 0)
	r.Ledger = l
	next := l.Progress(partition).Next
	rng := catalog.Range{Partition: partition, Base: next, End: next + n, BatchEpoch: 1, LastBatchBase: next + n - 1, LastRow: next + n - 1}
	offer := catalog.Offer{Range: rng, Generation: l.Generation, Files: map[catalog.Role][]catalog.File{}}
	for role, t := range g.Tables {
		offer.Files[role] = []catalog.File{testFile(t, rng, g.Claim.TopicID, random)}
	}
	choice := catalog.Choice{Offers: []catalog.Offer{offer}}
	main := catalog.Plan(view, r, choice, uuid.NewString(), catalog.PathSegment)
	updates := map[catalog.Role]catalog.Update{catalog.Main: main}
	if q, ok := g.Tables[catalog.Quarantine]; ok {
		updates[catalog.Quarantine] = catalog.PlanSide(q.View, main)
	}
	return updates, offer.Files, rng
}

func testFile(t Table, r catalog.Range, topic catalog.TopicID, random string) catalog.File {
	f := catalog.File{
		URI: t.View.Location + "/" + catalog.DataFileName(topic, r, 1, 0, random), Size: 1000, Rows: r.End - r.Base,
		Schema: t.View.SchemaID, Spec: t.View.SpecID, Splits: []int64{4},
	}
	for _, p := range t.Partition {
		f.Partition = append(f.Partition, catalog.PartitionValue{FieldID: p.FieldID, Value: 20000})
	}
	for i, field := range t.Schema.Fields {
		facts := catalog.ColumnFacts{FieldID: field.ID, Size: 10, Values: f.Rows, NaNs: -1}
		if i == schema.KafkaOffset {
			facts.Lower, facts.Upper = long(r.Base), long(r.End-1)
		}
		f.Columns = append(f.Columns, facts)
	}
	return f
}

func long(n int64) []byte {
	out := make([]byte, 8)
	for i := range out {
		out[i] = byte(n >> (8 * i))
	}
	return out
}

func load(t *testing.T, c *Catalog, topic catalog.TopicID) *GroupView {
	t.Helper()
	g, err := c.LoadGroup(testContext(t), topic)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func wantClass(t *testing.T, err error, class status.Class) {
	t.Helper()
	if status.Of(err) != class {
		t.Fatalf("class %s, want %s: %v", status.Of(err), class, err)
	}
}

func TestCreateLoadCommitDrop(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, store := testContext(t), b.store(t)
		c := open(t, store, b.mode)
		created := create(t, c, testSpec(1, "flights.raw"))
		again := create(t, open(t, store, b.mode), testSpec(1, "flights.raw"))
		if created.Tables[catalog.Main].View.UUID != again.Tables[catalog.Main].View.UUID {
			t.Fatal("creating twice made two tables")
		}
		g := load(t, c, topicID(1))
		if r := catalog.Read(g.Tables[catalog.Main].View, g.Claim); !r.Usable() || !r.Fresh {
			t.Fatalf("a new table reads as %s: %s", r.Event, r.Detail)
		}
		checkSchema(t, g)
		updates, files, _ := plan(g, 0, 100, "a")
		ids, err := c.Commit(ctx, g, updates, files)
		if err != nil {
			t.Fatal(err)
		}
		after := load(t, open(t, store, b.mode), topicID(1))
		main := after.Tables[catalog.Main]
		if after.Version != g.Version+1 || main.View.Head != ids[catalog.Main] || main.View.Tag != ids[catalog.Main] {
			t.Fatalf("version %d -> %d, head %d, tag %d, want snapshot %d", g.Version, after.Version, main.View.Head, main.View.Tag, ids[catalog.Main])
		}
		if r := catalog.Read(main.View, after.Claim); r.Event != catalog.Normal || r.Ledger.Progress(0).Next != 100 {
			t.Fatalf("after the commit: %s %s, next %d", r.Event, r.Detail, r.Ledger.Progress(0).Next)
		}
		if q := after.Tables[catalog.Quarantine]; q.View.Head != ids[catalog.Quarantine] {
			t.Fatal("the quarantine table did not move in the same swap")
		}
		checkEmptyCommit(t, c, after)
		if err := c.Drop(ctx, topicID(1)); err != nil {
			t.Fatal(err)
		}
		_, err = c.LoadGroup(ctx, topicID(1))
		wantClass(t, err, status.NotFound)
		if groups, err := c.Groups(ctx); err != nil || len(groups) != 0 {
			t.Fatalf("groups after the drop: %v, %v", groups, err)
		}
	})
}

func checkSchema(t *testing.T, g *GroupView) {
	t.Helper()
	main := g.Tables[catalog.Main]
	seen := map[int]bool{}
	var walk func(fields []schema.Field)
	walk = func(fields []schema.Field) {
		for _, f := range fields {
			if f.ID <= 0 || seen[f.ID] {
				t.Fatalf("field %s has id %d", f.Name, f.ID)
			}
			seen[f.ID] = true
			walk(f.Type.Fields)
			if f.Type.Element != nil {
				walk([]schema.Field{*f.Type.Element})
			}
		}
	}
	walk(main.Schema.Fields)
	want := append(schema.System(), schema.RawValue())
	for i, f := range main.Schema.Fields {
		if f.Name != want[i].Name || f.Type.String() != want[i].Type.String() || f.Required || f.Doc != want[i].Doc {
			t.Fatalf("column %d is %s %s, want %s %s", i, f.Name, f.Type, want[i].Name, want[i].Type)
		}
	}
	if len(main.Partition) != 1 || main.Partition[0].Transform != "day" || main.Partition[0].SourceID != main.Schema.Fields[schema.KafkaTimestamp].ID {
		t.Fatalf("partitioned by %+v", main.Partition)
	}
}

// checkEmptyCommit commits progress without rows: an empty snapshot, and the quarantine table stays.
func checkEmptyCommit(t *testing.T, c *Catalog, g *GroupView) {
	t.Helper()
	updates, _, _ := plan(g, 0, 7, "b")
	delete(updates, catalog.Quarantine)
	if _, err := c.Commit(testContext(t), g, updates, nil); err != nil {
		t.Fatal(err)
	}
	after := load(t, c, g.Claim.TopicID)
	if r := catalog.Read(after.Tables[catalog.Main].View, after.Claim); r.Ledger.Progress(0).Next != 107 {
		t.Fatalf("next is %d after an empty commit: %s", r.Ledger.Progress(0).Next, r.Detail)
	}
	if after.Tables[catalog.Quarantine].View.Head != g.Tables[catalog.Quarantine].View.Head {
		t.Fatal("the quarantine table moved without an update")
	}
	var live []string
	err := after.Tables[catalog.Main].Metadata().LiveFiles(testContext(t), c.store, func(f iceberg.LiveFile) error { live = append(live, fmt.Sprint(f.Rows)); return nil })
	if err != nil || len(live) != 1 || live[0] != "100" {
		t.Fatalf("live files %v, %v", live, err)
	}
	bounds, err := after.Tables[catalog.Main].Metadata().OffsetBounds(testContext(t), c.store, g.Claim.TopicID, offsetField(after.Tables[catalog.Main].Schema))
	if err != nil || bounds[0] != 99 {
		t.Fatalf("offset bounds %v, %v", bounds, err)
	}
}
