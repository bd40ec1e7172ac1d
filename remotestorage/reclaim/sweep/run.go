package sweep

import (
	"bytes"
	"context"
	"strings"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
)

// removeAtOnce is how many segments are asked for and removed together: the shorter the list, the fresher the answer.
const removeAtOnce = 100

// failuresInARow is how many requests to the store may fail one after the other before the sweep ends.
const failuresInARow = 3

// progressEvery is how often a long sweep says how far it is.
const progressEvery = time.Minute

// run is one sweep.
type run struct {
	*Sweeper
	report   Report
	begun    time.Time // by this machine
	now      time.Time // by the store
	said     time.Time
	failures int // of the store, in a row

	last    [16]byte // topic that was judged last
	verdict Partition
	asked   bool                   // last and verdict are valid
	elected bool                   // topics are judged here
	earlier map[[16]byte]time.Time // topics that earlier sweeps did not find
}

func newRun(s *Sweeper) *run {
	return &run{Sweeper: s, report: Report{Reasons: map[Reason]int{}}, begun: time.Now(), said: time.Now()}
}

func (r *run) sweep(ctx context.Context) error {
	if r.deps.Cluster() == "" {
		return status.Errorf(status.Transient, "the id of the cluster is not known yet")
	}
	if err := r.clock(ctx); err != nil {
		return err
	}
	if err := r.foreign(ctx); err != nil {
		return err
	}
	elected, err := r.deps.Truth.Responsible(ctx)
	if err != nil {
		r.report.fail(status.Wrapf(err, "which broker judges deleted topics"))
	}
	r.elected = elected && err == nil
	r.earlier = r.missing
	r.missing = map[[16]byte]time.Time{} // those that are not seen any more are forgotten
	if !r.elected {
		r.missing = r.earlier
	}
	err = places(ctx, r.deps.Store, func(p place) error { return r.place(ctx, p) }, r.unknown)
	if err != nil {
		r.missing = r.earlier // a sweep that did not end has not looked everywhere
		return err
	}
	if err := r.uploads(ctx); err != nil {
		if ctx.Err() != nil {
			return err
		}
		r.report.UploadsError = err // often a right that is not granted: it says nothing about the segments
		r.deps.Log.Warn("sweep.uploads.failed", "error", err.Error(), "class", status.Of(err).String(),
			"effect", "unfinished uploads stay in the store and cost money, unless a lifecycle rule of the bucket aborts them; segments were swept")
	}
	return nil
}

// clock finds the store's time and leaves the mark of the cluster.
func (r *run) clock(ctx context.Context) error {
	if r.deps.Now != nil {
		r.now = r.deps.Now()
		return nil
	}
	if err := r.mark(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	info, err := r.deps.Store.Head(ctx, key.Cluster(r.deps.Cluster()))
	if err != nil {
		return status.Wrapf(err, "read the store's clock")
	}
	r.now = info.Modified
	return nil
}

// mark says in the store that this cluster uses the prefix.
func (s *Sweeper) mark(ctx context.Context) error {
	id := s.deps.Cluster()
	if id == "" {
		return status.Errorf(status.Transient, "the id of the cluster is not known yet")
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err := s.deps.Store.Put(ctx, key.Cluster(id), bytes.NewReader([]byte(id+"\n")), objectstore.Condition{})
	return status.Wrapf(err, "leave the mark of cluster %s", id)
}

// foreign finds the marks of other clusters: what is not of our topics may be of theirs.
func (r *run) foreign(ctx context.Context) error {
	page, _, err := list(ctx, r.deps.Store, key.Clusters+"/", "", pageKeys)
	if err != nil {
		return err
	}
	own := key.Cluster(r.deps.Cluster())
	for _, o := range page {
		if o.Key != own {
			name := strings.TrimPrefix(o.Key, key.Clusters+"/")
			if id, ok := key.Unescape(name); ok {
				name = id
			}
			r.report.Foreign = append(r.report.Foreign, name)
		}
	}
	return nil
}

// place judges one partition.
func (r *run) place(ctx context.Context, p place) error {
	r.progress()
	which := Led
	if !r.deps.Truth.Knows(p.topicID, p.partition) {
		which = r.topicOf(ctx, p.topicID)
	}
	if which == Foreign {
		r.report.count(NotLed)
		return nil
	}
	err := r.judge(ctx, p, which)
	switch {
	case err == nil:
		r.failures = 0
		return nil
	case ctx.Err() != nil:
		return err
	}
	r.report.fail(status.Wrapf(err, "partition %s/%d", idText(p.topicID), p.partition))
	if r.failures++; r.failures >= failuresInARow {
		return status.Wrapf(err, "%d partitions in a row could not be judged, the last", r.failures)
	}
	return nil
}

// topicOf judges the topic of a partition that is not known here.
func (r *run) topicOf(ctx context.Context, topicID [16]byte) Partition {
	if r.asked && r.last == topicID {
		return r.verdict
	}
	r.last, r.asked, r.verdict = topicID, true, Foreign
	if !r.elected || !r.gone(ctx, topicID) {
		return Foreign
	}
	since, known := r.earlier[topicID]
	if !known {
		since = r.now
	}
	r.missing[topicID] = since
	if len(r.report.Foreign) == 0 && r.now.Sub(since) >= r.cfg.Grace {
		r.verdict = Vanished
	}
	return r.verdict
}

// gone reports whether the cluster says that it has no such topic.
func (r *run) gone(ctx context.Context, topicID [16]byte) bool {
	exists, err := r.deps.Truth.TopicExists(ctx, topicID)
	if err != nil {
		r.report.fail(status.Wrapf(err, "topic %s", idText(topicID)))
	}
	return err == nil && !exists
}

func (r *run) unknown(o objectstore.Info) {
	r.report.count(UnknownKey)
	r.report.Objects++
	r.found(Finding{Keys: []string{o.Key}, Bytes: o.Size, Modified: o.Modified, Verdict: Verdict{Keep, UnknownKey}})
}

func (r *run) found(f Finding) {
	if r.deps.Found != nil {
		r.deps.Found(f)
	}
}

func (r *run) progress() {
	if time.Since(r.said) >= progressEvery {
		r.said = time.Now()
		r.deps.Log.Info("sweep.progress", r.report.attrs(r.cfg.DryRun)...)
	}
}

// old reports whether something of that time is older than the grace time. A store that gives no time is never old enough.
func (r *run) old(at time.Time) bool { return !at.IsZero() && r.now.Sub(at) >= r.cfg.Grace }

// pace waits so that no more than sweep.rate objects are removed in a second.
func (r *run) pace(ctx context.Context, objects int) bool {
	return budget.Sleep(ctx, time.Duration(objects)*time.Second/time.Duration(r.cfg.Rate))
}
