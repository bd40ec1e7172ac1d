package dispatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/telemetry"
)

func parseLog(t *testing.T, b []byte) (out []logRecord) {
	t.Helper()
	for len(b) > 0 {
		n := int(binary.LittleEndian.Uint32(b))
		l := int(binary.LittleEndian.Uint16(b[5:]))
		out = append(out, logRecord{b[4], string(b[7 : 7+l]), string(b[7+l : 4+n])})
		b = b[4+n:]
	}
	return out
}

func TestLogText(t *testing.T) {
	r := newLogRing()
	r.setLevel(0)
	l := slog.New(r.handler())
	l.Debug("a.b", "n", 1, "d", 2*time.Second, "s", "two words", "e", errors.New("x\ny"), "k", telemetry.Secret("pw"), "empty", "")
	l.With("logger", "io.tidemark.copy", "topic", "t").WithGroup("g").Warn("c.d", "p", 3, slog.Group("h", "q", true))
	l.Error("boom\r\n", "stack", "line 1\nline 2\x00")
	l.Info("fake", "v", `1 level=ERROR`)
	want := []logRecord{
		{0, "io.tidemark", `a.b n=1 d=2s s="two words" e="x\ny" k=[redacted] empty=""`},
		{2, "io.tidemark.copy", "c.d topic=t g.p=3 g.h.q=true"},
		{3, "io.tidemark", "boom\uFFFD\uFFFD\nline 1\nline 2\uFFFD"},
		{1, "io.tidemark", `fake v="1 level=ERROR"`},
	}
	got := parseLog(t, r.poll(1<<20, 0))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestLogLevelAndDefaults(t *testing.T) {
	p := start(t, 1, nil)
	p.LogLevel(2)
	p.Log().Info("no")
	p.LogLevel(1)
	p.Log().Info("yes")
	log.Print("std")
	slog.Info("default")
	var got []string
	for _, r := range parseLog(t, p.LogPoll(1<<20, 0)) {
		got = append(got, r.logger+":"+r.message)
	}
	want := "[io.tidemark:yes io.tidemark.library:std io.tidemark.library:default]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestLogRingDropsAndSaysSo(t *testing.T) {
	r := newLogRing()
	l := slog.New(r.handler())
	for i := range ringRecords + 5 {
		l.Info("x", "i", i)
	}
	var all []logRecord
	for b := r.poll(10000, 0); b != nil; b = r.poll(10000, 0) {
		if len(b) > 10000 {
			t.Fatalf("poll gave %d bytes", len(b))
		}
		all = append(all, parseLog(t, b)...)
	}
	if len(all) != ringRecords+1 || all[0].message != "log.dropped count=5" || all[1].message != "x i=0" ||
		all[ringRecords].message != fmt.Sprintf("x i=%d", ringRecords-1) {
		t.Errorf("%d records, first %q", len(all), all[0].message)
	}
	big := strings.Repeat("y", 2*maxMessage)
	for range ringBytes/maxMessage + 10 {
		l.Info(big)
	}
	if r.bytes > ringBytes || r.dropped.Load() < 10 {
		t.Errorf("%d bytes wait, %d dropped", r.bytes, r.dropped.Load())
	}
}

func TestLogPollCutsWhatNeverFits(t *testing.T) {
	r := newLogRing()
	slog.New(r.handler()).Info(strings.Repeat("z", 1000))
	got := parseLog(t, r.poll(100, 0))
	if len(got) != 1 || len(got[0].message) != 100-logHeader-len(rootLogger) {
		t.Errorf("got %v", got)
	}
	slog.New(r.handler()).Info("q")
	if b := r.poll(5, 0); b != nil {
		t.Errorf("poll of 5 bytes gave %x", b)
	}
}

func TestLogPollWaits(t *testing.T) {
	r := newLogRing()
	if b := r.poll(100, time.Millisecond); b != nil {
		t.Errorf("got %q", b)
	}
	got := make(chan []byte)
	go func() { got <- r.poll(100, maxPollWait) }()
	slog.New(r.handler()).Info("wake")
	if recs := parseLog(t, <-got); len(recs) != 1 || recs[0].message != "wake" {
		t.Errorf("got %v", recs)
	}
}

func TestLogRingConcurrently(t *testing.T) {
	r := newLogRing()
	l := slog.New(r.handler())
	var writers sync.WaitGroup
	for range 4 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for range 2000 {
				l.Info("x")
			}
		}()
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	n, running := 0, true
	for running {
		select {
		case <-done:
			running = false
		default:
		}
		for b := r.poll(4096, time.Millisecond); b != nil; b = r.poll(4096, 0) {
			for _, rec := range parseLog(t, b) {
				if rec.message == "x" {
					n++
				}
			}
		}
	}
	if n+int(r.dropped.Load()) != 8000 {
		t.Errorf("%d read, %d dropped", n, r.dropped.Load())
	}
}
