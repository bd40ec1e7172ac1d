package fetch

import (
	"container/list"
	"context"
	"sync"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// chunks holds chunks of log objects in memory, within a byte budget, and fetches what is missing in runs: several chunks
// with one GET. Each chunk is loaded once, whoever and however many wait for it.
//
// A chunk is on its way (run is set), landed or gone; it is in entries in the first two and in one of the queues when it has
// landed and nobody uses it. Memory that is wanted is taken from spent first (read to their end), then from those read in
// part, last from those read ahead and not yet used. A chunk that failed is gone at once.
type chunks struct {
	f       *Fetcher
	mem     *buffers
	gets    *budget.Bytes // slots
	pace    budget.Pace
	most    int64 // bytes of one GET
	ahead   int64 // largest window
	latency latency

	mu      sync.Mutex
	entries map[chunkKey]*chunk
	spent   list.List // of *chunk, oldest first, as the other queues
	partly  list.List
	unread  list.List
	wanted  int64 // bytes that demanded chunks wait for
	history *history
	streams streams
}

type chunk struct {
	key   chunkKey
	size  int // bytes of memory it needs: for what is stored, and for what that decodes to
	refs  int // of those who wait for it or read it
	buf   *buffer
	done  chan struct{} // closed when it has landed or failed
	err   error
	run   *loading // while it is on its way
	read  bool     // somebody has used it
	queue *list.List
	el    *list.Element
	again rival // the second request for it
	early bool  // asked for before the sidecar was known
}

// data is the original bytes, for who holds a reference of a landed chunk.
func (e *chunk) data() []byte { return e.buf.data }

// told is err if somebody will be told it: get asks again after an early failure. The caller holds mu.
func (e *chunk) told(err error) error {
	if e.refs == 0 || e.early {
		return nil
	}
	return err
}

func (e *chunk) over() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// get returns chunk i of a segment, landed, and starts what the plan says; the chunks up to last will be wanted with it. put must be
// called when it is no longer used. ctx frees the caller only: what is on its way goes on.
func (c *chunks) get(ctx context.Context, s *Segment, i, last int) (*chunk, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, status.Wrapf(err, "read %v", chunkKey{s.log, i})
		}
		e, err := c.want(s, i, last)
		if err != nil {
			return nil, err
		}
		if err = c.wait(ctx, s, e); err == nil {
			return e, nil
		}
		c.put(e, false)
		if !e.early || !e.over() { // a GET that was made on the strength of the custom metadata costs nobody the read
			return nil, err
		}
	}
}

// want notes a use of chunk i and starts the runs that are due.
func (c *chunks) want(s *Segment, i, last int) (*chunk, error) {
	key := chunkKey{s.log, i}
	size := int64(s.m.Room(i))
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	window := c.window(s, i, now)
	missing := func(j int) bool { return c.entries[chunkKey{s.log, j}] == nil }
	e := c.entries[key]
	switch {
	case e == nil:
		c.f.count.misses.Inc()
		if !c.start(s, demand(s.m, i, max(window, together(s.m, i, last)), c.most, missing), demanded) {
			return nil, status.Errorf(status.Closed, "read %v: the reader is closed", key)
		}
		e = c.entries[key]
	case e.over():
		c.f.count.hits.Inc()
	default:
		c.f.count.joins.Inc()
	}
	c.dequeue(e)
	e.refs++
	e.read = true
	c.history.note(key, window)
	c.streams.note(s, i, window > size, window, now)
	next, beyond := further(s.m, i, window, c.most, missing)
	if next.len() > 0 {
		c.start(s, next, ahead)
	}
	if s.next != nil && beyond >= min(window/2, c.most) && c.streams.handOver(s, beyond/c.most+1) {
		c.f.readNext(*s.next, beyond)
	}
	return e, nil
}

// window is how far a reader that comes to chunk i may be ahead. The caller holds mu.
func (c *chunks) window(s *Segment, i int, now time.Time) int64 {
	most := min(c.ahead, c.mem.mem.Capacity()*3/4/c.streams.count(now))
	return c.history.window(chunkKey{s.log, i}, int64(s.m.Room(i)), c.streams.inherited(s), most)
}

// foresee starts the run of a reader that is about to come to chunk i, if that is missing.
func (c *chunks) foresee(s *Segment, i, last int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	missing := func(j int) bool { return c.entries[chunkKey{s.log, j}] == nil }
	if missing(i) {
		c.start(s, demand(s.m, i, max(c.window(s, i, time.Now()), together(s.m, i, last)), c.most, missing), foreseen)
	}
}

// landed tells whether chunk i is there.
func (c *chunks) landed(s *Segment, i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[chunkKey{s.log, i}]
	return e != nil && e.over()
}

// urgency is why a run is started.
type urgency int

const (
	ahead    urgency = iota // nobody waits for it
	foreseen                // somebody will, in a moment
	demanded                // somebody waits
)

// start puts the chunks of a run on their way, as many as there is memory for; the first of a demanded run waits for
// memory. It reports false when there is nothing to start or the fetcher is closed. The caller holds mu.
func (c *chunks) start(s *Segment, r run, why urgency) bool {
	l := &loading{c: c, s: s, demanded: why == demanded}
	if why == ahead && !c.slotFree() {
		return false
	}
	for i := r.from; i < r.to; i++ {
		size := s.m.Room(i)
		waits := why == demanded && i == r.from
		buf, ok := c.tryBuffer(size, waits)
		if !ok && !waits {
			break
		}
		e := &chunk{key: chunkKey{s.log, i}, size: size, buf: buf, done: make(chan struct{}), run: l, early: s.early != nil}
		l.chunks, l.bufs = append(l.chunks, e), append(l.bufs, buf)
	}
	if len(l.chunks) == 0 {
		return false
	}
	l.granted, l.abandon = context.WithCancel(c.f.tasks.Context())
	if !c.f.tasks.Go("load", l.work) {
		l.abandon()
		l.drop()
		return false
	}
	for _, e := range l.chunks {
		c.entries[e.key] = e
		if why == ahead {
			c.f.aheadBytes.Add(int64(e.size))
		}
	}
	return true
}

// slotFree tells whether a GET may be made for what nobody waits for: half of the slots are kept for those who wait.
func (c *chunks) slotFree() bool { return c.gets.Used() < (c.gets.Capacity()+1)/2 }

// tryBuffer takes memory that is free or can be freed. What was read ahead and not yet used goes only for somebody who waits.
// The caller holds mu.
func (c *chunks) tryBuffer(n int, demanded bool) (*buffer, bool) {
	if c.wanted > 0 {
		return nil, false // others were first
	}
	for {
		if buf, ok := c.mem.try(n); ok {
			return buf, true
		}
		if !c.evict(demanded) {
			return nil, false
		}
	}
}

// evict drops the chunk that is needed least. The caller holds mu.
func (c *chunks) evict(unread bool) bool {
	for _, q := range []*list.List{&c.spent, &c.partly, &c.unread} {
		if el := q.Front(); el != nil && (q != &c.unread || unread) {
			e := el.Value.(*chunk)
			c.dequeue(e)
			delete(c.entries, e.key)
			if !e.read {
				c.f.wastedBytes.Add(int64(e.size))
			}
			e.buf.free()
			return true
		}
	}
	return false
}

// relieve evicts until what is waited for fits. The caller holds mu.
func (c *chunks) relieve() {
	for c.wanted > 0 && c.mem.mem.Capacity()-c.mem.used() < c.wanted && c.evict(true) {
	}
}

func (c *chunks) dequeue(e *chunk) {
	if e.queue != nil {
		e.queue.Remove(e.el)
		e.queue, e.el = nil, nil
	}
}

// enqueue makes a landed chunk that nobody uses one that may be evicted. The caller holds mu.
func (c *chunks) enqueue(e *chunk, q *list.List) {
	e.queue, e.el = q, q.PushBack(e)
	c.relieve()
}

// put ends a use of a chunk; spent says that the reader took its last byte.
func (c *chunks) put(e *chunk, spent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.refs--
	if e.refs > 0 || c.entries[e.key] != e {
		return
	}
	switch {
	case !e.over():
		if e.run != nil && e.run.idle() { // nothing was asked of the store, and nobody waits any more
			e.run.abandon()
			for _, other := range e.run.chunks {
				if c.entries[other.key] == other {
					delete(c.entries, other.key)
				}
			}
		}
	case spent:
		c.enqueue(e, &c.spent)
	default:
		c.enqueue(e, &c.partly)
	}
}

// land makes a chunk readable. The caller holds mu; the bytes were checked.
func (c *chunks) land(e *chunk, buf *buffer) {
	e.buf, e.run = buf, nil
	close(e.done)
	if e.refs == 0 {
		c.enqueue(e, &c.unread)
	}
}

// fail makes a chunk gone; the next reader asks the store again. The caller holds mu.
func (c *chunks) fail(e *chunk, err error) {
	if c.entries[e.key] == e {
		delete(c.entries, e.key)
	}
	e.err, e.run, e.buf = err, nil, nil
	close(e.done)
}

// readAhead starts to read the first bytes of a segment.
func (c *chunks) readAhead(s *Segment, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := run{}
	for at, size := int64(0), int64(0); r.to < len(s.m.Chunks) && at < bytes && size < c.most; r.to++ {
		n := int64(s.m.Room(r.to))
		at += n
		if c.entries[chunkKey{s.log, r.to}] == nil {
			size += n
			continue
		}
		if r.len() > 0 {
			break
		}
		r.from = r.to + 1
	}
	if r.len() > 0 {
		c.start(s, r, ahead)
	}
}

// close drops what nobody uses; the tasks of the fetcher must have ended.
func (c *chunks) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.evict(true) {
	}
	c.mem.close()
}
