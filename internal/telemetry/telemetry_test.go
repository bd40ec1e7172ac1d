package telemetry

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestSnapshotHoldsEverySeriesFromTheStart(t *testing.T) {
	s := NewSet()
	c := s.Counters("copy_errors_total", "failed copies", "class", "Corrupt", "Transient")
	s.Gauge("copy_in_flight", "copies running")
	h := s.Histogram("copy_seconds", "copy latency", Seconds)
	c["Corrupt"].Add(2)
	h.Observe(0.5)
	got, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	want := "[{tidemark_copy_errors_total class=Corrupt failed copies 2} {tidemark_copy_errors_total class=Transient failed copies 0} " +
		"{tidemark_copy_in_flight  copies running 0} {tidemark_copy_seconds_count  copy latency 1} {tidemark_copy_seconds_sum  copy latency 0.5}]"
	if fmt.Sprint(got) != want {
		t.Errorf("snapshot\n got %v\nwant %v", got, want)
	}
	var text strings.Builder
	if err := s.WriteText(&text); err != nil || !strings.Contains(text.String(), `tidemark_copy_errors_total{class="Corrupt"} 2`) {
		t.Errorf("text = %q, %v", text.String(), err)
	}
}

func TestSecretNeverPrints(t *testing.T) {
	s := Secret("hunter2")
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", s)
	j, _ := json.Marshal(map[string]any{"k": s})
	all := fmt.Sprintf("%v %s %+v %#v %s %s", s, s, struct{ S Secret }{s}, s, log.String(), j)
	if strings.Contains(all, "hunter2") {
		t.Errorf("shown: %s", all)
	}
	if s.Reveal() != "hunter2" || Secret("").String() != "" {
		t.Error("Reveal or empty secret is wrong")
	}
}
