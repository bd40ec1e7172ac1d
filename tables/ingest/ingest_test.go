package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
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

	mu       sync.Mutex
	stored   map[[16]byte]*logtest.Segment
	size     map[[16]byte]int64 // another size of the opened source
	damaged  map[[16]byte]bool  // the hold file's content is not the segment's
	fail     map[[16]byte]error // of Open
	opened   []Segment
	indexes  int // reads of an index
	released map[string]int64
	ledger   catalog.Ledger
	accepted []catalog.Offer
	submits  int
	answer   func(o catalog.Offer) (accept bool, err error) // instead of the default answer
	silent   bool                                           // a commit does not publish its ledger
	gate     chan struct{}                                  // Open waits for it, if there is one
	panics   int                                            // of Submit, still to come
	running  int
	most     int
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

func (w *world) Held() []catalog.TopicID { return []catalog.TopicID{topic, {9}} }

func (w *world) Release(id catalog.TopicID, n int32, upTo int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.released[fmt.Sprintf("%d/%d", id[0], n)] = upTo
}

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

func TestHandedOverSegmentsAreGatheredAndConverted(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.listed(part(0), nil, nil)
		a := logtest.NewSegment(0).Produce(kafkalog.None, "a", "b")
		b := a.Roll().Produce(kafkalog.Snappy, "c")
		w.in.HandOver(w.tiered(0, a))
		w.in.HandOver(w.tiered(0, b))
		w.pass(5 * time.Second)
		w.want(0, 3, "a", "b", "c")
		if w.taken() != 1 || w.released["7/0"] != 3 {
			t.Errorf("%d commits for two segments within the linger; released %v", w.taken(), w.released)
		}
		if files := w.memory.Keys(); len(files) != 1 || !strings.HasPrefix(files[0], "tables/main/data/") {
			t.Errorf("objects %v", files)
		}
		w.in.HandOver(w.tiered(0, b.Roll().Produce(kafkalog.None, "d")))
		w.pass(5 * time.Second)
		w.want(0, 4, "a", "b", "c", "d")
		if left, _ := slices.Collect(maps.Values(w.released)), 0; left[0] != 4 {
			t.Errorf("released %v", w.released)
		}
	})
}

// In whatever order leadership, table, ledger, list and segment come, the segment is converted.
func TestEveryOrderOfEvents(t *testing.T) {
	events := []string{"lead", "table", "ledger", "list"}
	var orders [][]string
	var permute func(done, left []string)
	permute = func(done, left []string) {
		if len(left) == 0 {
			orders = append(orders, done)
		}
		for i := range left {
			permute(append(slices.Clone(done), left[i]), slices.Delete(slices.Clone(left), i, i+1))
		}
	}
	permute(nil, events)
	for _, order := range orders {
		in(t, func(w *world) {
			seg := w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a"))
			for _, e := range order {
				switch e {
				case "lead":
					w.in.Lead([]Partition{part(0)}, nil)
				case "table":
					w.in.SetTable(w.table())
				case "ledger":
					w.publish()
				case "list":
					w.listed(part(0), []Segment{seg}, nil) // nobody asked if it is early
				}
				w.pass(time.Second)
			}
			w.pass(time.Second)
			for _, p := range w.wanted() {
				w.listed(p, []Segment{seg}, nil)
			}
			w.pass(5 * time.Second)
			w.want(0, 1, "a")
			if t.Failed() {
				t.Fatalf("order %v", order)
			}
		})
	}
}

// Leadership that comes after the ledger was published takes the ledger that is known.
func TestLeadershipAfterTheLedger(t *testing.T) {
	in(t, func(w *world) {
		a := logtest.NewSegment(0).Produce(kafkalog.None, "a")
		b := a.Roll().Produce(kafkalog.None, "b")
		segments := []Segment{w.tiered(1, a), w.tiered(1, b)}
		w.live(0)
		w.mu.Lock()
		w.move(1, 1, 0)
		w.mu.Unlock()
		w.publish()
		w.pass(time.Minute)
		w.in.Lead([]Partition{part(1)}, nil)
		if got := w.wanted(); !slices.Contains(got, part(1)) {
			t.Errorf("wanted %v", got)
		}
		w.listed(part(1), segments, nil)
		w.pass(5 * time.Second)
		w.want(1, 2, "b")
	})
}

func TestAnOlderLedgerThatArrivesLateChangesNothing(t *testing.T) {
	in(t, func(w *world) {
		old := w.ledger
		w.live(0)
		w.listed(part(0), []Segment{w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a"))}, nil)
		w.pass(5 * time.Second)
		w.want(0, 1, "a")
		w.in.Published(topic, old)
		w.pass(5 * time.Second)
		if got := w.in.Status(topic)[0]; got.Next != 1 || w.submitted() != 1 {
			t.Errorf("%+v after %d submits", got, w.submitted())
		}
		// Another table, or a later generation, counts from its own beginning.
		fresh := catalog.NewLedger([16]byte{2}, old.Claim)
		w.in.Published(topic, fresh)
		if got := w.in.Status(topic)[0]; got.Next != 0 || !slices.Contains(w.wanted(), part(0)) {
			t.Errorf("%+v: the list is needed again", got)
		}
	})
}

func TestSegmentsAreFoundAgainAfterARestart(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.listed(part(0), nil, nil)
		w.mu.Lock()
		w.gate = make(chan struct{})
		w.mu.Unlock()
		seg := w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a", "b"))
		w.in.HandOver(seg)
		w.pass(5 * time.Second)
		w.close() // in the middle of the conversion
		w.mu.Lock()
		w.gate = nil
		w.mu.Unlock()
		w.start(w.in.cfg)
		w.live(0)
		if got := w.wanted(); !slices.Equal(got, []Partition{part(0)}) {
			t.Fatalf("wanted %v", got)
		}
		w.listed(part(0), []Segment{seg}, nil)
		w.pass(5 * time.Second)
		w.want(0, 2, "a", "b")
	})
}

func TestNothingIsConvertedWithoutLeadershipTableOrLedger(t *testing.T) {
	in(t, func(w *world) {
		seg := func(n int32) Segment {
			return w.tiered(n, logtest.NewSegment(0).Produce(kafkalog.None, "a"))
		}
		w.live(0)
		w.in.Lead([]Partition{part(1)}, []Partition{part(2)})
		w.in.Lead(nil, []Partition{part(1)})
		for n := range int32(3) {
			if n > 0 {
				w.in.HandOver(seg(n))
				w.listed(part(n), []Segment{seg(n)}, nil)
			}
		}
		w.pass(time.Minute)
		if w.submitted() != 0 || w.opens() != 0 {
			t.Errorf("%d submits, %d opened", w.submitted(), w.opens())
		}
		if got := w.in.Led(); !reflect.DeepEqual(got, map[catalog.TopicID][]Partition{topic: {part(0)}}) {
			t.Errorf("led %v", got)
		}
		if got := w.wanted(); !slices.Equal(got, []Partition{part(0)}) {
			t.Errorf("wanted %v", got)
		}
		other := Partition{TopicID: catalog.TopicID{8}, Topic: "no table", Partition: 0}
		w.in.Lead([]Partition{other}, nil)
		w.in.HandOver(Segment{Partition: other, End: 5})
		if st := w.in.Status(other.TopicID); st[0].Waiting != 0 {
			t.Errorf("segments of a topic without a table are kept: %+v", st)
		}
	})
}

func TestListsAreAskedForOnceInAWhile(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		if len(w.wanted()) != 1 || len(w.wanted()) != 0 {
			t.Error("asked for not once at the start")
		}
		w.pass(6 * time.Second)
		if len(w.wanted()) != 1 {
			t.Error("an answer that does not come is not asked for again")
		}
		w.listed(part(0), nil, nil)
		w.pass(20 * time.Second)
		if len(w.wanted()) != 0 {
			t.Error("asked for too early")
		}
		w.pass(10 * time.Second)
		if len(w.wanted()) != 1 {
			t.Error("not asked for after the interval")
		}
	})
}

func TestAListThatFailsKeepsWhatIsKnown(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.listed(part(0), nil, status.Errorf(status.Transient, "not ready"))
		if got := w.reason(0); !strings.Contains(got, "not ready") {
			t.Errorf("reason %q", got)
		}
		seg := w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a"))
		w.in.HandOver(seg)
		w.listed(part(0), nil, status.Errorf(status.Transient, "not ready"))
		w.pass(time.Minute)
		if w.submitted() != 0 || !strings.Contains(w.reason(0), "not ready") {
			t.Errorf("converted before the first list came: what the last leader left may be missing; reason %q", w.reason(0))
		}
		w.listed(part(0), nil, nil)
		w.listed(part(0), nil, status.Errorf(status.Transient, "not ready"))
		w.pass(5 * time.Second)
		w.want(0, 1, "a")
	})
}

// The metadata of a segment is published after its copy returned, and retention may remove a held one from the list.
func TestSegmentsThatAreNotInTheListAreKept(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.in.Pause(topic)
		a := logtest.NewSegment(0).Produce(kafkalog.None, "a")
		b := a.Roll().Produce(kafkalog.None, "b")
		first, second := w.tiered(0, a), w.tiered(0, b)
		w.listed(part(0), []Segment{first}, nil)
		w.in.HandOver(second)
		w.listed(part(0), []Segment{first}, nil) // not published yet
		w.listed(part(0), nil, nil)              // removed by retention
		w.pass(10 * time.Minute)
		w.listed(part(0), nil, nil)
		w.in.SetTable(w.table())
		w.pass(5 * time.Second)
		w.want(0, 2, "a", "b")
	})
}

func TestPauseGathersAndDropForgets(t *testing.T) {
	in(t, func(w *world) {
		seg := w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a"))
		w.live(0)
		w.listed(part(0), nil, nil)
		w.in.Pause(topic)
		w.in.HandOver(seg)
		w.pass(time.Minute)
		if st := w.in.Status(topic)[0]; st.Waiting != 1 || w.submitted() != 0 {
			t.Errorf("paused: %+v, %d submits", st, w.submitted())
		}
		w.in.DropTable(topic)
		w.in.HandOver(seg)
		if st := w.in.Status(topic)[0]; st.Waiting != 0 {
			t.Errorf("dropped: %+v", st)
		}
		w.in.SetTable(w.table()) // the list finds it again
		if got := w.wanted(); len(got) != 1 {
			t.Fatalf("wanted %v", got)
		}
		w.listed(part(0), []Segment{seg}, nil)
		w.pass(5 * time.Second)
		w.want(0, 1, "a")
	})
}

func TestWhatLeftThisBrokerIsDrained(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.live(1)
		w.listed(part(0), nil, nil)
		w.listed(part(1), nil, nil)
		w.in.HandOver(w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a")))
		w.in.Stopped([]Partition{part(0), part(1), part(5)})
		if got := w.in.Led()[topic]; !slices.Equal(got, []Partition{part(0)}) {
			t.Errorf("led %v, want what waits", got)
		}
		w.listed(part(0), nil, nil) // too late: nothing is listed any more
		w.pass(5 * time.Second)
		w.want(0, 1, "a")
		if got := w.in.Led(); len(got) != 0 {
			t.Errorf("led %v after the last segment", got)
		}
	})
}

func TestADrainingPartitionThatComesBackIsListed(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.listed(part(0), nil, nil)
		w.in.Pause(topic)
		w.in.HandOver(w.tiered(0, logtest.NewSegment(0).Produce(kafkalog.None, "a")))
		w.in.Stopped([]Partition{part(0)})
		w.in.Lead([]Partition{part(0)}, nil)
		if got := w.wanted(); len(got) != 1 {
			t.Errorf("wanted %v", got)
		}
	})
}

func TestReleases(t *testing.T) {
	in(t, func(w *world) {
		w.live(0)
		w.mu.Lock()
		w.move(3, 40, 0) // not led: another broker's work
		w.mu.Unlock()
		w.publish()
		w.in.HandOver(Segment{Partition: part(3), Base: 10, End: 30})
		want := map[string]int64{"7/3": 40}
		if !maps.Equal(w.released, want) {
			t.Errorf("released %v, want %v", w.released, want)
		}
		w.in.ReleaseUnwanted(func(id catalog.TopicID) bool { return id == topic })
		if _, ok := w.released["9/-1"]; !ok || len(w.released) != 2 {
			t.Errorf("released %v", w.released)
		}
	})
}
