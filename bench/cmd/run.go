package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/bench/measure"
	"tidemark/bench/report"
)

// run is a suite under way.
type run struct {
	options
	sets    sets
	results *report.Results
	dir     string
	started time.Time
	notes   []notes // of each life
	floor   struct{ write, read measure.Cost }
}

// rows are the results without what only the other kind of run has.
func (r *run) rows() (rows []report.Row) {
	for _, row := range r.results.Rows() {
		if !row.OursOnly || r.jar != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

func (r *run) ours() string {
	if r.jar == "" {
		return "vanilla again"
	}
	return "Tidemark"
}

func (r *run) label() string {
	if r.rounds < fullRounds {
		return "short"
	}
	return "full"
}

// interleave runs both sides in turn until all rounds are done or no row can get a number any more.
func (r *run) interleave(ctx context.Context) {
	for round := 1; round <= r.rounds; round++ {
		for _, side := range []report.Side{report.Peer, report.Ours} {
			if ctx.Err() != nil || r.hopeless() {
				return
			}
			tiered := side == report.Ours && r.jar != ""
			r.live(ctx, &life{options: r.options, side: side, round: round, tiered: tiered})
			r.followers(ctx, &life{options: r.options, side: side, round: round, tiered: tiered})
		}
	}
}

// live runs all steps in one fresh broker.
func (r *run) live(ctx context.Context, l *life) {
	failed, began := true, time.Now()
	var took []string
	defer func() {
		l.Stop(failed)
		fmt.Printf("  round %d/%d %-14s took %.0f s: %s\n", l.round, r.rounds, l.name(), time.Since(began).Seconds(), strings.Join(took, ", "))
	}()
	limited, cancel := context.WithTimeout(ctx, 3*time.Minute)
	err := l.start(limited, r.dir, 1)
	cancel()
	if err != nil {
		r.fail(l, steps, err)
		return
	}
	failed = false
	took = append(took, fmt.Sprintf("start %.0f", time.Since(began).Seconds()))
	w := l.watch()
	for i, s := range steps {
		if r.skip(s) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, s.limit)
		from := time.Now()
		v, err := s.do(l, limited, r.sets)
		cancel()
		took = append(took, fmt.Sprintf("%s %.0f", s.name, time.Since(from).Seconds()))
		w.look()
		if err == nil {
			r.take(l, s, v)
			continue
		}
		failed = true
		if s.essential {
			r.fail(l, steps[i:], err)
			break
		}
		r.fail(l, []step{s}, err)
	}
	r.notes = append(r.notes, l.notes)
}

// take adds the numbers of a step and prints them.
func (r *run) take(l *life, s step, v values) {
	for _, m := range metrics {
		n, ok := v[[2]string{m.Row, m.Name}]
		if !ok || !slices.Contains(s.rows, m.Row) {
			continue
		}
		r.results.Add(m.Row, m.Name, l.side, l.round, n)
		fmt.Printf("  round %d/%d %-14s %-14s %-13s %10.2f %s\n", l.round, r.rounds, l.name(), m.Row, m.Name, n, m.Unit)
	}
}

// fail takes the numbers of the steps' rows away, in all rounds.
func (r *run) fail(l *life, failed []step, err error) {
	reason, _, _ := strings.Cut(err.Error(), "\n")
	fmt.Printf("  round %d/%d %-14s failed: %v\n", l.round, r.rounds, l.name(), err)
	if l.Broker != nil && l.Cluster != nil {
		fmt.Printf("  its log is kept: %s\n", l.Cluster.Nodes[0].LogFile())
	}
	for _, s := range failed {
		for _, row := range s.rows {
			r.results.Fail(row, fmt.Sprintf("round %d, %s: %s", l.round, l.name(), reason))
		}
	}
}

// skip reports whether none of a step's rows can get a number any more.
func (r *run) skip(s step) bool {
	for _, row := range s.rows {
		if !r.results.HasFailed(row) {
			return false
		}
	}
	return len(s.rows) > 0
}

// hopeless reports whether no step is left to run.
func (r *run) hopeless() bool {
	return !slices.ContainsFunc(steps, func(s step) bool { return len(s.rows) > 0 && !r.skip(s) })
}
