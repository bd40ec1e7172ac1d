package dispatch

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

func TestMetrics(t *testing.T) {
	series := []telemetry.Sample{{Name: "tidemark_z_total", Labels: "a=b", Help: "what\tz is", Value: 1.5}, {Name: "tidemark_a", Value: 2}}
	p, h := open(t, 3, &fake{samples: func() []telemetry.Sample { return series }})
	schema, err := p.MetricsSchema(h)
	if err != nil {
		t.Fatal(err)
	}
	values, err := p.Metrics(h)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(schema), "\n"), "\n")
	if len(values) != 4+8*len(lines) || len(lines) != 2+len(ProcessSeries) {
		t.Fatalf("%d bytes of values for %d lines", len(values), len(lines))
	}
	if binary.LittleEndian.Uint32(values) != crc32.Checksum(schema, castagnoli) {
		t.Error("the values do not name their schema")
	}
	got := map[string]float64{}
	for i, l := range lines {
		got[l] = math.Float64frombits(binary.LittleEndian.Uint64(values[4+8*i:]))
	}
	for line, want := range map[string]float64{"tidemark_z_total\ta=b\twhat\ufffdz is": 1.5, "tidemark_a\t\t": 2, "tidemark_process_slabs\t\tread buffers shared with the JVM": 3} {
		if got[line] != want {
			t.Errorf("%q = %v, want %v", line, got[line], want)
		}
	}
	for line, value := range got {
		for _, name := range []string{"goroutines", "threads", "heap_bytes"} {
			if strings.HasPrefix(line, "tidemark_process_"+name+"\t") && value < 1 {
				t.Errorf("%s = %v", line, value)
			}
		}
	}
	series = series[:1]
	again, _ := p.Metrics(h)
	if binary.LittleEndian.Uint32(again) == binary.LittleEndian.Uint32(values) {
		t.Error("a changed schema has the same hash")
	}
	_, err = p.Metrics(0)
	wantClass(t, "no instance", err, status.Invalid)
}
