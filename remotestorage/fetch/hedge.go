package fetch

import (
	"cmp"
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
	n       int           // ever noted
	usual   time.Duration // what almost all take
	hedges  int
	trouble time.Time // of the last failure of the store
}

const (
	hedgeShare   = 10 // at most one GET in so many is made twice
	hedgeSoonest = 20 * time.Millisecond
	hedgeUnknown = time.Second      // before anything is known
	hedgeCalm    = 10 * time.Second // after trouble of the store
	hedgeBytes   = 8 << 20          // of one second request
	// When more than one in twenty is delayed, the 95th percentile is a delay itself. So many times the median is late in any case.
	farFromMiddle = 4
)

func (l *latency) note(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.samples[l.n%len(l.samples)] = d
	l.n++
	if l.n%16 == 0 {
		known := slices.Clone(l.samples[:min(l.n, len(l.samples))])
		slices.Sort(known)
		l.usual = min(known[len(known)*95/100], farFromMiddle*known[len(known)/2])
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
	if l.usual == 0 {
		return hedgeUnknown
	}
	return max(l.usual, hedgeSoonest)
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
	again := c.rivals(s, e)
	if len(again.chunks) == 0 {
		return after
	}
	if !c.f.tasks.Go("hedge", func(ctx context.Context) { c.second(ctx, again) }) {
		for k, e := range again.chunks {
			e.again.running = false
			again.bufs[k].free()
		}
	}
	return time.Hour
}

// rivals is the second request for a chunk and for those after it of the run that stands still, as many as there is memory for. The caller
// holds mu.
func (c *chunks) rivals(s *Segment, e *chunk) *loading {
	again := &loading{c: c, s: s}
	from, bytes := slices.Index(e.run.chunks, e), 0
	for _, e := range e.run.chunks[from:] {
		if e.over() || e.again.tried || bytes > 0 && bytes+e.size > hedgeBytes {
			break
		}
		buf, ok := c.tryBuffer(e.size, false)
		if !ok {
			break
		}
		e.again.tried, e.again.running = true, true
		bytes += e.size
		again.chunks, again.bufs = append(again.chunks, e), append(again.bufs, buf)
	}
	return again
}

// second is the task of the second request.
func (c *chunks) second(ctx context.Context, l *loading) {
	c.f.hedges.Inc()
	taken := make([]bool, len(l.chunks))        // buffers that landed
	_ = c.f.tasks.Guard("hedge", func() error { // the first request says what is wrong
		release, err := c.gets.Acquire(ctx, 1)
		if err != nil {
			return err
		}
		defer release()
		dsts, bytes := make([][]byte, len(l.chunks)), int64(0)
		for k := range dsts {
			dsts[k] = l.dst(k)
			bytes += int64(len(dsts[k]))
		}
		ctx, cancel := c.pace.WithDeadline(ctx, bytes)
		defer cancel()
		c.f.gets.Inc()
		return c.f.store.ReadScatter(ctx, l.s.log, dsts, l.s.m.Chunks[l.chunks[0].key.chunk].Stored, func(k int) {
			if l.arrived(ctx, k, l.bufs[k]) != nil {
				return
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if e := l.chunks[k]; !e.over() {
				e.again.running, taken[k] = false, true
				c.land(e, l.bufs[k])
			}
		})
	})
	c.f.noted(c.settle(l, taken))
}

// settle ends a second request: what it has not brought fails if the first has failed. It returns what the readers are told.
func (c *chunks) settle(l *loading, taken []bool) (told error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range l.chunks {
		e.again.running = false
		if !taken[k] {
			l.bufs[k].free()
		}
		if e.again.first != nil && !e.over() { // both failed
			told = cmp.Or(e.told(e.again.first), told)
			c.fail(e, e.again.first)
		}
	}
	c.relieve()
	return told
}
