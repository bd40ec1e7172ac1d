package tables

import (
	"strings"
	"testing"
	"time"

	"tidemark/catalog"
)

// Why tables do not start is said once, and again when the reason changes.
func TestWhyTablesDoNotStartIsSaidOnce(t *testing.T) {
	w := newWorld(t)
	count := func(text string) int { return strings.Count(w.log.String(), text) }
	steps := []struct {
		facts Facts
		want  string
	}{
		{Facts{ClusterID: "c"}, "remote.log.metadata.manager.listener.name is not set"},
		{Facts{ClusterID: "c", Bootstrap: "127.0.0.1:1", SecurityProtocol: "SASL_SSL"}, "is SASL_SSL"},
	}
	for _, s := range steps {
		for range 3 {
			w.tables.Facts(s.facts)
		}
		w.until(s.want, func() bool { return count(s.want) > 0 })
		w.tables.Facts(s.facts)
	}
	w.tables.Facts(Facts{ClusterID: "c", Bootstrap: w.k.ListenAddrs()[0], SecurityProtocol: "PLAINTEXT"})
	w.ready()
	w.until("tables are ready", func() bool { return count("tables.ready") > 0 })
	for _, s := range steps {
		if n := count(s.want); n != 1 {
			t.Errorf("%q is said %d times:\n%s", s.want, n, w.log)
		}
	}
	if n := count("tables.ready"); n != 1 {
		t.Errorf("tables.ready is said %d times", n)
	}
}

func TestTheAbsenceOfTheMetadataManagerIsSaid(t *testing.T) {
	w := newWorld(t)
	if w.tables.connect(t.Context(), unreadyAfter/2) || strings.Contains(w.log.String(), "tables.waiting") {
		t.Errorf("said too early:\n%s", w.log)
	}
	for range 2 {
		w.tables.connect(t.Context(), unreadyAfter+time.Second)
	}
	if n := strings.Count(w.log.String(), "TidemarkRemoteLogMetadataManager"); n != 1 {
		t.Errorf("said %d times:\n%s", n, w.log)
	}
}

// A start without trouble says once that tables are ready.
func TestAQuietStart(t *testing.T) {
	w := newWorld(t)
	w.ready()
	w.until("tables are ready", func() bool { return strings.Contains(w.log.String(), "tables.ready") })
	if strings.Contains(w.log.String(), "level=WARN") {
		t.Errorf("%s", w.log)
	}
}

func TestTooFewBrokersForTheDefinitions(t *testing.T) {
	w := newWorld(t)
	w.tables.cfg.ReplicationFactor = 3 // before anything reads it
	w.tables.Facts(Facts{ClusterID: "c", Bootstrap: w.k.ListenAddrs()[0]})
	w.until("the reason", func() bool { return strings.Contains(w.log.String(), "rsm.config.tables.topic.replication.factor") })
}

func TestRecordsThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	known, unknown, mixed := w.topic("known", nil), w.topic("unknown", nil), w.topic("mixed", nil)
	newer := func(id catalog.TopicID) []byte {
		return []byte(strings.Replace(string(definitionOf(id, "x").Encode()), `"version":1`, `"version":2`, 1))
	}
	w.define(definitionOf(known, "known"))
	w.record(known.String(), newer(known))
	w.record(unknown.String(), newer(unknown))
	w.record(mixed.String(), definitionOf(known, "known").Encode())
	w.record("no topic id", []byte("{}"))
	w.record(known.String(), nil) // a tombstone is not a drop
	w.lead(known, "known")
	w.ready()
	w.want(known, Live) // the definition before it stays in force
	for _, id := range []catalog.TopicID{unknown, mixed} {
		if reason := w.want(id, Refused); reason == "" {
			t.Errorf("topic %s is refused without a reason", id)
		}
		if !w.tables.Held(id, 0, 0, 1) {
			t.Error("free although somebody wants a table of it")
		}
	}
	if n := strings.Count(w.log.String(), "table.definition.refused"); n != 4 {
		t.Errorf("%d refusals logged:\n%s", n, w.log)
	}
	w.define(definitionOf(unknown, "unknown"))
	w.want(unknown, Idle)
}
