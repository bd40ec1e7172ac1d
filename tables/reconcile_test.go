package tables

import (
	"strings"
	"testing"
	"time"

	"tidemark/catalog"
	"tidemark/internal/status"
	"tidemark/tables/ingest"
)

func TestATableComesToLifeAndIsPausedResumedDroppedAndDefinedAgain(t *testing.T) {
	w := newWorld(t)
	id := w.topic("flights.raw", nil)
	w.ready()
	d := definitionOf(id, "flights.raw")
	w.define(d)
	if reason := w.want(id, Idle); reason != "" {
		t.Errorf("idle: %q", reason)
	}
	if len(w.catalog.created) != 0 {
		t.Error("a broker that leads no partition made the table")
	}
	w.lead(id, "flights.raw")
	w.want(id, Live)
	w.catalog.do(func() {
		if w.catalog.created[id] != "flights_raw" || len(w.catalog.starts[id]) != 2 {
			t.Errorf("created %v, starts %v", w.catalog.created, w.catalog.starts)
		}
	})
	if st := w.in.Status(id); len(st) != 2 || len(w.in.Wanted()) != 2 {
		t.Errorf("ingestion has not begun: %+v", st)
	}
	change := func(state string) {
		d.State, d.Pipeline = state, d.Pipeline+1
		w.define(d)
	}
	change(StatePaused)
	if reason := w.want(id, Paused); reason != "by the operator" {
		t.Errorf("paused: %q", reason)
	}
	if !w.tables.Held(id, 0, 0, 1) {
		t.Error("a paused table holds its ranges")
	}
	change(StateLive)
	w.want(id, Live)
	change(StateDropped)
	w.want(id, Dropped)
	w.until("it is out of the catalog", func() bool { var n int; w.catalog.do(func() { n = w.catalog.dropped[id] }); return n > 0 })
	w.catalog.do(func() {
		if !w.catalog.forgot[id] {
			t.Error("the commit side still knows the group")
		}
	})
	if len(w.in.Wanted()) != 0 {
		t.Error("ingestion goes on")
	}
	time.Sleep(5 * w.tables.cfg.Refresh) // several looks
	w.catalog.do(func() {
		if n := w.catalog.dropped[id]; n != 1 {
			t.Errorf("dropped %d times", n)
		}
	})
	change(StateLive)
	w.want(id, Live)
	if st := w.in.Status(id); st[0].Next != 0 {
		t.Errorf("the new table goes on where the dropped one was: %+v", st)
	}
	for _, s := range []string{"STARTING to=IDLE", "IDLE to=LIVE", "LIVE to=PAUSED", "PAUSED to=LIVE", "LIVE to=DROPPED", "DROPPED to=LIVE"} {
		if n := strings.Count(w.log.String(), "from="+s); n != 1 {
			t.Errorf("from=%s is logged %d times:\n%s", s, n, w.log)
		}
	}
}

// A new table begins at the log's start, wherever that is.
func TestATableBeginsAtTheLogStart(t *testing.T) {
	w := newWorld(t)
	id := w.topic("t", nil)
	for range 4 {
		if err := w.client.Produce(t.Context(), "t", []byte("k"), []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	w.define(definitionOf(id, "t"))
	w.ready()
	w.lead(id, "t")
	w.want(id, Live)
	w.catalog.do(func() {
		if s := w.catalog.starts[id]; s[0] != 0 || s[1] != 0 {
			t.Errorf("starts %v", s)
		}
	})
}

func TestTopicsThatCannotBeTables(t *testing.T) {
	w := newWorld(t)
	w.ready()
	for name, c := range map[string]struct {
		config map[string]string
		want   string
	}{
		"compacted": {map[string]string{"cleanup.policy": "compact"}, "cleanup.policy is compact"},
		"both":      {map[string]string{"cleanup.policy": "compact,delete"}, "cleanup.policy is"},
		"untiered":  {map[string]string{}, "remote.storage.enable"},
	} {
		id := w.topic(name, c.config)
		w.define(definitionOf(id, name))
		w.lead(id, name)
		if reason := w.want(id, Refused); !strings.Contains(reason, c.want) {
			t.Errorf("%s: %q", name, reason)
		}
		if _, ok := w.tables.WantsHold(id); ok {
			t.Errorf("%s: wants hold files", name)
		}
	}
	w.catalog.do(func() {
		if len(w.catalog.created) != 0 {
			t.Errorf("created %v", w.catalog.created)
		}
	})
}

func TestTroubleOfTheCatalogIsARetryWithAReason(t *testing.T) {
	w := newWorld(t)
	id := w.topic("t", nil)
	w.catalog.do(func() { w.catalog.fail = status.Errorf(status.Transient, "catalog is away") })
	w.define(definitionOf(id, "t"))
	w.ready()
	w.lead(id, "t")
	w.until("the reason", func() bool {
		s := w.tables.Status()
		return len(s) == 1 && s[0].Reason == "catalog is away" && (s[0].State == Starting || s[0].State == Idle)
	})
	w.catalog.do(func() { w.catalog.fail = nil })
	w.want(id, Live)
}

func TestAPauseOfTheCommitSide(t *testing.T) {
	w := newWorld(t)
	id := w.topic("t", nil)
	w.catalog.do(func() { w.catalog.paused[id] = "ROLLBACK: the head was moved back" })
	w.define(definitionOf(id, "t"))
	w.ready()
	w.lead(id, "t")
	if reason := w.want(id, Paused); !strings.Contains(reason, "ROLLBACK") {
		t.Errorf("reason %q", reason)
	}
	w.catalog.do(func() { delete(w.catalog.paused, id) })
	w.want(id, Live)
	w.catalog.do(func() { w.catalog.paused[id] = "TAMPERED" })
	w.want(id, Paused)
	w.catalog.do(func() { w.catalog.healed[id] = true }) // only a load finds out
	w.want(id, Live)
}

// Two incarnations of a topic, and two topics on one name, never share a table.
func TestADeletedAndRecreatedTopicIsAnotherTable(t *testing.T) {
	w := newWorld(t)
	old := w.topic("t", nil)
	w.define(definitionOf(old, "t"))
	w.ready()
	w.lead(old, "t")
	w.want(old, Live)
	p := partitions(old, "t")[0]
	w.in.Listed(p, ingest.List{Segments: []ingest.Segment{{Partition: p, ID: [16]byte{1}, Base: 100, End: 200}}}, nil)
	if err := w.k.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	w.tables.Leadership(nil, nil, partitions(old, "t"))
	w.want(old, Draining) // something is left, although it cannot be converted: it lies behind a gap

	fresh := w.topic("t", nil)
	if fresh == old {
		t.Fatal("the same id")
	}
	w.lead(fresh, "t")
	w.define(definitionOf(fresh, "t"))
	if reason := w.want(fresh, Refused); !strings.Contains(reason, old.String()) {
		t.Errorf("reason %q: the name belongs to the incarnation before", reason)
	}
	w.want(old, Draining)

	// What was left is in the table at last.
	w.tables.Published(old, w.catalog.commit(old, 0, 200))
	w.want(old, Closed)
	d := definitionOf(old, "t")
	d.State = StateDropped
	w.define(d)
	w.want(old, Dropped)
	w.want(fresh, Live)
	w.catalog.do(func() {
		if w.catalog.created[fresh] != "t" || w.catalog.dropped[old] != 1 {
			t.Errorf("created %v, dropped %v", w.catalog.created, w.catalog.dropped)
		}
	})
	if st := w.in.Status(fresh); len(st) != 2 || st[0].Next != 0 {
		t.Errorf("%+v", st)
	}
}

// A dropped definition whose topic exists is the leaders' work; only of a topic that is gone anybody's.
func TestDropsOfOthers(t *testing.T) {
	w := newWorld(t)
	id := w.topic("t", nil)
	d := definitionOf(id, "t")
	d.State = StateDropped
	w.define(d)
	w.ready()
	w.want(id, Dropped)
	time.Sleep(5 * w.tables.cfg.Refresh)
	w.catalog.do(func() {
		if w.catalog.dropped[id] != 0 {
			t.Error("dropped by a broker that leads nothing of it")
		}
	})
	if err := w.k.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	w.until("dropped", func() bool { var n int; w.catalog.do(func() { n = w.catalog.dropped[id] }); return n == 1 })
}

func TestANewGenerationIsConvertedByANewConverter(t *testing.T) {
	w, id := newLiveTable(t)
	var l catalog.Ledger
	w.catalog.do(func() {
		l = w.catalog.ledgers[id]
		l.Generation, l.Seq = 2, l.Seq+1
		w.catalog.ledgers[id] = l
		w.catalog.starts[id] = nil
	})
	w.tables.Published(id, l)
	w.until("ingestion begins anew", func() bool {
		var again bool
		w.catalog.do(func() { again = w.catalog.starts[id] != nil })
		return again
	})
	if g, _ := w.tables.WantsHold(id); g != 2 {
		t.Errorf("generation %d", g)
	}
}

func TestADefinitionThatDoesNotFitTheTableStopsIt(t *testing.T) {
	w, id := newLiveTable(t)
	w.catalog.do(func() { w.catalog.fail = status.Errorf(status.Invalid, "column x is long in the table") })
	d := definitionOf(id, "t")
	d.Pipeline = 2
	w.define(d)
	if reason := w.want(id, Refused); !strings.Contains(reason, "column x") {
		t.Errorf("reason %q", reason)
	}
	if len(w.in.Wanted()) != 0 {
		t.Error("ingestion goes on under the definition before")
	}
}

func TestClosingInTheMiddleOfALook(t *testing.T) {
	w := newWorld(t)
	id := w.topic("t", nil)
	w.define(definitionOf(id, "t"))
	w.ready()
	w.lead(id, "t")
	if !w.tables.Close(time.Minute) {
		t.Error("something goes on")
	}
}

// A broker that leads nothing of a topic converts what only it keeps, and is idle again afterwards.
func TestWhatOnlyThisBrokerKeepsBringsItsTableToLife(t *testing.T) {
	w := newWorld(t)
	id := w.topic("t", nil)
	w.lead(id, "t")
	w.define(definitionOf(id, "t"))
	w.ready()
	w.want(id, Live)
	w.tables.Leadership(nil, partitions(id, "t"), nil)
	w.want(id, Idle)
	w.held.mu.Lock()
	w.held.kept = []ingest.Kept{{TopicID: id, Partition: 1, ID: [16]byte{1}, Base: 5, End: 9, Unlistable: true}}
	w.held.mu.Unlock()
	w.want(id, Live)
	if st := w.in.Status(id); len(st) != 1 || st[0].Partition.Partition != 1 {
		t.Errorf("%+v", st)
	}
	w.catalog.commit(id, 1, 9) // the leader had it after all
	w.want(id, Idle)
}

// A table whose catalog calls hang, on as many topics as are looked at at once less one, keeps no other.
func TestStuckTablesDoNotKeepTheOthers(t *testing.T) {
	w := newWorld(t)
	w.ready()
	var stuck []catalog.TopicID
	for i := range maxLooks - 1 {
		name := "stuck" + string(rune('a'+i))
		id := w.topic(name, nil)
		stuck = append(stuck, id)
		w.catalog.do(func() { w.catalog.stuck[id] = true })
		w.define(definitionOf(id, name))
		w.lead(id, name)
	}
	w.until("all hang", func() bool { w.tables.mu.Lock(); defer w.tables.mu.Unlock(); return w.tables.looks == len(stuck) })
	for _, name := range []string{"x", "y"} {
		id := w.topic(name, nil)
		w.define(definitionOf(id, name))
		w.lead(id, name)
		w.want(id, Live)
	}
	if !w.tables.Close(time.Minute) {
		t.Error("something goes on")
	}
}
