package tables

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tidemark/catalog"
	"tidemark/internal/telemetry"
	"tidemark/tables/ingest"
)

func TestHeldAndWantsHold(t *testing.T) {
	w := newWorld(t)
	id := w.topic("t", nil)
	wants := func(id catalog.TopicID) bool { _, ok := w.tables.WantsHold(id); return ok }
	if !w.tables.Held(id, 0, 0, 10) || wants(id) {
		t.Error("free before the definitions are known")
	}
	w.ready()
	if w.tables.Held(id, 0, 0, 10) || wants(id) {
		t.Error("held without a definition")
	}
	w.define(definitionOf(id, "t"))
	w.want(id, Idle)
	w.lead(id, "t")
	w.want(id, Live)
	l := w.catalog.commit(id, 0, 10)
	w.tables.Published(id, l)
	for _, c := range []struct {
		partition int32
		base, end int64
		want      bool
	}{{0, 0, 10, false}, {0, 0, 11, true}, {0, 5, 9, false}, {0, 10, 20, true}, {1, 0, 1, true}, {7, 0, 1, true}} {
		if got := w.tables.Held(id, c.partition, c.base, c.end); got != c.want {
			t.Errorf("[%d, %d) of %d: held %v, want %v", c.base, c.end, c.partition, got, c.want)
		}
	}
	if g, ok := w.tables.WantsHold(id); !ok || g != 1 {
		t.Errorf("wants hold %v, generation %d", ok, g)
	}

	// Another broker's broker restarts with the marker: nothing is free until the definitions are known.
	if _, err := os.Stat(filepath.Join(w.dir, "tables-in-use")); err != nil {
		t.Error(err)
	}
	w.tables.Close(time.Minute)
	w.in.Close(time.Minute)
	w.open()
	if !w.tables.Held(id, 0, 0, 1) || !w.tables.Held(catalog.TopicID{5}, 0, 0, 1) || !wants(id) {
		t.Error("free before the definitions are known although tables are in use")
	}
	w.ready()
	w.want(id, Idle)
	if w.tables.Held(catalog.TopicID{5}, 0, 0, 1) {
		t.Error("held without a definition")
	}
	if !w.tables.Held(id, 0, 0, 10) {
		t.Error("free although the ledger was not loaded yet")
	}
	w.until("the ledger is loaded for the one who asks", func() bool { return !w.tables.Held(id, 0, 0, 10) })

	d := definitionOf(id, "t")
	d.State, d.Pipeline = StateDropped, 2
	w.define(d)
	w.want(id, Dropped)
	if w.tables.Held(id, 0, 0, 1000) || wants(id) {
		t.Error("held although the table is dropped")
	}
}

// Before the definitions are known something is free only where there can be none: a broker without the metadata manager.
func TestNotKnowingHolds(t *testing.T) {
	w := newWorld(t)
	held := func() bool { return w.tables.Held(catalog.TopicID{5}, 0, 0, 1) }
	open := func(ago time.Duration) {
		w.tables.Close(time.Minute)
		w.in.Close(time.Minute)
		w.open()
		w.tables.mu.Lock()
		w.tables.opened = w.tables.opened.Add(-ago)
		w.tables.mu.Unlock()
	}
	open(aloneAfter - time.Minute)
	if !held() {
		t.Error("free although the metadata manager may still come")
	}
	open(aloneAfter)
	if held() {
		t.Error("held although there is no metadata manager")
	}
	w.tables.Facts(Facts{ClusterID: "c", Bootstrap: "127.0.0.1:1"})
	if !held() {
		t.Error("free although there is a metadata manager, whose definitions are not known")
	}
	if err := os.WriteFile(w.tables.marker(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	open(aloneAfter)
	if !held() {
		t.Error("free although tables were in use")
	}
	w.ready()
	if held() {
		t.Error("held although there is no definition")
	}
}

// Whoever is told that an object is held gets another answer once another broker's commit covers it.
func TestHeldFollowsTheLedgersOfOthers(t *testing.T) {
	w, id := newLiveTable(t)
	if !w.tables.Held(id, 1, 0, 5) {
		t.Error("free although nothing is covered")
	}
	w.catalog.commit(id, 1, 5)
	w.until("the ledger is loaded again", func() bool { return !w.tables.Held(id, 1, 0, 5) })
	w.tables.Leadership(nil, partitions(id, "t"), nil)
	w.want(id, Idle)
	if !w.tables.Held(id, 1, 5, 9) {
		t.Error("free although not covered")
	}
	w.catalog.commit(id, 1, 9)
	w.until("an idle broker loads it too", func() bool { return !w.tables.Held(id, 1, 5, 9) })
}

func TestDisabledTablesHoldNothing(t *testing.T) {
	set := telemetry.NewSet()
	in := ingest.New(ingest.Config{Workers: 1, ListEvery: time.Second}, ingest.Deps{Log: slog.New(slog.DiscardHandler), Metrics: set})
	tables := Open(Config{StateDir: t.TempDir()}, Deps{Ingest: in, Log: slog.New(slog.DiscardHandler), Metrics: set})
	defer in.Close(time.Minute)
	defer tables.Close(time.Minute)
	tables.Facts(Facts{ClusterID: "c"})
	if _, ok := tables.WantsHold(catalog.TopicID{1}); ok || tables.Held(catalog.TopicID{1}, 0, 0, 1) {
		t.Error("held")
	}
}

// A partition that is newly led may have been moved by its leader before: the ledger is loaded again.
func TestTheLedgerIsLoadedAgainOnLeadership(t *testing.T) {
	w := newWorld(t)
	id := w.topic("t", nil)
	w.define(definitionOf(id, "t"))
	w.ready()
	both := partitions(id, "t")
	w.tables.Leadership(both[:1], both[1:], nil)
	w.want(id, Live)
	w.catalog.commit(id, 1, 33)
	w.tables.Leadership(both, nil, nil)
	w.until("partition 1 goes on at 33", func() bool {
		st := w.in.Status(id)
		return len(st) == 2 && st[1].Next == 33
	})
	w.catalog.mu.Lock()
	loads := w.catalog.loads[id]
	w.catalog.mu.Unlock()
	w.tables.Leadership(both, nil, nil) // a level, not an edge
	w.want(id, Live)
	w.catalog.mu.Lock()
	defer w.catalog.mu.Unlock()
	if w.catalog.loads[id] != loads {
		t.Errorf("%d loads after a repeat, %d before", w.catalog.loads[id], loads)
	}
}

func TestALateLedgerChangesNothing(t *testing.T) {
	w, id := newLiveTable(t)
	old := w.catalog.commit(id, 0, 10)
	w.tables.Published(id, w.catalog.commit(id, 0, 20))
	w.tables.Published(id, old)
	if w.tables.Held(id, 0, 10, 20) {
		t.Error("held below the newest ledger")
	}
}

func TestHoldFilesOfTopicsWithoutATableAreReleased(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(w.tables.marker(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.ready()
	w.until("the holds are released", func() bool {
		w.held.mu.Lock()
		defer w.held.mu.Unlock()
		_, ok := w.held.released[catalog.TopicID{99}]
		return ok
	})
}

func TestStatusIsByTopic(t *testing.T) {
	w := newWorld(t)
	b, a := w.topic("b", nil), w.topic("a", nil)
	w.define(definitionOf(b, "b"))
	w.define(definitionOf(a, "a"))
	w.ready()
	w.want(b, Idle)
	var names []string
	for _, s := range w.tables.Status() {
		names = append(names, s.Definition.Topic)
	}
	if !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("%v", names)
	}
}
