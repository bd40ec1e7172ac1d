package diskcache

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/telemetry"
)

// Deps is what a cache is given.
type Deps struct {
	Log     *slog.Logger
	Metrics *telemetry.Set
}

// Cache keeps chunks in files.
type Cache struct {
	cfg     Config
	sizes   sizes
	device  device
	log     *slog.Logger
	metrics *metrics
	tasks   *budget.Tasks
	stage   *stage
	bad     chan *slab    // slabs whose file cannot be read
	wake    chan struct{} // has one element when an object was dropped

	mu       sync.Mutex
	index    map[key]*entry
	slabs    []*slab // oldest first
	bytes    int64   // of slabs
	writable bool
	dropped  map[string]struct{} // objects

	owner owner
}

// slab is one file. seq, path and f never change; the rest is guarded by the lock of the cache.
type slab struct {
	seq     uint64
	path    string
	f       file
	size    int64
	hole    int64    // of size, what was given back
	entries []*entry // every block of the file, in its order
	refs    int      // readers
	dead    bool     // not in the cache any more: the last reader closes the file
}

// entry is a block that can be read.
type entry struct {
	meta
	slab *slab
	used bool // read since it was written
}

// Open makes a cache and starts to look into its directory; until that is done lookups miss. A directory that cannot be used
// is an event, and tried again. The configuration must be valid and name a directory. Errors: Transient when the system has
// no memory.
func Open(cfg Config, deps Deps) (*Cache, error) {
	return open(cfg, cfg.sizes(), disk{}, deps)
}

func open(cfg Config, sizes sizes, device device, deps Deps) (*Cache, error) {
	stage, err := newStage(sizes.stage)
	if err != nil {
		return nil, err
	}
	c := &Cache{
		cfg: cfg, sizes: sizes, device: device, log: deps.Log, stage: stage, tasks: budget.NewTasks("disk cache", deps.Log),
		bad: make(chan *slab, 1), wake: make(chan struct{}, 1), index: map[key]*entry{}, dropped: map[string]struct{}{},
	}
	c.metrics = newMetrics(deps.Metrics, c)
	c.owner.c = c
	c.tasks.Go("disk cache", c.owner.run)
	return c, nil
}

// Close writes what waits and ends the task, for at most d; it reports whether the task has ended. Later lookups miss.
func (c *Cache) Close(d time.Duration) bool { return c.tasks.Stop(d) }

// Has tells whether a chunk of n bytes is there. Its bytes may still turn out to be damaged.
func (c *Cache) Has(object string, chunk, n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.index[key{object, int32(chunk)}]
	return e != nil && int(e.size) == n
}

// Get fills dst with a chunk of len(dst) bytes. When it reports false there is no such chunk, and dst has any bytes. It keeps
// nothing of dst.
func (c *Cache) Get(object string, chunk int, dst []byte) bool {
	k := key{object, int32(chunk)}
	c.mu.Lock()
	e := c.index[k]
	if e == nil || int(e.size) != len(dst) {
		c.mu.Unlock()
		c.metrics.misses.Inc()
		return false
	}
	e.used = true
	e.slab.refs++
	c.mu.Unlock()
	_, err := e.slab.f.ReadAt(dst, e.data())
	good := err == nil && checksum(dst) == e.crc
	current := c.release(e, good)
	if good {
		c.metrics.hits.Inc()
		c.metrics.read.Add(int64(len(dst)))
		return true
	}
	c.metrics.misses.Inc()
	if !current {
		return false // it was dropped, and its disk given back
	}
	c.metrics.damaged.Inc()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, os.ErrClosed) {
		select {
		case c.bad <- e.slab:
		default: // the task is busy with another; the next reader tells again
		}
	}
	return false
}

// release ends a reader's use of a block's slab. It tells whether the block was still in the cache.
func (c *Cache) release(e *entry, good bool) (current bool) {
	c.mu.Lock()
	current = c.index[e.key] == e
	if !good && current {
		delete(c.index, e.key)
	}
	e.slab.refs--
	last := e.slab.dead && e.slab.refs == 0
	c.mu.Unlock()
	if last {
		_ = e.slab.f.Close() // nothing was written that must last
	}
	return current
}

// Put keeps a chunk if there is room to take it now. It copies data.
func (c *Cache) Put(object string, chunk int, data []byte) {
	k := key{object, int32(chunk)}
	c.mu.Lock()
	writable, there := c.writable, c.index[k] != nil
	c.mu.Unlock()
	switch {
	case there:
	case !writable:
		c.metrics.bypassed.Inc()
	case len(object) > maxObject || len(data) == 0 || blockHeader+len(object)+len(data) > c.sizes.stage:
		c.metrics.oversized.Inc()
	case !c.stage.put(k, data):
		c.metrics.busy.Inc()
	}
}

// add makes a block of a slab readable, instead of an older one of its key.
func (c *Cache) add(s *slab, blocks []meta, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range blocks {
		e := &entry{meta: m, slab: s}
		s.entries = append(s.entries, e)
		if m.chunk != tombstone {
			c.index[m.key] = e
		}
	}
	c.bytes += size - s.size
	s.size = size
}

// adopt takes a slab into the cache, as its newest.
func (c *Cache) adopt(s *slab) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slabs = append(c.slabs, s)
	c.bytes += s.size
}

// drop takes a slab out of the cache.
func (c *Cache) drop(s *slab) {
	c.mu.Lock()
	for i, other := range c.slabs {
		if other == s {
			c.slabs = append(c.slabs[:i:i], c.slabs[i+1:]...)
			c.bytes -= s.size - s.hole
			break
		}
	}
	for _, e := range s.entries {
		if c.index[e.key] == e {
			delete(c.index, e.key)
		}
	}
	last := !s.dead && s.refs == 0
	s.dead = true
	c.mu.Unlock()
	if last {
		_ = s.f.Close()
	}
}

func (c *Cache) setWritable(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writable = yes
}

// oldest is the slab that goes next, nil if there is none but keep.
func (c *Cache) oldest(keep *slab) *slab {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slabs {
		if s != keep {
			return s
		}
	}
	return nil
}

// all are the slabs of the cache.
func (c *Cache) all() []*slab {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*slab(nil), c.slabs...)
}

// state is 1 when chunks are kept, 0 when the cache is bypassed.
func (c *Cache) state() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writable {
		return 1
	}
	return 0
}

func (c *Cache) used() (bytes, blocks float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(c.bytes), float64(len(c.index))
}
