package coordinator

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"tidemark/catalog"
	"tidemark/catalog/builtin"
	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/parquet/schema"
)

var testClaim = catalog.Claim{ClusterID: "cluster", TopicID: catalog.TopicID{1, 2, 3}, Topic: "t"}

// fixture is one coordinator over the built-in catalog on a store.
type fixture struct {
	*Coordinator
	catalog *builtin.Catalog
	metrics *telemetry.Set

	mu        sync.Mutex
	lineage   map[string]catalog.Lineage // "partition/offset", default OnChain
	stuck     map[int32]bool             // partitions whose leader does not answer in time
	asking    int
	mostAsked int
	published []catalog.Ledger
}

func (f *fixture) check(ctx context.Context, _ catalog.TopicID, partition int32, offset int64, _ int32) catalog.Lineage {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stuck[partition] {
		f.asking++
		f.mostAsked = max(f.mostAsked, f.asking)
		f.mu.Unlock()
		<-ctx.Done()
		f.mu.Lock()
		f.asking--
		return catalog.NotKnown
	}
	if l, ok := f.lineage[fmt.Sprintf("%d/%d", partition, offset)]; ok {
		return l
	}
	return catalog.OnChain
}

func (f *fixture) set(partition int32, offset int64, l catalog.Lineage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lineage[fmt.Sprintf("%d/%d", partition, offset)] = l
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// tampered lets a test change what is loaded.
type tampered struct {
	*builtin.Catalog
	mu     sync.Mutex
	change func(*builtin.GroupView)
}

func (c *tampered) LoadGroup(ctx context.Context, topic catalog.TopicID) (*builtin.GroupView, error) {
	g, err := c.Catalog.LoadGroup(ctx, topic)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && c.change != nil {
		c.change(g)
	}
	return g, err
}

func (c *tampered) set(change func(*builtin.GroupView)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.change = change
}

func start(t *testing.T, store objectstore.Store) *fixture {
	t.Helper()
	f, _ := startTampered(t, store)
	return f
}

func startTampered(t *testing.T, store objectstore.Store) (*fixture, *tampered) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	c, err := builtin.Open(store, builtin.Config{Mode: builtin.Swap}, log)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{catalog: c, metrics: telemetry.NewSet(), lineage: map[string]catalog.Lineage{}}
	wrapped := &tampered{Catalog: c}
	f.Coordinator = New(Config{Interval: time.Millisecond, Question: 50 * time.Millisecond, Backoff: budget.Retry{Base: time.Millisecond, Max: 10 * time.Millisecond}}, wrapped, Deps{
		Lineage: f.check, Log: log, Metrics: f.metrics,
		Published: func(_ catalog.TopicID, l catalog.Ledger) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.published = append(f.published, l)
		},
	})
	t.Cleanup(func() {
		if !f.Close(time.Minute) {
			t.Error("Close left goroutines behind")
		}
	})
	return f, wrapped
}

func (f *fixture) create(t *testing.T) {
	t.Helper()
	columns := schema.Schema{Fields: append(schema.System(), schema.RawValue())}
	_, err := f.catalog.CreateGroup(testContext(t), builtin.GroupSpec{
		Claim: testClaim, Namespace: "kafka", Name: "t", Main: columns, Quarantine: columns, Unpartitioned: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.begin(t)
}

func (f *fixture) begin(t *testing.T) {
	t.Helper()
	l, err := f.Begin(testContext(t), testClaim, map[int32]int64{0: 0, 1: 100})
	if err != nil {
		t.Fatal(err)
	}
	if l.Progress(1).Next != 100 || l.Progress(1).Start != 100 {
		t.Fatalf("partition 1 begins at %+v", l.Progress(1))
	}
}

func (f *fixture) offer(t *testing.T, partition int32, base, end int64, roles ...catalog.Role) catalog.Offer {
	t.Helper()
	g, err := f.catalog.LoadGroup(testContext(t), testClaim.TopicID)
	if err != nil {
		t.Fatal(err)
	}
	o := catalog.Offer{
		Range:      catalog.Range{Partition: partition, Base: base, End: end, BatchEpoch: 1, LastBatchBase: end - 1, LastRow: end - 1},
		Generation: catalog.FirstGeneration, LeaderEpoch: 1, Files: map[catalog.Role][]catalog.File{},
	}
	for _, role := range roles {
		table := g.Tables[role]
		o.Files[role] = []catalog.File{{
			URI:  table.View.Location + "/" + catalog.DataFileName(testClaim.TopicID, o.Range, 1, 0, "r"),
			Size: 10, Rows: end - base, Schema: table.View.SchemaID, Spec: table.View.SpecID,
		}}
	}
	return o
}

func (f *fixture) ledger(t *testing.T) catalog.Ledger {
	t.Helper()
	l, err := f.Ledger(testContext(t), testClaim)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func wantClass(t *testing.T, err error, class status.Class) {
	t.Helper()
	if status.Of(err) != class {
		t.Fatalf("class %s, want %s: %v", status.Of(err), class, err)
	}
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) { // the pace of looking at a condition
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestOffersEnterTheTableAndTheLedgerIsPublished(t *testing.T) {
	ctx, f := testContext(t), start(t, storetest.NewMemory())
	f.create(t)
	for base := int64(0); base < 50; base += 10 {
		if err := f.Submit(ctx, testClaim.TopicID, f.offer(t, 0, base, base+10, catalog.Main, catalog.Quarantine)); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		next := f.published[len(f.published)-1].Progress(0).Next
		f.mu.Unlock()
		if next != base+10 {
			t.Fatalf("published next is %d after offsets to %d were submitted", next, base+10)
		}
	}
	// Progress without rows, and an offer that is covered already.
	if err := f.Submit(ctx, testClaim.TopicID, f.offer(t, 0, 50, 60)); err != nil {
		t.Fatal(err)
	}
	if err := f.Submit(ctx, testClaim.TopicID, f.offer(t, 0, 20, 30, catalog.Main)); err != nil {
		t.Fatal(err)
	}
	if l := f.ledger(t); l.Progress(0).Next != 60 || l.Progress(1).Next != 100 {
		t.Errorf("ledger %+v", l.Partitions)
	}
}

func TestOffersThatWaitForEachOtherAreOneCommit(t *testing.T) {
	ctx, f := testContext(t), start(t, storetest.NewMemory())
	f.create(t)
	before := f.ledger(t).Seq
	var wg sync.WaitGroup
	submit := func(o catalog.Offer) {
		wg.Go(func() {
			if err := f.Submit(ctx, testClaim.TopicID, o); err != nil {
				t.Errorf("[%d, %d): %v", o.Range.Base, o.Range.End, err)
			}
		})
	}
	for base := int64(40); base > 0; base -= 10 { // each waits for the one below
		submit(f.offer(t, 0, base, base+10, catalog.Main))
	}
	waitFor(t, "four offers waiting", func() bool { return len(f.known(testClaim.TopicID).snapshotPending()) == 4 })
	submit(f.offer(t, 0, 0, 10, catalog.Main))
	wg.Wait()
	if l := f.ledger(t); l.Progress(0).Next != 50 || l.Seq != before+1 {
		t.Errorf("next %d after %d commits", l.Progress(0).Next, l.Seq-before)
	}
}

func (g *group) snapshotPending() []*submission {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]*submission(nil), g.pending...)
}

func TestRefusedOffersSayWhatToDo(t *testing.T) {
	ctx, f := testContext(t), start(t, storetest.NewMemory())
	wantClass(t, f.Submit(ctx, testClaim.TopicID, catalog.Offer{}), status.Invalid) // not begun
	_, err := f.Begin(ctx, testClaim, nil)
	wantClass(t, err, status.NotFound)
	f.create(t)
	if err := f.Submit(ctx, testClaim.TopicID, f.offer(t, 0, 0, 10, catalog.Main)); err != nil {
		t.Fatal(err)
	}
	wantClass(t, f.Submit(ctx, testClaim.TopicID, f.offer(t, 0, 5, 15, catalog.Main)), status.Conflict)
	other := f.offer(t, 0, 10, 20, catalog.Main)
	other.Generation = 9
	wantClass(t, f.Submit(ctx, testClaim.TopicID, other), status.Conflict)
	f.set(0, 20, catalog.OffChain)
	wantClass(t, f.Submit(ctx, testClaim.TopicID, f.offer(t, 0, 10, 20, catalog.Main)), status.Conflict)
	outside := f.offer(t, 1, 100, 110, catalog.Main)
	outside.Files[catalog.Main][0].URI = "mem://store/elsewhere.parquet"
	wantClass(t, f.Submit(ctx, testClaim.TopicID, outside), status.Invalid)
	f.set(0, 10, catalog.OffChain)
	wantClass(t, f.Submit(ctx, testClaim.TopicID, f.offer(t, 0, 10, 30, catalog.Main)), status.Invalid)
	if s := f.State(testClaim.TopicID); s.Diverged[0] != 10 || s.Event != "" {
		t.Errorf("state %+v", s)
	}
	// Another partition goes on, and the frozen one when the leader says so.
	if err := f.Submit(ctx, testClaim.TopicID, f.offer(t, 1, 100, 110, catalog.Main)); err != nil {
		t.Fatal(err)
	}
	f.set(0, 10, catalog.OnChain)
	if err := f.Submit(ctx, testClaim.TopicID, f.offer(t, 0, 10, 30, catalog.Main)); err != nil {
		t.Fatal(err)
	}
	if s := f.State(testClaim.TopicID); len(s.Diverged) != 0 {
		t.Errorf("state %+v", s)
	}
}

func TestADroppedTableIsMissing(t *testing.T) {
	ctx, f := testContext(t), start(t, storetest.NewMemory())
	f.create(t)
	offer := f.offer(t, 0, 0, 10, catalog.Main)
	if err := f.catalog.Drop(ctx, testClaim.TopicID); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- f.Submit(ctx, testClaim.TopicID, offer) }()
	waitFor(t, "MISSING", func() bool { return f.State(testClaim.TopicID).Event == catalog.Missing })
	if f.paused() != 1 {
		t.Error("not counted as paused")
	}
	f.Forget(testClaim.TopicID)
	wantClass(t, <-done, status.Closed)
	if f.paused() != 0 {
		t.Error("still counted as paused")
	}
}

func TestCloseAnswersWhoWaits(t *testing.T) {
	ctx, f := testContext(t), start(t, storetest.NewMemory())
	f.create(t)
	done := make(chan error, 1)
	offer := f.offer(t, 0, 10, 20, catalog.Main) // waits for [0, 10)
	go func() { done <- f.Submit(ctx, testClaim.TopicID, offer) }()
	waitFor(t, "an offer waiting", func() bool { return len(f.known(testClaim.TopicID).snapshotPending()) == 1 })
	if !f.Close(time.Minute) {
		t.Error("Close left goroutines behind")
	}
	wantClass(t, <-done, status.Closed)
	wantClass(t, f.Submit(ctx, testClaim.TopicID, offer), status.Closed)
	_, err := f.Begin(ctx, testClaim, nil)
	wantClass(t, err, status.Closed)
}

func TestALongLedgerIsKeptInAnObjectAndReadBack(t *testing.T) {
	ctx := testContext(t)
	f, c := startTampered(t, storetest.NewMemory())
	columns := schema.Schema{Fields: append(schema.System(), schema.RawValue())}
	if _, err := f.catalog.CreateGroup(ctx, builtin.GroupSpec{Claim: testClaim, Namespace: "kafka", Name: "t", Main: columns, Unpartitioned: true}); err != nil {
		t.Fatal(err)
	}
	starts := map[int32]int64{}
	for p := range int32(1000) {
		starts[p] = int64(p) * 1_000_003
	}
	if _, err := f.Begin(ctx, testClaim, starts); err != nil {
		t.Fatal(err)
	}
	c.set(func(g *builtin.GroupView) { delete(g.Tables[catalog.Main].View.Properties, catalog.PropertyLedger) })
	if l := f.ledger(t); len(l.Partitions) != 1000 || l.Progress(999).Next != 999*1_000_003 {
		t.Errorf("%d partitions, the last at %d", len(l.Partitions), l.Progress(999).Next)
	}
}
