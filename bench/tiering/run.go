package tiering

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/bench/calls"
	"tidemark/bench/measure"
	"tidemark/bench/report"
	"tidemark/bench/workload"
)

// run is the suite under way.
type run struct {
	Options
	dir     string
	results *report.Results
	sets    struct {
		warm, bulk, fan *workload.Set
		many            []*workload.Set
	}
	started     time.Time
	floor       struct{ write, read measure.Cost }
	bare        bareCost
	limit       float64         // records per second that a vanilla broker took
	steadyRate  int             // of row 10
	vanillaPeak map[int]float64 // MiB by round
	texts       map[string]string
	cold        []string
	threads     map[[2]string]perThread // by side and what it did
	others      []string                // how much of the machine others used, by life
}

// Run measures and writes report.md and report.csv into the directory of the run. It reports whether every row of ours has its number.
func Run(ctx context.Context, o Options) (complete bool, err error) {
	if err := o.check(); err != nil {
		return false, err
	}
	r := &run{Options: o, dir: o.Dir, results: report.New("vanilla", o.metrics()), started: time.Now(), vanillaPeak: map[int]float64{}, texts: map[string]string{},
		threads: map[[2]string]perThread{}}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return false, err
	}
	if err := r.makeSets(); err != nil {
		return false, err
	}
	sides, err := o.sides()
	if err != nil {
		return false, err
	}
	fmt.Printf("tiering suite, %s: %d rounds, %.0f MB a topic; nothing is printed before it is checked\n", o.label(), o.Rounds, float64(o.Size)/1e6)
	for _, row := range Rows {
		if missing := calls.Built(row.Name); missing != "" && o.wants(row.Name) {
			r.note(fmt.Sprintf("%s is not measured: there is no setting %s.", row.Name, missing))
		}
	}
	if r.floor.write, r.floor.read, err = measure.Floor(r.dir, o.Size); err != nil {
		return false, err
	}
	if r.bare, err = bare(ctx, r.dir, o.Size); err != nil {
		return false, err
	}
	driven := &calls.Run{Kafka: o.Kafka, Jar: o.Jar, Dir: r.dir, Rounds: o.Rounds, Full: o.Full, Size: o.Size, Peer: o.Peer, Results: r.results,
		Wants: o.wants, Note: r.note}
	brokers := slices.ContainsFunc(steps, func(s step) bool { return len(s.rows) > 0 && s.wanted(o) })
	for round := 1; round <= o.Rounds; round++ {
		for _, s := range sides {
			if brokers && ctx.Err() == nil {
				r.live(ctx, &life{run: r, side: s, round: round, values: values{}, sizes: map[string]int64{}})
			}
		}
		if o.Before == "" {
			driven.Round(ctx, round)
		}
	}
	return r.finish(ctx)
}

func (r *run) finish(ctx context.Context) (complete bool, err error) {
	rows := r.results.Rows()
	fmt.Printf("\nTidemark, medians of %d rounds (%s):\n", r.Rounds, r.label())
	complete = true
	for _, row := range rows {
		fmt.Println(row.Line())
		complete = complete && row.Failure == ""
	}
	if err := r.write(rows); err != nil {
		return false, err
	}
	fmt.Printf("\n%s and report.csv, %.0f s\n", filepath.Join(r.dir, "report.md"), time.Since(r.started).Seconds())
	return complete, ctx.Err()
}

func (r *run) makeSets() (err error) {
	if r.sets.warm, err = workload.New(1, 3, r.Warm); err != nil {
		return err
	}
	if r.sets.bulk, err = workload.New(4, 1, r.Size); err != nil {
		return err
	}
	if r.sets.fan, err = workload.New(5, 1, max(1<<20, r.Size/4)); err != nil {
		return err
	}
	for _, n := range r.partitions() {
		set, err := workload.New(6, n, r.Size)
		if err != nil {
			return err
		}
		r.sets.many = append(r.sets.many, set)
	}
	return nil
}

// publishable is how many rounds a run needs that is not called short.
const publishable = 7

func (o Options) label() string {
	if o.Full && o.Rounds >= publishable {
		return "full"
	}
	return "short"
}

// live runs the steps in one fresh broker.
func (r *run) live(ctx context.Context, l *life) {
	failed, began := true, time.Now()
	var took []string
	defer func() {
		l.stop(failed)
		fmt.Printf("  round %d/%d %-14s took %.0f s: %s\n", l.round, r.Rounds, l.side.name, time.Since(began).Seconds(), strings.Join(took, ", "))
	}()
	limited, cancel := context.WithTimeout(ctx, 4*time.Minute)
	err := l.start(limited)
	cancel()
	if err != nil {
		r.lose(l, steps, err)
		return
	}
	machine, own := measure.Busy(), measure.OwnCPU()
	failed = false
	for i, s := range steps {
		if !s.wanted(r.Options) {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, s.limit)
		from := time.Now()
		err := s.do(l, limited)
		cancel()
		took = append(took, fmt.Sprintf("%s %.0f", s.name, time.Since(from).Seconds()))
		if err == nil {
			r.take(l, s)
			continue
		}
		failed = true
		if len(s.rows) == 0 || len(s.needs) > 0 {
			r.lose(l, steps[i:], fmt.Errorf("%s: %w", s.name, err))
			break
		}
		r.lose(l, []step{s}, fmt.Errorf("%s: %w", s.name, err))
	}
	if c, err := l.Clock(); err == nil {
		share := measure.Others(machine, measure.Busy(), c.Broker+c.Store+measure.OwnCPU()-own)
		r.others = append(r.others, fmt.Sprintf("round %d %s: other processes used %.0f %% of the machine's CPU time", l.round, l.side.name, share*100))
	}
}

// take adds the numbers of a step and prints those of the report.
func (r *run) take(l *life, s step) {
	for k, v := range l.values {
		if !slices.Contains(s.rows, k[0]) {
			continue
		}
		if r.results.Declared(k[0], k[1]) {
			r.results.Add(k[0], k[1], l.side.key, l.round, v)
			fmt.Printf("  round %d/%d %-14s %-24s %-22s %10.2f\n", l.round, r.Rounds, l.side.name, k[0], k[1], v)
		}
		delete(l.values, k)
	}
}

// lose takes the numbers of the steps' rows away from a side, in all rounds.
func (r *run) lose(l *life, failed []step, err error) {
	reason, _, _ := strings.Cut(err.Error(), "\n")
	fmt.Printf("  round %d/%d %-14s failed: %v\n", l.round, r.Rounds, l.side.name, err)
	if l.Broker != nil && l.Cluster != nil {
		fmt.Printf("  its log is kept: %s\n", l.Cluster.Nodes[0].LogFile())
	}
	for _, s := range failed {
		for _, row := range s.rows {
			r.results.Lose(row, l.side.key, fmt.Sprintf("round %d, %s: %s", l.round, l.side.name, reason))
		}
	}
}

// note adds a line to the report, once.
func (r *run) note(line string) {
	if !slices.Contains(r.cold, line) {
		r.cold = append(r.cold, line)
	}
}
