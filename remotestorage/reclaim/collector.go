package reclaim

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage/stored"
)

// Deleter is the part of a store that removal needs: deleting keys that do not exist is success.
type Deleter interface {
	Delete(ctx context.Context, keys ...string) error
}

// Holds says which offsets somebody still has to read from the stored object. The answer may be stale towards held,
// never towards free. It must not block for long and is called from the collector's task only. end is exclusive.
type Holds interface {
	Held(topicID [16]byte, partition int32, base, end int64) bool
}

// Deps is what a collector is given.
type Deps struct {
	Log     *slog.Logger
	Metrics *telemetry.Set
	Holds   Holds // nil: nothing is held
}

// syncDelay is how long a tombstone may be in the page cache only. A topic delete writes thousands within it.
const syncDelay = 100 * time.Millisecond

// closeTime is how long Close waits for a request under way.
const closeTime = 5 * time.Second

// Collector removes the objects of deleted segments.
type Collector struct {
	cfg   Config
	store Deleter
	deps  Deps
	tasks *budget.Tasks
	wake  chan struct{} // capacity 1: something is pending
	dirty chan struct{} // capacity 1: the journal has bytes that are not synced
	write *writer

	mu      sync.Mutex // held in no system call
	closed  bool
	pending map[[16]byte]Tombstone
	held    int // of pending, at the last pass
	refused map[[16]byte]refusal

	requested telemetry.Counter
	removed   telemetry.Counter
	failed    map[string]telemetry.Counter
}

// Open replays the journal and starts removing. Errors: Invalid (the directory),
// Unsupported (a journal of a later version), Transient (it cannot be read or written; it is left as it is). Damage is no error: it is logged, with the name under which the
// damaged file was kept.
func Open(cfg Config, store Deleter, deps Deps) (*Collector, error) {
	j, r, err := openJournal(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if r.damaged > 0 || r.cut > 0 {
		deps.Log.Warn("delete.journal.damaged", "journal", j.path(), "records", r.damaged, "cut_bytes", r.cut, "kept_as", r.aside,
			"effect", "objects of those deletes stay in the store until a sweep removes them")
	}
	return start(cfg, store, deps, j, r), nil
}

func start(cfg Config, store Deleter, deps Deps, j *journal, r replayed) *Collector {
	c := &Collector{
		cfg: cfg, store: store, deps: deps, tasks: budget.NewTasks("reclaim", deps.Log),
		wake: make(chan struct{}, 1), dirty: make(chan struct{}, 1), pending: r.pending, refused: map[[16]byte]refusal{},
		requested: deps.Metrics.Counter("delete_requests_total", "Segments that Kafka asked to delete."),
		removed:   deps.Metrics.Counter("delete_segments_total", "Deleted segments whose objects were removed from the store."),
		failed:    deps.Metrics.Counters("delete_errors_total", "Failed requests to remove objects.", "class", classes()...),
	}
	deps.Metrics.GaugeFunc("delete_pending_segments", "Deleted segments whose objects are still in the store.",
		func() float64 { n, _, _ := c.stats(); return float64(n) })
	deps.Metrics.GaugeFunc("delete_held_segments", "Of those, segments whose rows are not in their table yet.",
		func() float64 { _, n, _ := c.stats(); return float64(n) })
	deps.Metrics.GaugeFunc("delete_oldest_pending_seconds", "Age of the oldest of those deletes.",
		func() float64 { _, _, age := c.stats(); return age.Seconds() })
	c.write = newWriter(j, budget.NewTasks("reclaim.journal", deps.Log), c.noted, c.Pending)
	c.signal(c.wake)
	c.tasks.Go("collect", c.collect)
	c.tasks.Go("sync", c.syncer)
	return c
}

func classes() []string {
	var names []string
	for _, c := range status.Classes() {
		names = append(names, c.String())
	}
	return names
}

// Delete records that a segment is not wanted any more; end is exclusive. It writes a few bytes to a local file and asks
// nothing of the store. A segment that is already pending is success. Errors: Closed; Transient if the journal cannot be
// written (disk full), in which case nothing was recorded, or if its disk hangs: after 5 s, and at once while it goes on; the record may
// then still be made when the disk answers.
func (c *Collector) Delete(id stored.Identity, end int64) error { return c.DeleteAfter(id, end, 0) }

// DeleteAfter is Delete whose objects go when a time has passed: a store may apply a put long after its sender gave up, and
// a delete at once would come before it.
func (c *Collector) DeleteAfter(id stored.Identity, end int64, wait time.Duration) error {
	c.mu.Lock()
	_, pending := c.pending[id.SegmentID]
	closed := c.closed
	c.mu.Unlock()
	switch {
	case closed:
		return status.Errorf(status.Closed, "delete: the instance is closed")
	case pending:
		return nil
	}
	return c.write.append(wantedGone, Tombstone{Identity: id, End: end, Time: time.Now().Add(wait).UnixMilli()})
}

// noted follows the journal.
func (c *Collector) noted(k kind, tombstones ...Tombstone) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range tombstones {
		if k == wantedGone {
			c.pending[t.SegmentID] = t
			c.requested.Inc()
		} else {
			c.forget(t)
		}
	}
	c.signal(c.dirty)
	if k == wantedGone {
		c.signal(c.wake)
	}
}

// forget is called with the lock held.
func (c *Collector) forget(t Tombstone) {
	delete(c.pending, t.SegmentID)
	delete(c.refused, t.SegmentID)
}

// Pending are the segments that are not wanted any more and whose objects may still be there, in no order.
func (c *Collector) Pending() []Tombstone {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.pending))
}

// IsPending reports whether a segment is among [Collector.Pending].
func (c *Collector) IsPending(segmentID [16]byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.pending[segmentID]
	return ok
}

// Wake makes the collector look at once at what was held, because holds were released.
func (c *Collector) Wake() { c.signal(c.wake) }

func (c *Collector) signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (c *Collector) stats() (pending, held int, oldest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := int64(0)
	for _, t := range c.pending {
		if first == 0 || t.Time < first {
			first = t.Time
		}
	}
	if first > 0 {
		oldest = max(0, time.Since(time.UnixMilli(first)))
	}
	return len(c.pending), min(c.held, len(c.pending)), oldest
}

// Close stops removing and syncs the journal. What is pending goes on at the next Open.
func (c *Collector) Close() {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	c.mu.Unlock()
	if ended := c.tasks.Stop(closeTime); !c.write.tasks.Stop(closeTime) || !ended {
		c.deps.Log.Warn("delete.close.slow", "waited", closeTime)
	}
}

// syncer makes tombstones durable in groups.
func (c *Collector) syncer(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.dirty:
		}
		budget.Sleep(ctx, syncDelay)
		if err := c.write.sync(); err != nil {
			c.deps.Log.Error("delete.journal.sync", "error", err.Error())
		}
	}
}

// collect removes what is pending until the end of ctx.
func (c *Collector) collect(ctx context.Context) {
	pause := c.cfg.Interval
	for {
		timer := time.NewTimer(pause)
		if pause > c.cfg.Interval { // backing off: new tombstones are no reason to ask a store that is down
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
		} else {
			select {
			case <-ctx.Done():
			case <-timer.C:
			case <-c.wake:
			}
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
		err := c.tasks.Guard("pass", func() error { return c.pass(ctx) })
		switch {
		case err == nil:
			pause = c.cfg.Interval
		case ctx.Err() == nil:
			c.failed[status.Of(err).String()].Inc()
			c.deps.Log.Warn("delete.failed", "error", err.Error(), "class", status.Of(err).String())
			pause = min(2*pause, c.cfg.MaxBackoff)
		}
	}
}

// pass removes everything that is pending and not held, oldest first. It ends with the first error.
func (c *Collector) pass(ctx context.Context) error {
	now := time.Now().UnixMilli()
	c.mu.Lock()
	all := slices.SortedFunc(maps.Values(c.pending), func(a, b Tombstone) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), slices.Compare(a.SegmentID[:], b.SegmentID[:]))
	})
	c.mu.Unlock()
	due, _ := slices.BinarySearchFunc(all, now+1, func(t Tombstone, at int64) int { return cmp.Compare(t.Time, at) })
	all = all[:due]
	c.mu.Lock()
	all = slices.DeleteFunc(all, func(t Tombstone) bool { return c.refused[t.SegmentID].until.After(time.UnixMilli(now)) })
	c.mu.Unlock()
	free := all
	if h := c.deps.Holds; h != nil {
		free = slices.DeleteFunc(slices.Clone(all), func(t Tombstone) bool {
			return h.Held(t.TopicID, t.Partition, t.BaseOffset, t.End)
		})
	}
	c.mu.Lock()
	c.held = len(all) - len(free)
	c.mu.Unlock()
	if len(free) == 0 {
		return nil
	}
	if err := c.write.sync(); err != nil { // a tombstone must not be lost when only half of its objects are gone
		return err
	}
	var refusals int
	var first error
	for batch := range slices.Chunk(free, c.cfg.Batch) {
		err := c.remove(ctx, batch)
		if err == nil {
			refusals = 0
			continue
		}
		refused, err := c.singly(ctx, batch, err, &refusals)
		if err != nil {
			return err
		}
		first = cmp.Or(first, refused)
	}
	return cmp.Or(first, c.tidy())
}

// refusalsInARow is how many segments one after the other the store may refuse to remove before that is taken for a fault of the
// store, or of the permissions, and not of these segments.
const refusalsInARow = 8

// singly removes the segments of a batch that failed one by one, so that one object that cannot be removed (a lock, a policy)
// keeps no other; those that are refused wait. refused is the first of their errors; whole says that the store as a whole does not remove.
func (c *Collector) singly(ctx context.Context, batch []Tombstone, err error, refusals *int) (refused, whole error) {
	if wholeStore(err) {
		return nil, err
	}
	for _, t := range batch {
		err := c.remove(ctx, []Tombstone{t})
		if err == nil {
			*refusals = 0
			continue
		}
		if *refusals++; wholeStore(err) || *refusals >= refusalsInARow {
			return refused, err
		}
		refused = cmp.Or(refused, err)
		c.mu.Lock()
		r := c.refused[t.SegmentID]
		r.wait = min(max(2*r.wait, c.cfg.MaxBackoff), refusedMost)
		r.until = time.Now().Add(r.wait)
		c.refused[t.SegmentID] = r
		c.mu.Unlock()
	}
	return refused, nil
}

// refusedMost is the longest time between two attempts to remove what the store refuses to remove.
const refusedMost = 6 * time.Hour

// refusal is how long a segment that could not be removed is left alone.
type refusal struct {
	wait  time.Duration
	until time.Time
}

// wholeStore tells a failure that says nothing about single objects.
func wholeStore(err error) bool {
	switch status.Of(err) {
	case status.Transient, status.Throttled, status.Cancelled, status.Closed, status.Unknown:
		return true
	}
	return false
}

// remove removes the objects of a batch, sidecars first, and notes that they are gone.
func (c *Collector) remove(ctx context.Context, batch []Tombstone) error {
	logs, sidecars := make([]string, len(batch)), make([]string, len(batch))
	for i, t := range batch {
		logs[i], sidecars[i] = t.Keys()
	}
	for _, keys := range [][]string{sidecars, logs} {
		ctx, cancel := c.cfg.pace().WithDeadline(ctx, 0)
		err := c.store.Delete(ctx, keys...)
		cancel()
		if err != nil {
			return status.Wrapf(err, "remove %d objects, the first is %s", len(keys), keys[0])
		}
	}
	// A record that cannot be written costs removing the same objects again after a restart.
	err := c.write.append(gone, batch...)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range batch {
		c.forget(t)
	}
	c.removed.Add(int64(len(batch)))
	return err
}

// tidyAbove is how many records that are not needed a journal may have, beside as many as it needs: 1024 are 72 KiB.
const tidyAbove = 1024

// tidy rewrites a journal that is mostly of segments already gone.
func (c *Collector) tidy() error {
	c.mu.Lock()
	needed := len(c.pending)
	c.mu.Unlock()
	if c.write.size() <= int64(2*needed+tidyAbove) {
		return nil
	}
	return c.write.rewrite()
}
