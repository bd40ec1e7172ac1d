package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tidemark/catalog"
	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/parquet"
	"tidemark/parquet/column"
	"tidemark/parquet/payload"
	"tidemark/parquet/schema"
	"tidemark/tables/convert"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var topic = catalog.TopicID{7}

func part(n int32) Partition { return Partition{TopicID: topic, Topic: "t", Partition: n} }

// world is a broker's surroundings: its segments, the catalog and the store, all in memory. It runs in a synctest bubble.
type world struct {
	t      *testing.T
	in     *Ingest
	store  *storetest.Faults
	memory *storetest.Memory
	log    *bytes.Buffer
	conv   *convert.Converter

	mu        sync.Mutex
	stored    map[[16]byte]*logtest.Segment
	size      map[[16]byte]int64 // another size of the opened source
	damaged   map[[16]byte]bool  // the hold file's content is not the segment's
	fail      map[[16]byte]error // of Open
	opened    []Segment
	kept      []Kept
	described int
	describe  error // of Describe
	indexes   int   // reads of an index
	released  map[string]int64
	ledger    catalog.Ledger
	accepted  []catalog.Offer
	submits   int
	answer    func(o catalog.Offer) (accept bool, err error) // instead of the default answer
	silent    bool                                           // a commit does not publish its ledger
	gate      chan struct{}                                  // Open waits for it, if there is one
	panics    int                                            // of Submit, still to come
	running   int
	most      int
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, memory: storetest.NewMemory(), log: &bytes.Buffer{}, stored: map[[16]byte]*logtest.Segment{}, fail: map[[16]byte]error{},
		size: map[[16]byte]int64{}, damaged: map[[16]byte]bool{}, released: map[string]int64{}}
	w.store = storetest.Faulty(w.memory)
	w.ledger = catalog.NewLedger([16]byte{1}, catalog.Claim{TopicID: topic})
	w.conv = newConverter(t)
	w.start(Config{Workers: 2, Linger: time.Second, ListEvery: 30 * time.Second, ScratchDir: t.TempDir()})
	return w
}

func (w *world) start(cfg Config) {
	w.in = New(cfg, Deps{Segments: w, Commits: w, Store: w.store, Metrics: telemetry.NewSet(),
		Log: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
}

func (w *world) close() {
	if !w.in.Close(time.Minute) {
		w.t.Error("work goes on after Close")
	}
}

func newConverter(t *testing.T) *convert.Converter {
	raw := func() payload.Decoder { return payload.NewRaw() }
	c, err := convert.New(convert.Definition{Claim: catalog.Claim{TopicID: topic, Topic: "t"}, Generation: 1, Pipeline: 1, Decoder: raw,
		Codec: parquet.Uncompressed, // pooled zstd coders must not wander between bubbles
		Main:  numbered(convert.MainFields(raw())), Quarantine: numbered(convert.QuarantineFields())})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func numbered(fields []schema.Field) schema.Schema {
	for i := range fields {
		fields[i].ID = i + 1
		if e := fields[i].Type.Element; e != nil {
			e.ID = 100
			e.Type.Fields[0].ID, e.Type.Fields[1].ID = 101, 102
		}
	}
	return schema.Schema{Fields: fields}
}

func (w *world) table() Table {
	return Table{TopicID: topic, Topic: "t", Generation: 1, Converter: w.conv, Location: map[catalog.Role]string{catalog.Main: "tables/main", catalog.Quarantine: "tables/bad"}}
}

// live leads a partition of a live table whose ledger is known.
func (w *world) live(n int32) {
	w.in.Lead([]Partition{part(n)}, nil)
	w.in.SetTable(w.table())
	w.publish()
}

func (w *world) publish() {
	w.mu.Lock()
	l := w.ledger
	w.mu.Unlock()
	w.in.Published(topic, l)
}

// tiered stores a segment and describes it as the metadata manager would.
func (w *world) tiered(n int32, s *logtest.Segment) Segment {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := [16]byte{byte(n), byte(len(w.stored)), byte(len(w.stored) >> 8), 1}
	w.stored[id] = s
	return Segment{Partition: part(n), ID: id, Base: s.Base, End: s.Next(), Size: int64(len(s.Log)), Epochs: s.Epochs, TxnIndexEmpty: len(s.Aborted) == 0}
}

// rolled are segments of one record each, with the values v<offset>.
func (w *world) rolled(n int32, from, to int64) []Segment {
	var out []Segment
	s := logtest.NewSegment(from)
	for at := from; at < to; at++ {
		s.Produce(kafkalog.None, fmt.Sprintf("v%d", at))
		out = append(out, w.tiered(n, s))
		s = s.Roll()
	}
	return out
}

// listed gives a whole list.
func (w *world) listed(p Partition, segments []Segment, err error) {
	w.in.Listed(p, List{Segments: segments}, err)
}

func (w *world) wanted() (list []Partition) {
	for _, want := range w.in.Wanted() {
		list = append(list, want.Partition)
	}
	return list
}

// pass lets virtual time pass, and everything that is due happen.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) Open(ctx context.Context, s Segment) (Source, error) {
	w.mu.Lock()
	w.opened = append(w.opened, s)
	w.running++
	w.most = max(w.most, w.running)
	gate, log, err := w.gate, w.stored[s.ID], w.fail[s.ID]
	w.mu.Unlock()
	defer func() { w.mu.Lock(); w.running--; w.mu.Unlock() }()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err != nil {
		return nil, err
	}
	if log == nil {
		return nil, status.Errorf(status.NotFound, "segment object is gone")
	}
	data := log.Log
	if w.damaged[s.ID] && !s.NoHold {
		data = slices.Clone(data)
		data[len(data)-1] ^= 1
	}
	size := int64(len(data))
	if other, ok := w.size[s.ID]; ok && !s.NoHold {
		size = other
	}
	return source{bytes.NewReader(data), size}, nil
}

type source struct {
	io.ReaderAt
	size int64
}

func (s source) Size() int64  { return s.size }
func (s source) Close() error { return nil }

func (w *world) Index(_ context.Context, s Segment, kind Index) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.indexes++
	log := w.stored[s.ID]
	switch {
	case log == nil:
		return nil, status.Errorf(status.NotFound, "segment object is gone")
	case kind == ProducerSnapshot:
		return log.ProducerSnapshot(), nil
	case len(log.Aborted) == 0:
		return nil, status.Errorf(status.NotFound, "no transaction index")
	}
	return log.TxnIndex(), nil
}

func (w *world) Kept() []Kept {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Kept{{TopicID: topic, Partition: 77}, {TopicID: catalog.TopicID{9}}}, w.kept...)
}

func (w *world) Describe(_ context.Context, k Kept) (Segment, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.described++
	log := w.stored[k.ID]
	if w.describe != nil {
		return Segment{}, w.describe
	}
	if log == nil {
		return Segment{}, status.Errorf(status.NotFound, "sidecar is gone")
	}
	return Segment{Partition: Partition{TopicID: k.TopicID, Topic: "t", Partition: k.Partition}, ID: k.ID, Base: log.Base, End: log.Next(),
		Size: int64(len(log.Log)), Epochs: log.Epochs, TxnIndexEmpty: len(log.Aborted) == 0}, nil
}

func (w *world) Release(id catalog.TopicID, n int32, upTo int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.released[fmt.Sprintf("%d/%d", id[0], n)] = upTo
}

func (w *world) Waiting(catalog.TopicID, int32) string { return "" }

// Submit commits what continues the ledger, unless answer says otherwise.
func (w *world) Submit(ctx context.Context, id catalog.TopicID, o catalog.Offer) error {
	if w.panics > 0 {
		w.panics--
		panic("boom")
	}
	w.mu.Lock()
	w.submits++
	accept, err := true, error(nil)
	if w.answer != nil {
		accept, err = w.answer(o)
	}
	if accept {
		if o.Range.Base != w.ledger.Progress(o.Range.Partition).Next || o.Generation != w.ledger.Generation {
			err = status.Errorf(status.Conflict, "range [%d, %d) does not continue the ledger", o.Range.Base, o.Range.End)
		} else {
			w.accepted = append(w.accepted, o)
			w.move(o.Range.Partition, o.Range.End, o.Range.BatchEpoch)
		}
	}
	silent := w.silent
	w.mu.Unlock()
	if !silent {
		w.publish()
	}
	return err
}

// move advances the ledger; w.mu is held.
func (w *world) move(n int32, next int64, epoch int32) {
	p := w.ledger.Progress(n)
	p.Next, p.BatchEpoch, p.LastBatchBase = next, epoch, next-1
	w.ledger.Partitions = maps.Clone(w.ledger.Partitions)
	w.ledger.Partitions[n] = p
	w.ledger.Seq++
}

// opens is how often a segment was opened.
func (w *world) opens() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.opened)
}

// submitted is how often an offer was submitted, taken how often one was committed, indexReads how often an index was read.
func (w *world) submitted() int  { w.mu.Lock(); defer w.mu.Unlock(); return w.submits }
func (w *world) taken() int      { w.mu.Lock(); defer w.mu.Unlock(); return len(w.accepted) }
func (w *world) indexReads() int { w.mu.Lock(); defer w.mu.Unlock(); return w.indexes }

// rows are the committed values by offset of a partition; an offset that is there twice fails the test.
func (w *world) rows(n int32) map[int64]string {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	rows := map[int64]string{}
	fields := numbered(convert.MainFields(payload.NewRaw())).Fields
	for _, o := range w.accepted {
		for _, f := range o.Files[catalog.Main] {
			key, _ := w.memory.Key(f.URI)
			data, _, err := w.memory.Get(context.Background(), key, 1<<30)
			if err != nil {
				w.t.Fatal(err)
			}
			r, err := parquet.NewReader(key, bytes.NewReader(data), int64(len(data)), fields)
			if err != nil {
				w.t.Fatal(err)
			}
			b := column.NewBatch(schema.Shapes(fields))
			for err == nil {
				_, err = r.Read(b, 1000)
			}
			r.Close()
			for i := range b.Len() {
				offset := b.Columns[schema.KafkaOffset].Int64(i)
				if o.Range.Partition != n {
					continue
				}
				if _, twice := rows[offset]; twice {
					w.t.Errorf("offset %d is twice in the table", offset)
				}
				rows[offset] = string(b.Columns[schema.SystemColumns].Bytes(i))
			}
		}
	}
	return rows
}

func (w *world) want(n int32, next int64, values ...string) {
	w.t.Helper()
	got := w.rows(n)
	var list []string
	for _, offset := range slices.Sorted(maps.Keys(got)) {
		list = append(list, got[offset])
	}
	w.mu.Lock()
	at := w.ledger.Progress(n).Next
	w.mu.Unlock()
	if at != next || !slices.Equal(list, values) {
		w.t.Errorf("next %d and rows %q, want %d and %q; reason %q; log:\n%s", at, list, next, values, w.reason(n), w.log)
	}
}

func (w *world) reason(n int32) string {
	for _, s := range w.in.Status(topic) {
		if s.Partition.Partition == n {
			return s.Reason
		}
	}
	return "not led"
}

// in runs a test in a bubble.
func in(t *testing.T, f func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.close()
		f(w)
	})
}
