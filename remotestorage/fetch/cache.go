package fetch

import (
	"container/list"
	"context"
	"sync"

	"tidemark/internal/budget"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// cache holds values that were read from the store, within a byte budget. Each value is loaded by one task, whoever and
// however many wait for it.
//
// An entry is in one of four states: waiting for memory, loading, landed, gone. It is in entries in the first three and
// in lru only when landed. refs counts those who wait for it or use its value; a landed entry may be evicted when it is
// zero, one that still waits for memory is given up then. An entry that failed is gone at once.
type cache[K comparable, V any] struct {
	what  string
	mem   *budget.Bytes
	pace  budget.Pace
	tasks *budget.Tasks
	count counters

	mu      sync.Mutex
	entries map[K]*entry[K, V]
	lru     list.List // of *entry, most recently used first
	wanted  int64     // bytes that entries wait for
}

// counters are how often a value was there, was on its way, or had to be read.
type counters struct{ hits, joins, misses telemetry.Counter }

type entry[K comparable, V any] struct {
	key     K
	size    int64 // what the budget counts
	asked   int64 // what the value is said to have
	refs    int
	abandon context.CancelFunc
	loading bool          // memory was granted
	done    chan struct{} // closed when value or err is set
	value   V
	err     error
	el      *list.Element
	release func() // of the memory
}

func newCache[K comparable, V any](what string, capacity int64, pace budget.Pace, tasks *budget.Tasks, count counters) *cache[K, V] {
	return &cache[K, V]{
		what: what, mem: budget.NewBytes(what, capacity), pace: pace, tasks: tasks, count: count,
		entries: map[K]*entry[K, V]{},
	}
}

// get returns the value of key and a function that must be called when it is no longer used. The value is counted with
// size bytes, or the whole budget if that is less. ctx frees the caller only; load has the deadline of the pace.
func (c *cache[K, V]) get(ctx context.Context, key K, size int64, load func(context.Context) (V, error)) (value V, unpin func(), err error) {
	if err := ctx.Err(); err != nil {
		return value, nil, status.Wrapf(err, "read %v", key)
	}
	c.mu.Lock()
	e := c.entries[key]
	switch {
	case e == nil:
		e = &entry[K, V]{key: key, size: min(size, c.mem.Capacity()), asked: size, done: make(chan struct{})}
		var granted context.Context
		granted, e.abandon = context.WithCancel(c.tasks.Context())
		if !c.tasks.Go("load", func(ctx context.Context) { c.fill(ctx, granted, e, load) }) {
			e.abandon()
			c.mu.Unlock()
			return value, nil, status.Errorf(status.Closed, "read %v: the reader is closed", key)
		}
		c.entries[key] = e
		c.count.misses.Inc()
	case e.el != nil:
		c.lru.MoveToFront(e.el)
		c.count.hits.Inc()
	default:
		c.count.joins.Inc()
	}
	e.refs++
	c.mu.Unlock()
	select {
	case <-e.done:
	case <-ctx.Done():
		c.unpin(e)
		return value, nil, status.Wrapf(ctx.Err(), "read %v", key)
	}
	if e.err != nil {
		c.unpin(e)
		return value, nil, e.err
	}
	return e.value, func() { c.unpin(e) }, nil
}

// fill is the task of one entry. granted ends when nobody waits for the entry any more before there is memory for it.
func (c *cache[K, V]) fill(ctx, granted context.Context, e *entry[K, V], load func(context.Context) (V, error)) {
	defer e.abandon()
	release, err := c.acquire(granted, e)
	var value V
	if err == nil {
		err = c.tasks.Guard("load", func() (err error) {
			ctx, cancel := c.pace.WithDeadline(ctx, e.size)
			defer cancel()
			value, err = load(ctx)
			return err
		})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	current := c.entries[e.key] == e // else it was abandoned in the moment in which it got its memory
	if err != nil && current {
		delete(c.entries, e.key)
	}
	if (err != nil || !current) && release != nil {
		release()
	}
	e.value, e.err, e.release = value, err, release
	if err == nil && current {
		e.el = c.lru.PushFront(e)
	}
	close(e.done)
	c.relieve()
}

// acquire waits for the entry's memory, evicting what it needs.
func (c *cache[K, V]) acquire(ctx context.Context, e *entry[K, V]) (release func(), err error) {
	c.mu.Lock()
	c.wanted += e.size
	c.relieve()
	c.mu.Unlock()
	bounded, cancel := c.pace.WithDeadline(ctx, e.size)
	defer cancel()
	release, err = c.mem.Acquire(bounded, e.size)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted -= e.size
	e.loading = err == nil
	return release, err
}

// relieve evicts what is not in use, oldest first, until what is wanted fits. The caller holds mu.
func (c *cache[K, V]) relieve() {
	for el := c.lru.Back(); el != nil && c.mem.Capacity()-c.mem.Used() < c.wanted; {
		e, prev := el.Value.(*entry[K, V]), el.Prev()
		if e.refs == 0 {
			c.lru.Remove(el)
			delete(c.entries, e.key)
			e.release()
		}
		el = prev
	}
}

func (c *cache[K, V]) unpin(e *entry[K, V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.refs--
	if e.refs > 0 {
		return
	}
	if e.el == nil && !e.loading && c.entries[e.key] == e { // nobody waits, and nothing was asked of the store
		delete(c.entries, e.key)
		e.abandon()
	}
	c.relieve()
}

// size is the size that the entry of key was asked for with, if there is one.
func (c *cache[K, V]) size(key K) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		return e.asked, true
	}
	return 0, false
}

// peek returns the value of key if it is there.
func (c *cache[K, V]) peek(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil && e.el != nil {
		return e.value, true
	}
	return value, false
}

// landed tells whether the value of key is there.
func (c *cache[K, V]) landed(key K) bool {
	_, ok := c.peek(key)
	return ok
}

// used is the memory in use in bytes.
func (c *cache[K, V]) used() int64 { return c.mem.Used() }
