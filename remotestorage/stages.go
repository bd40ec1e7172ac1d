package remotestorage

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tidemark/internal/objectstore"
)

// stage is what a copy is doing. A copy goes through the stages in order; cleaning comes after a failure only.
type stage int

const (
	opening    stage = iota // the files, and reading the indexes
	waiting                 // for its turn among copy.parallel
	checking                // every batch of the log file, and making the manifest
	uploading               // the log object
	completing              // the sidecar object
	handing                 // the hold file, and telling the table side
	cleaning                // removing the objects of a failed attempt
	stages     = iota
)

var stageNames = [stages]string{"open", "wait", "check", "data", "sidecar", "handover", "cleanup"}

// String is the stage's name in events, errors and metrics.
func (s stage) String() string { return stageNames[s] }

// flight is one copy under way.
type flight struct {
	start time.Time
	size  int64
	tally objectstore.Tally

	mu    sync.Mutex
	stage stage
	since time.Time
	spent [stages]time.Duration
	last  stage           // before cleaning
	ctx   context.Context // whose deadline bounds the stage under way; nil: none yet
}

func newFlight(size int64) *flight {
	now := time.Now()
	return &flight{start: now, since: now, size: size}
}

// enter ends the stage under way and begins s.
func (f *flight) enter(s stage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.spent[f.stage] += now.Sub(f.since)
	if s == cleaning {
		f.last = f.stage
	}
	f.stage, f.since = s, now
}

// at is the stage under way and for how long it has been; failed is the one that ended in an error, if cleaning is under way.
func (f *flight) at() (now, failed stage, since time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	failed = f.stage
	if f.stage == cleaning {
		failed = f.last
	}
	return f.stage, failed, time.Since(f.since)
}

// bound names the context that bounds the stages from now on.
func (f *flight) bound(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ctx = ctx
}

// due is when the stage under way ends at the latest, if all that can be ended ends; the deadline may have moved since it was last asked for.
func (f *flight) due() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ctx == nil {
		return time.Now().Add(time.Second)
	}
	t, _ := f.ctx.Deadline()
	return t
}

// times are the durations of the stages, of the one under way until now.
func (f *flight) times() [stages]time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	times := f.spent
	times[f.stage] += time.Since(f.since)
	return times
}

func millis(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// attrs name a segment in events.
func (s Segment) attrs() []any {
	key, _ := s.identity().Keys()
	return []any{"topic", s.Topic, "partition", s.Partition, "base", s.BaseOffset, "end", s.EndOffset, "object", key, "bytes", s.Size}
}

// completed writes the one line that a copy leaves.
func (m *Manager) completed(seg Segment, f *flight) {
	all := time.Since(f.start)
	attrs := append(seg.attrs(), "seconds", millis(all), "mb_per_second", int64(float64(seg.Size)/1e6/max(all.Seconds(), 1e-3)+0.5))
	times := f.times()
	for s := range stages {
		if stage(s) != cleaning {
			attrs = append(attrs, slog.Duration(stageNames[s], millis(times[s])))
		}
	}
	requests, parts, waited := f.tally.Sums()
	m.log.Info("copy.completed", append(attrs, "parts", parts, "requests", requests, "limited", millis(waited))...)
}

// slowShare is the part of its deadline after which a copy is called slow, and called so again.
const slowShare = 4

// watchSlow says that a copy is slow, and where it is, until stop is called.
func (m *Manager) watchSlow(seg Segment, f *flight) (stop func()) {
	every := m.cfg.copyPace().For(seg.Size) / slowShare
	done, ended := make(chan struct{}), make(chan struct{})
	started := m.tasks.Go("slow copy", func(ctx context.Context) {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			now, _, since := f.at()
			requests, parts, waited := f.tally.Sums()
			m.metrics.late.Inc()
			m.log.Warn("copy.slow", append(seg.attrs(), "stage", now.String(), "in_stage", millis(since), "seconds", millis(time.Since(f.start)),
				"expected", every, "parts", parts, "requests", requests, "limited", millis(waited),
				"effect", "later segments of the partition wait; copy.deadline.ms and copy.min.rate end the copy")...)
		}
	})
	return func() {
		close(done)
		if started {
			<-ended
		}
	}
}
