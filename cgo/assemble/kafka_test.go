package assemble

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"tidemark/internal/telemetry"
)

func TestKafkaVersions(t *testing.T) {
	for text, want := range map[string]struct {
		tested float64
		says   string // "" is nothing
	}{
		"4.0.2": {1, "KAFKA-20732"}, "4.3.1": {1, "KAFKA-20732"}, "4.3.2": {1, ""}, "4.4.0": {1, ""}, "4.4.0-SNAPSHOT": {1, ""}, "4.1.0-ccs": {1, "KAFKA-20732"},
		"4.5.0": {0, "kafka.untested"}, "3.9.1": {0, "kafka.untested"}, "5.0.0": {0, "kafka.untested"},
		"": {0, "kafka.untested"}, "4": {0, "kafka.untested"}, "4.x.1": {0, "kafka.untested"}, "4.-1.0": {0, "kafka.untested"},
	} {
		var out bytes.Buffer
		set := telemetry.NewSet()
		checkKafka(text, set, slog.New(slog.NewTextHandler(&out, nil)))
		samples, err := set.Snapshot()
		if err != nil || len(samples) != 1 || samples[0].Value != want.tested {
			t.Errorf("%q: %v, %v; wanted is %v", text, samples, err, want.tested)
		}
		if got := strings.Count(out.String(), "level=WARN"); got != min(1, len(want.says)) || !strings.Contains(out.String(), want.says) {
			t.Errorf("%q says %q, wanted is %q", text, out.String(), want.says)
		}
	}
}
