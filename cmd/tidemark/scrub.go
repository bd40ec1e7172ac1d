package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"tidemark/cmd/tidemark/scrub"
	"tidemark/internal/budget"
	"tidemark/internal/objectstore/key"
)

// scrubFlags are what scrub takes.
type scrubFlags struct {
	topic     string
	partition int
	quick     bool
	grace     time.Duration
	parallel  int
	rate      float64 // MiB/s, 0: no limit
	after     string
}

const (
	scrubProgress = 5 * time.Second
	// maxScrubFindings bounds what the JSON document holds; the text shows all findings as they come.
	maxScrubFindings = 10000
	maxScrubParallel = 64
)

func scrubCommand() command {
	return command{name: "scrub", summary: "check every stored segment against its manifest, from the store alone", run: runScrub,
		flags: func(f *flag.FlagSet, e *env) {
			s := &e.scrub
			f.StringVar(&s.topic, "topic", "", "only this `topic`, or its topic id when no broker runs")
			f.IntVar(&s.partition, "partition", -1, "only this `partition` of --topic")
			f.BoolVar(&s.quick, "quick", false, "do not read log objects; compare their sizes")
			f.DurationVar(&s.grace, "grace", time.Hour, "how `long` a log object without a sidecar, or an upload, counts as a copy under way")
			f.IntVar(&s.parallel, "parallel", 4, "how many segments are checked at once, each with 8 MiB of memory or its largest chunk")
			f.Float64Var(&s.rate, "rate", 0, "the most `mebibytes` that are read in a second; 0 is no limit")
			f.StringVar(&s.after, "after", "", "go on after this `key`: what an interrupted check printed")
		},
		long: "Reads every sidecar and every byte of every log object and compares the checksums; no broker is asked and nothing is changed. Encrypted\n" +
			"segments are checked without their keys, and counted by the key they need. Findings: damaged-sidecar, damaged-log (with the bytes), wrong-size, missing-log, orphan-log and\n" +
			"unfinished-upload (left of failed copies, older than --grace), foreign-object, newer-format, unreadable (the store failed each time).\n" +
			"A check that is interrupted says where --after can go on. Tables are checked by verify --data. Exit code 3 if anything is found."}
}

// scrubbed is what scrub prints.
type scrubbed struct {
	Prefix string `json:"prefix"`
	Quick  bool   `json:"quick"`
	Whole  bool   `json:"complete"` // everything below the prefix, or after --after, was looked at
	scrub.Totals
	List    []scrub.Finding `json:"list"`
	LeftOut int64           `json:"leftOut"` // findings that are not in the list
}

func runScrub(ctx context.Context, e *env, args []string) error {
	s := e.scrub
	switch {
	case len(args) > 0:
		return usageError("scrub takes no operands; --topic and --partition say what is checked")
	case s.parallel < 1 || s.parallel > maxScrubParallel:
		return usageError(fmt.Sprintf("--parallel %d is not in [1, %d]", s.parallel, maxScrubParallel))
	case s.rate < 0 || s.grace < 0:
		return usageError("--rate and --grace are not negative")
	case s.partition < -1 || s.partition >= 0 && s.topic == "":
		return usageError("--partition takes a partition of --topic")
	}
	prefix, err := e.scrubPrefix(ctx)
	if err != nil {
		return err
	}
	r := scrubbed{Prefix: prefix, Quick: s.quick, List: []scrub.Finding{}}
	c := scrub.Config{Prefix: prefix, After: s.after, Quick: s.quick, Grace: s.grace, Now: time.Now(), Workers: s.parallel, Log: e.log(),
		Every: scrubProgress, Found: func(f scrub.Finding) { r.found(e, f) }}
	if s.rate > 0 {
		c.Rate = budget.NewRate(s.rate*(1<<20), s.rate*(1<<20))
	}
	if !e.json {
		objects, bytes, err := scrub.Measure(ctx, e.store, prefix, s.after)
		if err != nil {
			return err
		}
		e.progress("%d objects, %s below %s", objects, mebibytes(bytes), prefix)
		c.Progress = func(t scrub.Totals) {
			e.progress("%d of %d objects, %s of %s read, %d findings, through %s", t.Objects, objects, mebibytes(t.Read), mebibytes(bytes), t.Findings, t.Through)
		}
	}
	r.Totals, err = scrub.Run(ctx, e.store, c)
	r.Whole = err == nil
	if printed := e.print(r, r.write); printed != nil {
		return printed
	}
	if err == nil && r.Findings > 0 {
		return errFound
	}
	return err
}

// scrubPrefix opens the store and says which of its keys are checked.
func (e *env) scrubPrefix(ctx context.Context) (string, error) {
	ctx, cancel := e.context(ctx)
	defer cancel()
	if err := e.open(ctx); err != nil {
		return "", err
	}
	if e.scrub.topic == "" {
		return key.Segments + "/", nil
	}
	id, err := e.topicID(ctx, e.scrub.topic)
	if err != nil || e.scrub.partition < 0 {
		return key.TopicPrefix(id), err
	}
	return key.PartitionPrefix(id, int32(e.scrub.partition)), nil
}

// found prints a finding, or keeps it for the document.
func (r *scrubbed) found(e *env, f scrub.Finding) {
	switch {
	case !e.json:
		fmt.Fprintf(e.out, "FOUND %s: %s", f.Kind, f.Key)
		if f.End > 0 {
			fmt.Fprintf(e.out, " bytes [%d, %d)", f.Start, f.End)
		}
		fmt.Fprintf(e.out, "\n      %s\n", f.Text)
	case len(r.List) < maxScrubFindings:
		r.List = append(r.List, f)
	default:
		r.LeftOut++
	}
}

func (r scrubbed) write(w io.Writer) {
	fmt.Fprintf(w, "%d segments, %d objects, %s stored, %s read\n", r.Segments, r.Objects, mebibytes(r.Stored), mebibytes(r.Read))
	if r.Young > 0 || r.Gone > 0 || r.Repeated > 0 {
		fmt.Fprintf(w, "%d copies under way, %d deleted meanwhile, %d reads repeated\n", r.Young, r.Gone, r.Repeated)
	}
	for _, id := range slices.Sorted(maps.Keys(r.Keys)) {
		fmt.Fprintf(w, "%d segments are encrypted under key %s\n", r.Keys[id], id)
	}
	switch {
	case !r.Whole && r.Through == "":
		fmt.Fprintf(w, "STOPPED before the first segment, %d findings\n", r.Findings)
	case !r.Whole:
		fmt.Fprintf(w, "STOPPED, %d findings so far; go on with --after %s\n", r.Findings, r.Through)
	case r.Findings > 0:
		fmt.Fprintf(w, "NOT OK: %d findings\n", r.Findings)
	case r.Quick:
		fmt.Fprintln(w, "OK: every sidecar is whole and every log object has its size; without --quick every byte is read")
	default:
		fmt.Fprintln(w, "OK: every stored byte agrees with its checksum")
	}
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
