package main

import (
	"maps"
	"net"
	"strings"
	"testing"

	"tidemark/cgo/assemble/assembletest"
	"tidemark/tables"
)

// What a broker with an HTTP listener says of its tables is shown; one that does not answer is a note.
func TestTheStateOnTheBrokerIsShown(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.Properties = maps.Clone(w.Properties)
	w.Properties["http.listener"] = l.Addr().String()
	l.Close()
	w.properties(w.Properties)
	w.Define(nil)
	w.Open()
	w.Until("the table is live", func() bool { return strings.Contains(w.Log.String(), "to=LIVE") })
	var list []listed
	w.object(&list, "table", "list", "--config", w.config)
	if len(list) != 1 || list[0].Broker == nil || list[0].Broker.State != tables.Live || len(list[0].Broker.Partitions) != 1 {
		t.Errorf("%+v", list)
	}
	if out := w.ok("table", "list", "--config", w.config); !strings.Contains(out, "ON THE BROKER") || !strings.Contains(out, tables.Live) {
		t.Errorf("list: %s", out)
	}
	w.Roll("a")
	w.Covered(1)
	if out := w.ok("table", "show", assembletest.Topic, "--config", w.config); !strings.Contains(out, "broker       LIVE") {
		t.Errorf("show: %s", out)
	}
	w.Close()
	_, out, errs := w.at("table", "list", "--config", w.config)
	if !strings.Contains(errs, "the state on the broker is not known") || strings.Contains(out, "ON THE BROKER") {
		t.Errorf("list: %s%s", out, errs)
	}
	if out := w.ok("table", "list"); strings.Contains(out, "ON THE BROKER") {
		t.Errorf("list: %s", out)
	}
}
