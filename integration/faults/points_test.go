package faults

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/integration/cluster"
	"tidemark/integration/faultproxy"
	"tidemark/integration/faults/table"
	"tidemark/integration/objectserver"
	"tidemark/integration/rig"
	"tidemark/internal/objectstore/s3"
)

// points are the tests of crash points by row. They use one broker, one after the other.
var points = map[string]func(p *point){
	"C1": beforeStarted, "C2": afterStarted, "C3": insideUpload, "C4": logObjectOnly, "C5": insideSidecar, "C6": notReturned, "C7": notFinished,
	"C8": notDeleted, "C9": whileDeleting, "E1": tombstoned, "E2": deleted, "E3": halfRemoved, "E4": journalLost, "F1": cacheTorn, "F2": shutDown,
}

// Sizes: a first segment of two parts that is closed, and an open one.
const (
	pointSegment = 7 << 20
	pointBytes   = 8 << 20
)

// killed is the broker that all rows use: made by the first one.
type killed struct {
	rig    *rig.Rig
	proxy  *faultproxy.Proxy
	server *objectserver.Server
	direct *s3.Store

	refusing bool // the metadata topic takes no writes
}

// point is one row: a topic of its own on the broker.
type point struct {
	*rig.Rig
	*killed
	row   string
	topic string
	id    string // of the topic, as in keys
	raw   [16]byte
	saved []byte // the bytes of the log
	note  string // the first failure, for the table
}

// TestPoints kills a stock broker with SIGKILL at each point of a copy, a removal and a read, starts it again and looks at what is left.
func TestPoints(t *testing.T) {
	var k *killed
	parent := t // owns what outlives a row
	for _, row := range table.Rows {
		if row.Store() {
			continue
		}
		t.Run(row.ID, func(t *testing.T) {
			run, ok := points[row.ID]
			if !ok {
				t.Fatalf("row %s has no test", row.ID)
			}
			p := &point{row: row.ID, topic: strings.ToLower(row.ID)}
			t.Cleanup(func() { p.report(t) })
			if k == nil {
				k = prepare(parent)
			}
			r := *k.rig // its failures are this row's
			r.T = t
			p.Rig, p.killed = &r, k
			run(p)
		})
	}
}

// prepare lays the broker out; it is started by the rows.
func prepare(t *testing.T) *killed {
	t.Helper()
	server, err := objectserver.StartVersity(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	proxy, err := faultproxy.Start(faultproxy.Options{Target: server.Endpoint})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	direct, err := s3.Open(context.Background(), server.Config(""), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(direct.Close)
	properties := rig.S3Properties(server, proxy.Endpoint)
	maps.Copy(properties, map[string]string{
		"rsm.config.store.s3.single.put.below.bytes": "5242880", "rsm.config.store.s3.part.bytes": "5242880", "rsm.config.store.s3.part.concurrency": "2",
		"rsm.config.delete.interval.ms": "50", "rsm.config.fetch.disk.cache.dir": filepath.Join(t.TempDir(), "cache"),
		"rsm.config.fetch.disk.cache.bytes": "536870912", "broker.session.timeout.ms": "4000", "broker.heartbeat.interval.ms": "500",
		"rsm.config.tables.linger.ms": "200", "remote.log.manager.task.interval.ms": lazy,
	})
	k := &killed{proxy: proxy, server: server, direct: direct}
	k.rig = rig.PrepareFor(t, cluster.Options{Version: "4.4.0", Tables: true, Properties: properties,
		JVMArgs: []string{"-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"}}, 40*time.Minute)
	k.rig.S3 = server
	return k
}

func (p *point) report(t *testing.T) {
	o := table.Outcome{Row: p.row, Outcome: table.Pass, Because: p.note}
	switch {
	case t.Skipped(): // the row said that it cannot run here, and why
		o.Outcome = table.Cannot
	case t.Failed():
		o.Outcome = table.Fail
		if o.Because == "" {
			o.Because = "see the output of the test"
		}
	default:
		o.Because = ""
	}
	record(o)
}

// Errorf notes the first failure for the table.
func (p *point) Errorf(format string, args ...any) {
	p.Helper()
	if p.note == "" {
		p.note = fmt.Sprintf(format, args...)
	}
	p.T.Errorf(format, args...)
}

// Fatalf is Errorf that ends the row.
func (p *point) Fatalf(format string, args ...any) {
	p.Helper()
	p.Errorf(format, args...)
	p.FailNow()
}

// Fatal is Fatalf.
func (p *point) Fatal(args ...any) {
	p.Helper()
	p.Fatalf("%s", fmt.Sprint(args...))
}

// cannot ends a row that cannot run here.
func (p *point) cannot(format string, args ...any) {
	p.Helper()
	p.note = fmt.Sprintf(format, args...)
	p.Skip(p.note)
}
