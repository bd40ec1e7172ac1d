package diskcache

import "slices"

// tombstone is the chunk number of a block without data that says: the earlier blocks of its object do not count.
const tombstone = -1

// maxDropped bounds the objects that wait to be forgotten. Of those beyond it the blocks stay until they are the oldest.
const maxDropped = 1 << 16

// place is where a block begins.
type place struct {
	seq   uint64
	start int64
}

// Drop forgets the blocks of objects that are no more, soon. It never waits.
func (c *Cache) Drop(objects ...string) {
	c.mu.Lock()
	for _, object := range objects {
		if len(c.dropped) < maxDropped {
			c.dropped[object] = struct{}{}
		}
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// takeDropped are the objects that were dropped since the last time.
func (c *Cache) takeDropped() (objects map[string]struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	objects, c.dropped = c.dropped, map[string]struct{}{}
	return objects
}

// detach takes the blocks for which gone holds out of the index.
func (c *Cache) detach(gone func(*entry) bool) (detached map[*slab][]*entry) {
	detached = map[*slab][]*entry{}
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.index {
		if gone(e) {
			delete(c.index, k)
			detached[e.slab] = append(detached[e.slab], e)
		}
	}
	return detached
}

// useless tells that nothing in a slab is needed: no block can be read, and no tombstone tells of an older slab.
func (c *Cache) useless(s *slab) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !slices.ContainsFunc(s.entries, func(e *entry) bool { return e.chunk == tombstone || c.index[e.key] == e })
}

// freed takes the disk that a hole gave back.
func (c *Cache) freed(s *slab, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.hole += n
	c.bytes -= n
}

// forget gives the disk of dropped objects back, and lets the next start know.
func (o *owner) forget() {
	objects := o.c.takeDropped()
	if len(objects) == 0 {
		return
	}
	o.flush() // what is staged of them
	detached := o.c.detach(func(e *entry) bool { _, ok := objects[e.object]; return ok })
	names := map[string]struct{}{}
	for _, entries := range detached {
		o.c.metrics.deleted.Add(int64(len(entries)))
		for _, e := range entries {
			names[e.object] = struct{}{}
		}
	}
	o.clear(detached)
	if len(names) > 0 && o.again.IsZero() {
		o.wrote(o.bury(names))
	}
}

// clear gives the disk of detached blocks back: that of whole slabs, else holes where the file system has them.
func (o *owner) clear(detached map[*slab][]*entry) {
	for s, entries := range detached {
		if s != o.active && o.c.useless(s) {
			o.remove(s)
			continue
		}
		for _, e := range entries {
			if s.f.Punch(e.data(), int64(e.size)) == nil {
				o.c.freed(s, wholePages(e.data(), e.end()))
			}
		}
	}
}

// wholePages are the bytes of [from, to) that a hole gives back.
func wholePages(from, to int64) int64 {
	const page = 4096
	return max(0, to/page*page-(from+page-1)/page*page)
}

// bury writes tombstones.
func (o *owner) bury(objects map[string]struct{}) error {
	b := &batch{}
	for object := range objects {
		n := blockHeader + len(object)
		b.blocks = append(b.blocks, staged{key: key{object, tombstone}, from: b.used, to: b.used + n})
		b.used += n
	}
	b.buf = make([]byte, b.used)
	return o.write(b)
}
