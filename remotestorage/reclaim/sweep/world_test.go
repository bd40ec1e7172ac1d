package sweep

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage/stored"
)

const testGrace = time.Hour

// aged is a store whose clock the test moves.
type aged struct {
	*storetest.Memory
	now     time.Time
	written map[string]time.Time
}

func newAged() *aged {
	return &aged{Memory: storetest.NewMemory(), now: time.Unix(1_000_000, 0), written: map[string]time.Time{}}
}

func (a *aged) pass(d time.Duration) { a.now = a.now.Add(d) }

func (a *aged) Put(ctx context.Context, k string, src objectstore.Source, cond objectstore.Condition) (objectstore.Info, error) {
	info, err := a.Memory.Put(ctx, k, src, cond)
	if err == nil {
		a.written[k] = a.now
		info.Modified = a.now
	}
	return info, err
}

func (a *aged) Head(ctx context.Context, k string) (objectstore.Info, error) {
	info, err := a.Memory.Head(ctx, k)
	info.Modified = a.written[k]
	return info, err
}

func (a *aged) List(ctx context.Context, prefix, after string, most int) ([]objectstore.Info, bool, error) {
	page, more, err := a.Memory.List(ctx, prefix, after, most)
	for n := range page {
		page[n].Modified = a.written[page[n].Key]
	}
	return page, more, err
}

// meta is a model of the metadata manager of a cluster: one truth, whoever leads.
type meta struct {
	states  map[[16]byte]State // without those that are gone
	of      map[[16]byte]place
	end     map[[16]byte]int64
	deleted map[[16]byte]bool // topics
	leads   func(place) bool
	fails   error
	asked   int
}

func newMeta() *meta {
	return &meta{states: map[[16]byte]State{}, of: map[[16]byte]place{}, end: map[[16]byte]int64{}, deleted: map[[16]byte]bool{},
		leads: func(place) bool { return true }}
}

func (m *meta) Knows(topicID [16]byte, partition int32) bool {
	return !m.deleted[topicID] && m.leads(place{topicID, partition})
}

func (m *meta) States(_ context.Context, topicID [16]byte, partition int32, ids [][16]byte) (Answer, error) {
	m.asked++
	if m.fails != nil {
		return Answer{}, m.fails
	}
	var a Answer
	for _, id := range ids {
		a.States = append(a.States, m.states[id])
	}
	for id, p := range m.of {
		if p == (place{topicID, partition}) && m.states[id] == Finished {
			a.End = max(a.End, m.end[id])
		}
	}
	return a, nil
}

func (m *meta) GiveUp(_ context.Context, _ [16]byte, _ int32, ids [][16]byte) (n int, err error) {
	for _, id := range ids {
		if m.states[id] == Started {
			m.states[id] = Deleting
			n++
		}
	}
	return n, nil
}

func (m *meta) Responsible(context.Context) (bool, error) { return true, nil }

func (m *meta) TopicExists(_ context.Context, topicID [16]byte) (bool, error) {
	return !m.deleted[topicID], m.fails
}

// world is a store, a cluster's metadata and one broker's sweeper.
type world struct {
	store   *aged
	meta    *meta
	copying map[[16]byte]bool
	pending map[[16]byte]bool
	held    func(stored.Identity) bool
	ends    map[[16]byte]int64
	found   []Finding
	next    byte
	deps    Deps
	set     *telemetry.Set
}

func newWorld() *world {
	w := &world{store: newAged(), meta: newMeta(), copying: map[[16]byte]bool{}, pending: map[[16]byte]bool{}, ends: map[[16]byte]int64{}, set: telemetry.NewSet()}
	w.deps = Deps{
		Log: slog.New(slog.DiscardHandler), Metrics: NewMetrics(w.set), Store: w.store, Truth: w.meta, Cluster: func() string { return "cluster-1" },
		Copying: func(id [16]byte) bool { return w.copying[id] }, Pending: func(id [16]byte) bool { return w.pending[id] },
		Held: func(topicID [16]byte, partition int32, base, end int64) bool {
			return w.held != nil && w.held(stored.Identity{TopicID: topicID, Partition: partition, BaseOffset: base})
		},
		End: func(_ context.Context, id stored.Identity) (int64, error) {
			end, ok := w.ends[id.SegmentID]
			if !ok {
				return 0, status.Errorf(status.Corrupt, "no manifest")
			}
			return end, nil
		},
		Found: func(f Finding) { w.found = append(w.found, f) },
	}
	return w
}

func (w *world) sweeper(change ...func(*Config)) *Sweeper {
	cfg := Config{Interval: time.Hour, Grace: testGrace, Most: 100, Rate: 100_000}
	for _, c := range change {
		c(&cfg)
	}
	return New(cfg, w.deps)
}

func topic(n byte) (id [16]byte) { id[0], id[15] = n, 1; return id }

// segment stores objects of a new segment of 10 offsets; kinds are "l" and "s".
func (w *world) segment(p place, base int64, kinds string, state State) stored.Identity {
	w.next++
	id := stored.Identity{TopicID: p.topicID, Partition: p.partition, BaseOffset: base, SegmentID: [16]byte{w.next, 7}}
	w.put(id, kinds)
	w.ends[id.SegmentID] = base + 10
	w.meta.of[id.SegmentID], w.meta.end[id.SegmentID] = p, base+10
	if state != Absent {
		w.meta.states[id.SegmentID] = state
	}
	return id
}

func (w *world) put(id stored.Identity, kinds string) {
	log, sidecar := id.Keys()
	for _, k := range kinds {
		name := log
		if k == 's' {
			name = sidecar
		}
		if _, err := w.store.Put(context.Background(), name, bytes.NewReader([]byte("x")), objectstore.Condition{}); err != nil {
			panic(err)
		}
	}
}

// keys are the objects of segments.
func (w *world) keys() []string {
	return slices.DeleteFunc(w.store.Keys(), func(k string) bool { return k == key.Cluster("cluster-1") })
}

func (w *world) stores(id stored.Identity) string {
	var out string
	log, sidecar := id.Keys()
	for _, k := range w.keys() {
		switch k {
		case log:
			out += "l"
		case sidecar:
			out += "s"
		}
	}
	return out
}

// series is the value of a metric, with its labels in braces.
func (w *world) series(t *testing.T, name string) float64 {
	t.Helper()
	all, err := w.set.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		full := strings.TrimPrefix(s.Name, "tidemark_")
		if s.Labels != "" {
			full += "{" + s.Labels + "}"
		}
		if full == name {
			return s.Value
		}
	}
	t.Fatalf("no series %s", name)
	return 0
}
