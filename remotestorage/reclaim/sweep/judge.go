package sweep

import (
	"context"
	"slices"

	"tidemark/internal/status"
)

// judge looks at the segments of a partition: once to find the candidates, then again right before they are removed.
func (r *run) judge(ctx context.Context, p place, which Partition) error {
	r.report.Partitions++
	j := &judging{run: r, place: p, which: which}
	err := segments(ctx, r.deps.Store, p, func(s segment) error { return j.take(ctx, s) }, r.unknown)
	if err == nil {
		err = j.ask(ctx)
	}
	if err != nil {
		return err
	}
	if err := j.giveUp(ctx); err != nil {
		return err
	}
	return j.removeAll(ctx)
}

// judging is one partition.
type judging struct {
	*run
	place
	which Partition

	batch     []segment // whose state is not asked yet
	doomed    []segment // candidates; at most sweep.partition.max and one
	abandoned []segment // likewise
	refused   int       // not in doomed or abandoned for want of room
}

// facts are those that cost nothing.
func (j *judging) facts(s segment) Case {
	return Case{Partition: j.which, Old: j.old(s.youngest()), Readable: s.readable(),
		Copying: j.deps.Copying != nil && j.deps.Copying(s.SegmentID), Pending: j.deps.Pending != nil && j.deps.Pending(s.SegmentID)}
}

// take sorts out what is kept anyhow.
func (j *judging) take(ctx context.Context, s segment) error {
	keys, _ := s.objects()
	j.report.Segments++
	j.report.Objects += len(keys)
	if v := Decide(j.facts(s)); v.Action == Keep {
		j.report.count(v.Reason)
		return nil
	}
	if j.which == Vanished {
		j.doomed = append(j.doomed, s)
		if len(j.doomed) < removeAtOnce {
			return nil
		}
		return j.removeAll(ctx)
	}
	j.batch = append(j.batch, s)
	if len(j.batch) < MaxAsked {
		return nil
	}
	return j.ask(ctx)
}

// ask asks for the states of the batch.
func (j *judging) ask(ctx context.Context) error {
	batch := j.batch
	j.batch = nil
	if len(batch) == 0 {
		return nil
	}
	answer, err := j.states(ctx, batch)
	if err != nil {
		for range batch {
			j.report.count(NotKnown)
		}
		return err
	}
	for n, s := range batch {
		c := j.facts(s)
		c.State = answer.States[n]
		switch v := Decide(c); {
		case v.Action == Keep:
			j.report.count(v.Reason)
		case len(j.doomed)+len(j.abandoned) > j.cfg.Most:
			j.refused++
		case v.Action == GiveUp:
			j.abandoned = append(j.abandoned, s)
		default:
			j.doomed = append(j.doomed, s)
		}
	}
	return nil
}

func (j *judging) states(ctx context.Context, of []segment) (Answer, error) {
	if j.which == Vanished {
		return Answer{States: make([]State, len(of))}, nil
	}
	ids := make([][16]byte, len(of))
	for n, s := range of {
		ids[n] = s.SegmentID
	}
	answer, err := j.deps.Truth.States(ctx, j.topicID, j.partition, ids)
	if err == nil && len(answer.States) != len(of) {
		err = status.Errorf(status.Internal, "the metadata answered for %d segments, %d were asked for", len(answer.States), len(of))
	}
	return answer, err
}

// tooMany keeps all candidates of a partition that has more than a healthy one can have.
func (j *judging) tooMany() bool {
	n := len(j.doomed) + len(j.abandoned) + j.refused
	if j.which == Vanished || n <= j.cfg.Most {
		return false
	}
	for _, s := range slices.Concat(j.doomed, j.abandoned) {
		j.keep(s, TooMany)
	}
	j.report.Reasons[TooMany] += j.refused
	j.deps.Log.Warn("sweep.too-many", "topic_id", idText(j.topicID), "partition", j.partition, "orphans", n, "sweep.partition.max", j.cfg.Most,
		"effect", "none of them is removed: so many look like lost remote log metadata")
	j.doomed, j.abandoned, j.refused = nil, nil, 0
	return true
}

func (j *judging) keep(s segment, reason Reason) {
	j.report.count(reason)
	j.found(j.finding(s, Verdict{Keep, reason}, false))
}

func (j *judging) finding(s segment, v Verdict, done bool) Finding {
	keys, bytes := s.objects()
	return Finding{Identity: s.Identity, Keys: keys, Bytes: bytes, Modified: s.youngest(), Verdict: v, Done: done}
}

// giveUp has Kafka give up the copies that never ended.
func (j *judging) giveUp(ctx context.Context) error {
	if j.tooMany() || len(j.abandoned) == 0 {
		return nil
	}
	abandoned := slices.DeleteFunc(j.abandoned, func(s segment) bool { // a copy may have begun again; ids are never used twice, but nothing rests on that
		v := Decide(j.with(s, Started))
		if v.Action == Keep {
			j.report.count(v.Reason)
		}
		return v.Action == Keep
	})
	for part := range slices.Chunk(abandoned, MaxAsked) {
		ids := make([][16]byte, len(part))
		for n, s := range part {
			ids[n] = s.SegmentID
		}
		done := false
		if !j.cfg.DryRun {
			n, err := j.deps.Truth.GiveUp(ctx, j.topicID, j.partition, ids)
			j.report.GivenUp += n
			if err != nil && !status.Is(err, status.Unsupported) {
				return status.Wrapf(err, "give up %d copies", len(ids))
			}
			done = err == nil
		}
		for _, s := range part {
			j.orphan(s, Verdict{GiveUp, Abandoned}, done)
		}
	}
	return nil
}

func (j *judging) with(s segment, state State) Case {
	c := j.facts(s)
	c.State = state
	return c
}

func (j *judging) orphan(s segment, v Verdict, done bool) {
	f := j.finding(s, v, done)
	j.report.count(v.Reason)
	j.report.Orphans++
	j.report.Bytes += f.Bytes
	j.found(f)
}

// removeAll removes the candidates.
func (j *judging) removeAll(ctx context.Context) error {
	doomed := j.doomed
	j.doomed = nil
	for part := range slices.Chunk(doomed, removeAtOnce) {
		if err := j.remove(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// remove judges candidates once more, with all facts, and removes them.
func (j *judging) remove(ctx context.Context, part []segment) error {
	cases := make([]Case, len(part))
	ends := make([]int64, len(part))
	for n, s := range part { // the slow facts first, so that the answer is fresh
		cases[n] = j.facts(s)
		if !s.readable() {
			continue
		}
		end, err := j.end(ctx, s)
		if err != nil {
			cases[n].Held = true // who cannot be asked is not removed
			ends[n] = -1
			continue
		}
		ends[n] = end
		cases[n].Held = j.deps.Held != nil && j.deps.Held(s.TopicID, s.Partition, s.BaseOffset, end)
	}
	answer, err := j.states(ctx, part)
	if err != nil {
		return err
	}
	if j.which == Vanished && !j.gone(ctx, j.topicID) {
		return status.Errorf(status.Conflict, "topic %s is there again", idText(j.topicID))
	}
	var free []segment
	var verdicts []Verdict
	for n, s := range part {
		c := cases[n]
		c.State = answer.States[n]
		c.Beyond = j.which == Led && ends[n] > answer.End
		c.Copying, c.Pending = j.facts(s).Copying, j.facts(s).Pending
		v := Decide(c)
		if v.Action == Keep && ends[n] < 0 {
			v.Reason = NotKnown
		}
		if v.Action == Remove {
			free, verdicts = append(free, s), append(verdicts, v)
			continue
		}
		j.keep(s, v.Reason)
	}
	return j.delete(ctx, free, verdicts)
}

func (j *judging) end(ctx context.Context, s segment) (int64, error) {
	if j.deps.End == nil {
		return 0, status.Errorf(status.Unsupported, "sidecars are not read")
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return j.deps.End(ctx, s.Identity)
}

// delete removes the objects, sidecars first, so that what is left half-way can never be taken for a segment.
func (j *judging) delete(ctx context.Context, list []segment, verdicts []Verdict) error {
	var sidecars, logs []string
	for _, s := range list {
		if s.readable() {
			sidecars = append(sidecars, s.sidecar.Key)
		}
		if s.log.Key != "" {
			logs = append(logs, s.log.Key)
		}
	}
	if !j.cfg.DryRun {
		for _, keys := range [][]string{sidecars, logs} {
			if len(keys) == 0 {
				continue
			}
			if err := j.call(ctx, keys); err != nil {
				return status.Wrapf(err, "remove %d orphans, the first is %s", len(keys), keys[0])
			}
			j.report.Removed += len(keys)
		}
	}
	for n, s := range list {
		j.orphan(s, verdicts[n], !j.cfg.DryRun)
	}
	if !j.cfg.DryRun && !j.pace(ctx, len(sidecars)+len(logs)) {
		return status.Wrapf(ctx.Err(), "sweep")
	}
	return nil
}

func (j *judging) call(ctx context.Context, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return j.deps.Store.Delete(ctx, keys...)
}
