package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/cgo/assemble/assembletest"
	"tidemark/tables"
)

func TestTheLifeOfADefinition(t *testing.T) {
	w := newWorld(t)
	w.definitions()
	if out := w.ok("table", "list"); !strings.Contains(out, "no tables") {
		t.Errorf("list: %s", out)
	}
	w.ok("table", "create", "--topic", assembletest.Topic, "--name", "trips", "--namespace", "lake", "--partition-by", "none")
	var list []tables.Definition
	w.object(&list, "table", "list")
	if len(list) != 1 || list[0].Table != "trips" || list[0].Namespace != "lake" || list[0].State != tables.StateLive || list[0].TopicID != w.ID.String() {
		t.Fatalf("%+v", list)
	}
	if out := w.ok("table", "list"); !strings.Contains(out, "lake.trips") || !strings.Contains(out, w.ID.String()) {
		t.Errorf("list: %s", out)
	}
	var s shown
	w.object(&s, "table", "show", assembletest.Topic)
	if s.Table != "trips" || len(s.Partitions) != 0 {
		t.Errorf("%+v", s)
	}
	w.object(&s, "table", "show", w.ID.String(), "--config", w.config)
	if s.Event != "NOT CREATED" {
		t.Errorf("no broker ran: %+v", s)
	}
	if _, err := os.Stat(w.StoreDir); err == nil {
		t.Error("the command made the store")
	}
	var d tables.Definition
	for n, step := range []struct{ verb, state string }{{"pause", tables.StatePaused}, {"pause", tables.StatePaused}, {"resume", tables.StateLive}, {"drop", tables.StateDropped}} {
		w.object(&d, "table", step.verb, assembletest.Topic)
		if d.State != step.state || d.Pipeline != []uint64{2, 2, 3, 4}[n] {
			t.Errorf("%s: %+v", step.verb, d)
		}
	}
	w.fails(exitFailed, []string{"NotFound", "is not a table"}, "table", "drop", assembletest.Topic)
	w.fails(exitFailed, []string{"is not a table"}, "table", "show", "other")
	if out := w.ok("table", "list"); !strings.Contains(out, "no tables") {
		t.Errorf("list: %s", out)
	}
	w.ok("table", "create", "--topic", assembletest.Topic)
	w.object(&d, "table", "pause", assembletest.Topic)
	if d.Pipeline != 6 || d.Table != assembletest.Topic {
		t.Errorf("defined again after a drop: %+v", d)
	}
}

func TestCreateRefuses(t *testing.T) {
	w := newWorld(t)
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "schema.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	create := func(args ...string) []string { return append([]string{"table", "create", "--topic"}, args...) }
	w.fails(exitFailed, []string{"__tidemark_tables does not exist", w.Bootstrap(), "the broker's log says why"}, create(assembletest.Topic)...)
	w.definitions()
	tiered := map[string]string{"remote.storage.enable": "true"}
	w.Topic("compacted", map[string]string{"remote.storage.enable": "true", "cleanup.policy": "compact"})
	w.Topic("local", nil)
	w.Topic("a.b", tiered)
	w.Topic("a-b", tiered)
	w.Topic("x__quarantine", tiered)
	w.fails(exitFailed, []string{"NotFound", "topic nowhere does not exist"}, create("nowhere")...)
	w.fails(exitFailed, []string{"Unsupported", "compacted", "cleanup.policy"}, create("compacted")...)
	w.fails(exitFailed, []string{"Unsupported", "local", "remote.storage.enable"}, create("local")...)
	w.fails(exitFailed, []string{"Invalid", "--schema"}, create("a.b", "--format", "json")...)
	w.fails(exitFailed, []string{"Invalid", "takes no schema"}, create("a.b", "--schema", file("{}"))...)
	w.fails(exitFailed, []string{`format "avro"`}, create("a.b", "--format", "avro")...)
	w.fails(exitUsage, []string{"neither day nor none"}, create("a.b", "--partition-by", "hour")...)
	w.fails(exitFailed, []string{"schema", "no such file"}, create("a.b", "--format", "json", "--schema", "/does/not/exist")...)
	w.fails(exitFailed, []string{"line 3 column 3"}, create("a.b", "--format", "json", "--schema", file("{\n  \"type\": \"object\"\n  \"properties\": {}\n}"))...)
	w.fails(exitFailed, []string{"/properties/a"}, create("a.b", "--format", "json", "--schema", file(`{"type":"object","properties":{"a":{"type":"nonsense"}}}`))...)
	w.fails(exitFailed, []string{"reserved", "--name"}, create("x__quarantine")...)
	w.fails(exitFailed, []string{"reserved", "--name"}, create("a.b", "--name", "y__Quarantine")...)
	w.fails(exitFailed, []string{`table "1x"`}, create("a.b", "--name", "1x")...)
	w.ok(create("a.b")...)
	w.fails(exitFailed, []string{"Conflict", "topic a.b is the table kafka.a_b already"}, create("a.b", "--name", "other")...)
	w.fails(exitFailed, []string{"Conflict", "kafka.a_b belongs to topic a.b", "--name"}, create("a-b")...)
	w.fails(exitFailed, []string{"kafka.A_B belongs to topic a.b"}, create("a-b", "--name", "A_B")...)
	w.ok(create("a-b", "--namespace", "other")...)
}

func TestABrokerThatIsNotThere(t *testing.T) {
	code, _, errs := tidemark(t, "table", "list", "--bootstrap-server", "127.0.0.1:1", "--timeout", "3s")
	if code != exitFailed || !strings.Contains(errs, "127.0.0.1:1") {
		t.Errorf("%d\n%s", code, errs)
	}
}

func TestADefinitionThatCannotBeReadIsNamed(t *testing.T) {
	w := newWorld(t)
	w.Define(nil)
	if err := w.Client.Produce(t.Context(), tables.DefinitionsTopic, []byte("AAAAAAAAAAAAAAAAAAAAAQ"), []byte(`{"version":99}`)); err != nil {
		t.Fatal(err)
	}
	code, out, errs := w.at("table", "list")
	if code != exitOK || !strings.Contains(out, assembletest.Topic) || !strings.Contains(errs, "offset 1 of __tidemark_tables") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
}
