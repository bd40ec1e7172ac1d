package tables

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"tidemark/catalog"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/parquet/schema"
	"tidemark/tables/convert"
	"tidemark/tables/ingest"
)

// log is a log that tests can read.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// catalogFake is a catalog and the commit side, in memory. The zero value works.
type catalogFake struct {
	mu      sync.Mutex
	created map[catalog.TopicID]string // table name
	dropped map[catalog.TopicID]int    // calls of Drop
	ledgers map[catalog.TopicID]catalog.Ledger
	starts  map[catalog.TopicID]map[int32]int64
	loads   map[catalog.TopicID]int // calls of Ledger
	paused  map[catalog.TopicID]string
	healed  map[catalog.TopicID]bool // the next load finds that nothing pauses
	fail    error                    // of every call
	stuck   map[catalog.TopicID]bool // Create does not return
	forgot  map[catalog.TopicID]bool
	uuid    byte
}

func newCatalogFake() *catalogFake {
	return &catalogFake{created: map[catalog.TopicID]string{}, dropped: map[catalog.TopicID]int{}, ledgers: map[catalog.TopicID]catalog.Ledger{},
		starts: map[catalog.TopicID]map[int32]int64{}, loads: map[catalog.TopicID]int{}, paused: map[catalog.TopicID]string{}, healed: map[catalog.TopicID]bool{},
		stuck: map[catalog.TopicID]bool{}, forgot: map[catalog.TopicID]bool{}}
}

func (c *catalogFake) Create(ctx context.Context, claim catalog.Claim, d Definition, main, quarantine []schema.Field) (Group, error) {
	var stuck bool
	c.do(func() { stuck = c.stuck[claim.TopicID] })
	if stuck {
		<-ctx.Done()
		return Group{}, status.Wrapf(ctx.Err(), "create")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return Group{}, c.fail
	}
	for id, name := range c.created {
		if name == d.Table && id != claim.TopicID {
			return Group{}, status.Errorf(status.Conflict, "table %s belongs to topic id %s", d.Table, id)
		}
	}
	c.created[claim.TopicID] = d.Table
	if _, there := c.ledgers[claim.TopicID]; !there {
		c.uuid++
		c.ledgers[claim.TopicID] = catalog.NewLedger([16]byte{c.uuid}, claim)
	}
	return Group{Claim: claim, Schemas: map[catalog.Role]schema.Schema{catalog.Main: numbered(main), catalog.Quarantine: numbered(quarantine)},
		Locations: map[catalog.Role]string{catalog.Main: "main", catalog.Quarantine: "bad"}, Specs: map[catalog.Role]convert.Spec{}}, nil
}

func numbered(fields []schema.Field) schema.Schema {
	for i := range fields {
		fields[i].ID = i + 1
	}
	return schema.Schema{Fields: fields}
}

func (c *catalogFake) Drop(_ context.Context, id catalog.TopicID) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return c.fail
	}
	c.dropped[id]++
	delete(c.created, id)
	delete(c.ledgers, id)
	return nil
}

func (c *catalogFake) Begin(_ context.Context, claim catalog.Claim, starts map[int32]int64) (catalog.Ledger, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return catalog.Ledger{}, c.fail
	}
	if reason := c.paused[claim.TopicID]; reason != "" {
		return catalog.Ledger{}, status.Errorf(status.Invalid, "%s", reason)
	}
	l := c.ledgers[claim.TopicID]
	if l.Seq == 0 {
		for p, start := range starts {
			l = l.Begin(p, start)
		}
		l.Seq = 1
	}
	c.starts[claim.TopicID], c.ledgers[claim.TopicID] = starts, l
	return l, nil
}

func (c *catalogFake) Ledger(_ context.Context, claim catalog.Claim) (catalog.Ledger, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loads[claim.TopicID]++
	if c.healed[claim.TopicID] {
		delete(c.paused, claim.TopicID)
	}
	if c.fail != nil {
		return catalog.Ledger{}, c.fail
	}
	l, ok := c.ledgers[claim.TopicID]
	if !ok {
		return l, status.Errorf(status.NotFound, "no table")
	}
	return l, nil
}

func (c *catalogFake) Paused(id catalog.TopicID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused[id]
}

func (c *catalogFake) Waiting(catalog.TopicID, int32) string { return "" }

func (c *catalogFake) Forget(id catalog.TopicID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgot[id] = true
}

func (c *catalogFake) Submit(context.Context, catalog.TopicID, catalog.Offer) error {
	return status.Errorf(status.Transient, "nothing is committed here")
}

// commit moves a partition's ledger as another broker would.
func (c *catalogFake) commit(id catalog.TopicID, partition int32, next int64) catalog.Ledger {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.ledgers[id].Begin(partition, 0)
	p := l.Partitions[partition]
	p.Next, p.BatchEpoch = next, 0
	l.Partitions[partition] = p
	l.Seq++
	c.ledgers[id] = l
	return l
}

// do changes the fake under its lock.
func (c *catalogFake) do(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// heldFake is the storage side: it holds files of one topic that has no table.
type heldFake struct {
	ingest.Segments
	mu       sync.Mutex
	released map[catalog.TopicID]int64 // with partition -1
	kept     []ingest.Kept             // beside that
}

func (h *heldFake) Kept() []ingest.Kept {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]ingest.Kept{{TopicID: catalog.TopicID{99}}}, h.kept...)
}

func (h *heldFake) Describe(_ context.Context, k ingest.Kept) (ingest.Segment, error) {
	return ingest.Segment{Partition: ingest.Partition{TopicID: k.TopicID, Partition: k.Partition}, ID: k.ID, Base: k.Base, End: k.End}, nil
}

func (h *heldFake) Release(id catalog.TopicID, partition int32, upTo int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if partition == -1 {
		h.released[id] = upTo
	}
}

// world is a broker with its cluster.
type world struct {
	t       *testing.T
	k       *kfake.Cluster
	client  *kafkaclient.Client
	catalog *catalogFake
	held    *heldFake
	in      *ingest.Ingest
	tables  *Tables
	log     *log
	dir     string
	set     *telemetry.Set
}

func newWorld(t *testing.T) *world {
	t.Helper()
	k, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	w := &world{t: t, k: k, catalog: newCatalogFake(), dir: t.TempDir(), held: &heldFake{released: map[catalog.TopicID]int64{}}}
	w.client = w.connect()
	t.Cleanup(w.client.Close)
	w.open()
	return w
}

// newLiveTable is a world whose topic t is a live table, led by this broker.
func newLiveTable(t *testing.T) (*world, catalog.TopicID) {
	t.Helper()
	w := newWorld(t)
	id := w.topic("t", nil)
	w.define(definitionOf(id, "t"))
	w.ready()
	w.lead(id, "t")
	w.want(id, Live)
	return w, id
}

func (w *world) connect() *kafkaclient.Client {
	w.t.Helper()
	c, err := kafkaclient.Open(kafkaclient.Config{Bootstrap: strings.Join(w.k.ListenAddrs(), ","), ClientID: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// open starts the tables side, as at the start of a broker.
func (w *world) open() {
	w.log, w.set = &log{}, telemetry.NewSet()
	logger := slog.New(slog.NewTextHandler(w.log, nil))
	w.in = ingest.New(ingest.Config{Workers: 1, Linger: time.Millisecond, ListEvery: time.Second, ScratchDir: w.t.TempDir()},
		ingest.Deps{Segments: w.held, Commits: w.catalog, Store: storetest.NewMemory(), Log: logger, Metrics: w.set})
	w.tables = Open(Config{Enabled: true, ReplicationFactor: 1, FileBytes: 1 << 28, OpenPartitions: 32, Refresh: 50 * time.Millisecond, StateDir: w.dir},
		Deps{Catalog: w.catalog, Commits: w.catalog, Ingest: w.in, Log: logger, Metrics: w.set,
			Connect: func(string) (*kafkaclient.Client, error) { return w.connect(), nil }})
	tables, in := w.tables, w.in
	w.t.Cleanup(func() { tables.Close(time.Minute); in.Close(time.Minute) })
}

// ready is what the metadata manager says once the broker is up.
func (w *world) ready() {
	w.tables.Facts(Facts{ClusterID: "c", Bootstrap: w.k.ListenAddrs()[0], SecurityProtocol: "PLAINTEXT"})
	w.until("all definitions are known", w.tables.ready)
}

func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !cond() {
		if time.Now().After(deadline) {
			w.t.Fatalf("not within 30 s: %s; tables %+v; log:\n%s", what, w.tables.Status(), w.log)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// topic creates a tiered topic.
func (w *world) topic(name string, configs map[string]string) catalog.TopicID {
	w.t.Helper()
	if configs == nil {
		configs = map[string]string{"remote.storage.enable": "true"}
	}
	if err := w.k.CreateTopic(name, 2, configs); err != nil {
		w.t.Fatal(err)
	}
	info, err := w.client.DescribeTopic(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return info.ID
}

func definitionOf(id catalog.TopicID, name string) Definition {
	return Definition{Version: 1, TopicID: id.String(), Topic: name, Namespace: "kafka", Table: TableName(name), Format: FormatRaw,
		PartitionBy: PartitionByNone, State: StateLive, Pipeline: 1}
}

func (w *world) define(d Definition) { w.record(d.TopicID, d.Encode()) }

func (w *world) record(key string, value []byte) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	if err := w.client.EnsureTopic(ctx, DefinitionsTopic, 1, 1, nil); err != nil {
		w.t.Fatal(err)
	}
	if err := w.client.Produce(ctx, DefinitionsTopic, []byte(key), value); err != nil {
		w.t.Fatal(err)
	}
}

func partitions(id catalog.TopicID, name string) []ingest.Partition {
	return []ingest.Partition{{TopicID: id, Topic: name, Partition: 0}, {TopicID: id, Topic: name, Partition: 1}}
}

func (w *world) lead(id catalog.TopicID, name string) {
	w.tables.Leadership(partitions(id, name), nil, nil)
}

// want waits for the state of a table and returns the reason.
func (w *world) want(id catalog.TopicID, state string) (reason string) {
	w.t.Helper()
	w.until(fmt.Sprintf("topic %s is %s", id, state), func() bool {
		for _, s := range w.tables.Status() {
			if s.Definition.TopicID == id.String() && s.State == state {
				reason = s.Reason
				return true
			}
		}
		return false
	})
	return reason
}
