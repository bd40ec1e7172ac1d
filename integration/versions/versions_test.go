package versions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/integration/cluster"
)

// all are the versions of Kafka that are supported, one patch release of each.
var all = []string{"4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"}

// ends are the oldest and the newest: what lies between them in code differs between these two most.
var ends = []string{"4.0.2", "4.4.0"}

// quick makes a JVM that lives for a minute start faster.
var quick = []string{"-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"}

// line is one row of the table at the end.
type line struct {
	kafka, scenario, result string
	took                    time.Duration
	saw                     string
}

var table []line

// each runs a scenario on some versions and notes how it went. The scenario returns what it saw.
func each(t *testing.T, scenario string, versions []string, run func(t *testing.T, version string) string) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) { note(t, version, scenario, func() string { return run(t, version) }) })
	}
}

// note runs one scenario and adds its line to the table, also when it fails.
func note(t *testing.T, version, scenario string, run func() string) {
	l := line{kafka: version, scenario: scenario}
	from := time.Now()
	defer func() {
		l.took, l.result = time.Since(from), "passed"
		if t.Failed() || l.saw == "" {
			l.result = "FAILED"
		}
		table = append(table, l)
	}()
	l.saw = run()
	t.Logf("SCENARIO %s: %s (%.0f s)", t.Name(), l.saw, time.Since(from).Seconds())
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		code = 1
	}
	os.Exit(code)
}

// write leaves the table for make versions to print at its end.
func write() error {
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s %-44s %-7s %8s  %s\n", "Kafka", "scenario", "result", "seconds", "seen")
	for _, l := range table {
		fmt.Fprintf(&b, "%-16s %-44s %-7s %8.0f  %s\n", l.kafka, l.scenario, l.result, l.took.Seconds(), l.saw)
	}
	name := filepath.Join(root, "build", "versions.txt")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(b.String()), 0o644)
}
