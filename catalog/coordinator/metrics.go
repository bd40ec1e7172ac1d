package coordinator

import (
	"time"

	"tidemark/catalog"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

type metrics struct {
	attempts map[string]telemetry.Counter // by class
	steps    map[string]telemetry.Counter // by action
	dropped  map[string]telemetry.Counter // by reason
	files    telemetry.Counter
	seconds  telemetry.Histogram
}

func newMetrics(set *telemetry.Set, paused func() float64) metrics {
	var classes []string
	for _, c := range append([]status.Class{status.OK}, status.Classes()...) {
		classes = append(classes, c.String())
	}
	set.GaugeFunc("commit_groups_paused", "Groups to which nothing is committed until an operator decides.", paused)
	return metrics{
		attempts: set.Counters("commit_attempts_total", "Commits sent, by the class of the answer; OK is applied, Conflict lost a race, Unknown was looked up.", "class", classes...),
		steps: set.Counters("commit_steps_total", "What followed an attempt.", "action",
			catalog.Publish.String(), catalog.Resend.String(), catalog.Rebuild.String(), catalog.Pause.String()),
		dropped: set.Counters("commit_offers_dropped_total", "Offers that can never be committed, by reason.", "reason",
			string(catalog.DropCovered), string(catalog.DropStraddles), string(catalog.DropGeneration), string(catalog.DropOffChain), string(catalog.DropMalformed)),
		files:   set.Counter("commit_files_total", "Data files that entered a table."),
		seconds: set.Histogram("commit_seconds", "Time from loading a group to its commit being known to be applied.", telemetry.Seconds),
	}
}

func (m metrics) attempt(err error) { m.attempts[status.Of(err).String()].Inc() }

func (m metrics) applied(files int, took time.Duration) {
	m.files.Add(int64(files))
	m.seconds.Observe(took.Seconds())
}
