package ingest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tidemark/internal/status"
)

// ledgerTimeout is how long after a commit its ledger may come. Then the range is converted again, which is waste but no harm.
const ledgerTimeout = 10 * time.Second

// schedule starts jobs whenever something changed or a pause ended.
func (in *Ingest) schedule(ctx context.Context) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-in.wake:
		case <-tick.C:
		}
		in.startRecall(time.Now())
		for _, s := range in.ready(time.Now()) {
			in.tasks.Go("convert "+s.partition.String(), func(ctx context.Context) { in.work(ctx, s) })
		}
	}
}

// ready are the partitions to start a job for now; they are marked busy. A partition has one job at a time.
func (in *Ingest) ready(now time.Time) (ready []*state) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for k, s := range in.partitions {
		t := in.targets[k.topic]
		if t == nil || !s.led || !s.known {
			continue
		}
		if s.changed {
			in.look(s)
		}
		if s.busy || !t.live || !s.found {
			continue
		}
		if s.since.IsZero() {
			s.since = now
		}
		switch {
		case s.listed.IsZero() && !s.draining:
		case now.Before(s.notBefore):
		case s.undecided != 0 && s.undecided == s.cut.reach():
			s.end(s.undecided)
		case now.Sub(s.since) < in.cfg.Linger && s.cut.Bytes() < maxRangeBytes:
		default:
			s.busy = true
			ready = append(ready, s)
		}
	}
	return ready
}

// look makes the cut again. in.mu is held.
func (in *Ingest) look(s *state) {
	segments := make([]Segment, 0, len(s.segments))
	end, bytes := s.progress.Next, int64(0)
	for _, seg := range s.segments {
		segments = append(segments, seg)
		end = max(end, seg.End)
		bytes += seg.Size
	}
	p := strconv.Itoa(int(s.partition.Partition))
	in.metrics.lag.With(s.partition.Topic, p).Set(float64(end - s.progress.Next))
	in.metrics.waiting.With(s.partition.Topic, p).Set(float64(bytes))
	s.cut, s.gap, s.found = cut(s.progress.Next, segments)
	s.changed = false
	if s.found {
		if len(s.cut.Ahead) == 0 {
			s.end(s.cut.End())
		}
		return
	}
	s.end(s.progress.Next)
	s.since, s.failures = time.Time{}, 0
	switch {
	case s.gap == Gap{}:
		s.reason = ""
	case s.adopted:
		s.reason = fmt.Sprintf("offsets [%d, %d) come first: they are the leader's to convert", s.gap.From, s.gap.To)
	case s.listed.IsZero() && !s.draining: // the list may fill it
	case s.further: // so may the rest of it
	case !s.handed.IsZero() && !s.draining: // the list may be older than what was handed over
		s.wanted = s.handed
	case s.keptAt.IsZero() || !s.draining && s.keptAt.Before(s.listed): // so may what is kept here
	default:
		in.gap(s)
	}
}

// gap reports a hole that no segment fills: an operator decides, nothing is skipped silently. in.mu is held.
func (in *Ingest) gap(s *state) {
	reason := fmt.Sprintf("GAP: offsets [%d, %d) are in no remote segment, the table cannot go on", s.gap.From, s.gap.To)
	if s.reason != reason {
		s.reason = reason
		in.deps.Log.Error("table.gap", "partition", s.partition.String(), "from", s.gap.From, "to", s.gap.To,
			"effect", "the rows of this partition end here; its segments are kept, tiering and other partitions go on",
			"help", "if the segments of these offsets were deleted for good, drop the table and create it again: it starts at the log start")
	}
}

// begin makes the job of a busy partition from what is known now, which may be more than when it became ready.
func (in *Ingest) begin(s *state) (*job, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	t := in.targets[s.partition.TopicID]
	if t == nil || !t.live || !s.led || !s.known {
		return nil, false
	}
	if s.changed {
		in.look(s)
	}
	if !s.found {
		return nil, false
	}
	j := &job{ingest: in, partition: s.partition, table: t.table, cut: s.cut, progress: s.progress}
	if o := s.offer; o != nil && o.Range.Base == s.progress.Next && o.Generation == t.table.Generation && s.by == t.table.Converter {
		j.offer = o
	}
	return j, true
}

// work runs one job of a busy partition.
func (in *Ingest) work(ctx context.Context, s *state) {
	var j *job
	var submitted bool
	err := in.tasks.Guard("convert "+s.partition.String(), func() (err error) {
		j, submitted, err = in.step(ctx, s)
		return err
	})
	in.mu.Lock()
	s.busy = false
	switch {
	case !s.led:
		in.leave(s)
	case err != nil:
		in.failed(s, j, submitted, err)
	case j == nil:
	case !submitted:
		s.undecided, s.reason = j.cut.reach(), j.wait
	default:
		s.since, s.failures, s.reason, s.offer = time.Time{}, 0, "", nil
		if s.progress.Next < j.offer.Range.End {
			s.notBefore = time.Now().Add(ledgerTimeout) // the ledger that covers it is on its way
		}
	}
	in.drained(s)
	in.mu.Unlock()
	in.nudge()
}

// step converts unless that was done before, and submits. submitted is false when nothing is decided yet or conversion failed.
func (in *Ingest) step(ctx context.Context, s *state) (j *job, submitted bool, err error) {
	j, ok := in.begin(s)
	if !ok {
		return nil, false, nil
	}
	if j.offer == nil {
		release, err := in.slots.Acquire(ctx, 1)
		if err != nil {
			return j, false, err
		}
		defer release() // a second call is harmless
		if j, ok = in.begin(s); !ok {
			return nil, false, nil
		}
		in.metrics.inFlight.Add(1)
		err = in.tasks.Guard("convert "+s.partition.String(), func() error { return j.convert(ctx) })
		in.metrics.inFlight.Add(-1)
		release()
		if err != nil || j.offer == nil {
			return j, false, err
		}
	}
	return j, true, in.submit(ctx, s, j)
}

// waiting is the error of an offer whose commit has not come within submitTimeout. Nothing has failed.
type waiting struct{ error }

// submit waits for the commit of a converted range.
func (in *Ingest) submit(ctx context.Context, s *state, j *job) error {
	in.submitting(s, true)
	defer in.submitting(s, false)
	bounded, cancel := context.WithTimeout(ctx, submitTimeout)
	defer cancel()
	err := in.deps.Commits.Submit(bounded, j.table.TopicID, *j.offer)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return waiting{err}
	}
	return err
}

func (in *Ingest) submitting(s *state, is bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	s.submitting = is
}

// failed decides what comes after a failed job: the partition waits, longer each time, up to a minute. in.mu is held.
func (in *Ingest) failed(s *state, j *job, submitted bool, err error) {
	var late waiting
	if errors.As(err, &late) {
		s.offer, s.by, s.reason = j.offer, j.table.Converter, err.Error()
		in.deps.Log.Warn("table.commit.waiting", "partition", s.partition.String(), "base", j.offer.Range.Base, "end", j.offer.Range.End,
			"waited", submitTimeout, "reason", err.Error(), "effect", "the converted range is kept and waits on")
		return
	}
	class := status.Of(err)
	if class == status.Cancelled {
		s.notBefore = time.Now().Add(time.Second)
		return
	}
	if s.offer = nil; submitted && class != status.Conflict {
		s.offer, s.by = j.offer, j.table.Converter
	}
	if j != nil && !class.Retryable() && (!submitted || class == status.Conflict && s.progress == j.progress) {
		in.distrust(s, j.cut, class)
	}
	s.failures++
	pause := min(time.Second<<min(s.failures-1, 6), time.Minute)
	s.notBefore = time.Now().Add(pause)
	s.reason = err.Error()
	in.metrics.errors[class.String()].Inc()
	in.deps.Log.Warn("table.convert.failed", "partition", s.partition.String(), "class", class.String(),
		"error", err.Error(), "retry_in", pause, "failures", s.failures, "effect", "the rows of this partition come later; tiering is not affected")
}

// distrust reads the stored objects instead of the hold files next time, and no segment that the list does not know: its
// object may be gone for good. in.mu is held.
func (in *Ingest) distrust(s *state, c Cut, class status.Class) {
	for _, seg := range c.Segments {
		known, ok := s.segments[seg.ID]
		if !ok {
			continue
		}
		if known.NoHold = known.NoHold || class == status.Corrupt; known.unlisted && !s.draining && known.NoHold == seg.NoHold {
			delete(s.segments, seg.ID)
		} else {
			s.segments[seg.ID] = known
		}
	}
	s.changed, s.wanted = true, time.Now()
}
