package fetch

import (
	"context"
	"slices"
	"sync"
	"time"

	"tidemark/internal/status"
)

// rival is the second request for one chunk, made when the first is slower than almost all others were: whichever comes first
// is taken.
type rival struct {
	tried   bool
	running bool
	first   error // of the first request, once it failed while the second runs
}

// latency is how long GETs take to bring their first chunk, and how many GETs were made twice.
type latency struct {
	mu      sync.Mutex
	samples [64]time.Duration
	n       int // ever noted
	p95     time.Duration
	hedges  int
	trouble time.Time // of the last failure of the store
}

const (
	hedgeShare   = 20 // at most one GET in so many is made twice
	hedgeSoonest = 20 * time.Millisecond
	hedgeUnknown = time.Second      // before anything is known
	hedgeCalm    = 10 * time.Second // after trouble of the store
)

func (l *latency) note(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.samples[l.n%len(l.samples)] = d
	l.n++
	if l.n%16 == 0 {
		known := slices.Clone(l.samples[:min(l.n, len(l.samples))])
		slices.Sort(known)
		l.p95 = known[len(known)*95/100]
	}
}

// noteOutcome takes how a GET ended: a store in trouble is not asked twice.
func (l *latency) noteOutcome(err error) {
	if status.Is(err, status.Transient) || status.Is(err, status.Throttled) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.trouble = time.Now()
	}
}

// after is how long without progress is worth a second request.
func (l *latency) after() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.p95 == 0 {
		return hedgeUnknown
	}
	return max(l.p95, hedgeSoonest)
}

// permit counts a second request, if one may be made.
func (l *latency) permit() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if (l.hedges+1)*hedgeShare > l.n+hedgeShare || time.Since(l.trouble) < hedgeCalm {
		return false
	}
	l.hedges++
	return true
}

// wait waits for a chunk, and asks for it a second time when its run stands still.
func (c *chunks) wait(ctx context.Context, s *Segment, e *chunk) error {
	select { // most are there
	case <-e.done:
		return e.err
	default:
	}
	timer := time.NewTimer(c.latency.after())
	defer timer.Stop()
	for {
		select {
		case <-e.done:
			return e.err
		case <-ctx.Done():
			return status.Wrapf(ctx.Err(), "read %v", e.key)
		case <-timer.C:
			timer.Reset(c.hedge(s, e))
		}
	}
}

// hedge starts the second request if it is time, and says when to look again.
func (c *chunks) hedge(s *Segment, e *chunk) (look time.Duration) {
	after := c.latency.after()
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.over() || e.run == nil || e.again.tried || !c.f.hedging {
		return time.Hour // done will tell
	}
	if !e.run.asked.Load() {
		return after // it waits for memory or a slot, not for the store
	}
	if still := time.Since(time.Unix(0, e.run.progress.Load())); still < after {
		return after - still
	}
	if !c.slotFree() || !c.latency.permit() {
		return after
	}
	buf, ok := c.tryBuffer(e.size, false)
	if !ok {
		return after
	}
	e.again.tried = true
	e.again.running = c.f.tasks.Go("hedge", func(ctx context.Context) { c.second(ctx, s, e, buf) })
	if !e.again.running {
		buf.free()
	}
	return time.Hour
}

// second is the task of the second request.
func (c *chunks) second(ctx context.Context, s *Segment, e *chunk, buf *buffer) {
	c.f.hedges.Inc()
	l := &loading{c: c, s: s, chunks: []*chunk{e}}
	err := c.f.tasks.Guard("hedge", func() error {
		release, err := c.gets.Acquire(ctx, 1)
		if err != nil {
			return err
		}
		defer release()
		ctx, cancel := c.pace.WithDeadline(ctx, int64(e.size))
		defer cancel()
		c.f.gets.Inc()
		if err := c.f.store.ReadRange(ctx, s.log, l.stored(0, buf), s.m.Chunks[e.key.chunk].Stored); err != nil {
			return err
		}
		return l.arrived(ctx, 0, buf)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	e.again.running = false
	if err == nil && !e.over() {
		c.land(e, buf)
		return
	}
	buf.free()
	if e.again.first != nil && !e.over() { // both failed: the first says why
		c.fail(e, e.again.first)
	}
	c.relieve()
}
