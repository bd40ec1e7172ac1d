package remotestorage

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

// events are the log of a manager as text.
type events struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (e *events) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.buf.Write(p)
}

func (e *events) logger() *slog.Logger { return slog.New(slog.NewTextHandler(e, nil)) }

// lines are those of one event.
func (e *events) lines(event string) (found []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for line := range strings.Lines(e.buf.String()) {
		if strings.Contains(line, "msg="+event+" ") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func TestACopyLeavesOneLine(t *testing.T) {
	log := &events{}
	m, c := start(t, config(t), fileStore(t), Deps{Log: log.logger()}), segment(t, 1000)
	copied(t, m, &c)
	lines := log.lines("copy.completed")
	want := regexp.MustCompile(`level=INFO .*topic=flights partition=3 base=1000 end=\d+ object=\S+ bytes=\d+ seconds=\S+s mb_per_second=\d+ ` +
		`open=\S+s wait=0s check=\S+s data=\S+s sidecar=\S+s handover=\S+s parts=2 requests=2 limited=0s`)
	if len(lines) != 1 || !want.MatchString(lines[0]) {
		t.Errorf("events: %q", lines)
	}
	for _, stage := range stageNames[:cleaning] {
		if n := labelled(t, m, "copy_stage_seconds_count", "stage="+stage); n != 1 {
			t.Errorf("stage %s was observed %v times", stage, n)
		}
	}
	if n := metric(t, m, "copy_requests_total"); n != 2 {
		t.Errorf("%v requests counted", n)
	}
}

// labelled is the value of one series.
func labelled(t *testing.T, m *Manager, name, labels string) float64 {
	t.Helper()
	samples, err := m.deps.Metrics.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		if s.Name == "tidemark_"+name && s.Labels == labels {
			return s.Value
		}
	}
	t.Fatalf("no series %s{%s}", name, labels)
	return 0
}

// The error of a copy names the stage that failed, not the clean-up after it.
func TestTheErrorNamesTheStage(t *testing.T) {
	for stage, x := range map[string]struct {
		fault  storetest.Fault
		damage func(*closed)
	}{
		"open":    {storetest.Fault{Nth: 1000}, func(c *closed) { c.paths.ProducerSnapshot = "/nowhere" }},
		"check":   {storetest.Fault{Nth: 1000}, func(c *closed) { c.EndOffset-- }},
		"data":    {storetest.Fault{Op: storetest.Put, Key: ".log"}, func(*closed) {}},
		"sidecar": {storetest.Fault{Op: storetest.Put, Key: ".sidecar"}, func(*closed) {}},
	} {
		m, c := start(t, config(t), storetest.Faulty(storetest.NewMemory(), x.fault), Deps{}), segment(t, 1000)
		x.damage(&c)
		_, err := m.Copy(deadline(t), c.Segment, c.paths)
		if want := fmt.Sprintf("failed in stage %s after ", stage); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
		if n, _ := m.metrics.flights(); n != 0 {
			t.Errorf("stage %s: %d copies in flight", stage, n)
		}
	}
}

func TestASlowCopySaysWhereItIs(t *testing.T) {
	log := &events{}
	cfg, c := config(t), segment(t, 1000)
	cfg.CopyDeadline, cfg.CopyMinRate = time.Second, 1<<40
	m := start(t, cfg, storetest.Faulty(storetest.NewMemory(), storetest.Fault{Op: storetest.Put, Key: ".sidecar", Effect: storetest.Stall}), Deps{Log: log.logger()})
	_, err := m.Copy(deadline(t), c.Segment, c.paths)
	if !status.Is(err, status.Transient) || !strings.Contains(err.Error(), "stage sidecar") {
		t.Errorf("copy: %v", err)
	}
	lines := log.lines("copy.slow")
	if len(lines) == 0 || !strings.Contains(lines[0], " stage=sidecar ") || !strings.Contains(lines[0], "level=WARN") {
		t.Errorf("events: %q", lines)
	}
	if n := metric(t, m, "copy_slow_total"); n != float64(len(lines)) {
		t.Errorf("%v counted, %d events", n, len(lines))
	}
}
