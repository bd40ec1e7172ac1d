package diskcache

import (
	"fmt"
	"path/filepath"

	"tidemark/internal/status"
)

// write appends the blocks of a batch to the active slab and to new ones.
func (o *owner) write(b *batch) error {
	for rest := b.blocks; len(rest) > 0; {
		if o.active == nil {
			if err := o.roll(); err != nil {
				return err
			}
		}
		n := o.fits(rest)
		if n == 0 {
			if err := o.seal(); err != nil {
				return err
			}
			continue
		}
		blocks := make([]meta, n)
		from, to := rest[0].from, rest[n-1].to
		for i, at := range rest[:n] {
			head := blockHeader + len(at.object)
			data := b.buf[at.from+head : at.to]
			blocks[i] = meta{key: at.key, size: uint32(len(data)), crc: checksum(data), start: o.end + int64(at.from-from)}
			putBlock(b.buf[at.from:], o.active.seq, blocks[i])
		}
		if err := o.append(b.buf[from:to], blocks); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// fits is how many of the blocks the active slab has room for, with its table.
func (o *owner) fits(blocks []staged) (n int) {
	end, table := o.end, o.table
	for _, at := range blocks {
		end += int64(at.to - at.from)
		table += tableEntry + blockHeader + int64(len(at.object))
		if end+table+tailSize > o.c.sizes.slab {
			return n
		}
		n++
	}
	return n
}

// append writes encoded blocks to the end of the active slab.
func (o *owner) append(p []byte, blocks []meta) error {
	s := o.active
	if _, err := s.f.WriteAt(p, o.end); err != nil {
		return failed(s, err)
	}
	at := span{o.end, int64(len(p))}
	o.end += at.n
	for _, m := range blocks {
		o.table += m.entry()
	}
	o.c.add(s, blocks, o.end)
	o.c.metrics.written.Add(at.n)
	if err := s.f.Begin(at.off, at.n); err != nil {
		return failed(s, err)
	}
	return o.settle(at)
}

// settle waits for what was written before and notes what is on its way now.
func (o *owner) settle(next span) error {
	last := o.begun
	o.begun = next
	if last.n == 0 {
		return nil
	}
	if err := o.active.f.Settle(last.off, last.n); err != nil {
		return failed(o.active, err)
	}
	return nil
}

// seal gives the active slab its table.
func (o *owner) seal() error {
	s := o.active
	blocks := make([]meta, len(s.entries))
	for i, e := range s.entries {
		blocks[i] = e.meta
	}
	p := encodeTable(s.seq, blocks, o.end)
	if _, err := s.f.WriteAt(p, o.end); err != nil {
		return failed(s, err)
	}
	o.c.add(s, nil, o.end+int64(len(p)))
	if err := o.settle(span{o.end, int64(len(p))}); err != nil {
		return err
	}
	if err := o.settle(span{}); err != nil {
		return err
	}
	o.active = nil
	return nil
}

// roll makes a new slab and takes the oldest ones away until it will fit; what was read of them moves into the new one.
func (o *owner) roll() error {
	s := &slab{seq: o.next, path: filepath.Join(o.c.cfg.Dir, slabName(o.next)), size: slabHeader}
	o.next++
	var err error
	if s.f, err = o.c.device.Create(s.path); err != nil {
		return status.Errorf(status.Transient, "make a file: %w", err)
	}
	o.c.adopt(s)
	o.active, o.end, o.table, o.begun = s, slabHeader, 0, span{}
	if _, err := s.f.WriteAt(encodeSlab(s.seq), 0); err != nil {
		return failed(s, err)
	}
	room := o.c.sizes.slab / 4
	for o.full() {
		victim := o.c.oldest(s)
		if victim == nil {
			break
		}
		room, err = o.rescue(victim, room)
		o.c.metrics.evicted.Add(int64(len(victim.entries)))
		o.remove(victim)
		if err != nil {
			return err
		}
	}
	return nil
}

// full tells whether the slabs leave no room for a whole new one and what is rescued before the oldest is gone.
func (o *owner) full() bool {
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	return o.c.bytes > o.c.sizes.capacity-o.c.sizes.slab*5/4
}

// rescue appends blocks that were read to the active slab, at most room bytes; it returns what is left of room.
func (o *owner) rescue(victim *slab, room int64) (int64, error) {
	for _, e := range o.read(victim) {
		n := e.head() + int64(e.size)
		if n > room || o.fits([]staged{{key: e.key, to: int(n)}}) == 0 {
			continue
		}
		p := make([]byte, n)
		if _, err := victim.f.ReadAt(p[e.head():], e.data()); err != nil || checksum(p[e.head():]) != e.crc {
			o.c.metrics.damaged.Inc()
			continue
		}
		m := e.meta
		m.start = o.end
		putBlock(p, o.active.seq, m)
		if err := o.append(p, []meta{m}); err != nil {
			return room, err
		}
		o.c.metrics.rescued.Inc()
		room -= n
	}
	return room, nil
}

// read are the blocks of a slab that were read since they were written.
func (o *owner) read(s *slab) (used []*entry) {
	o.c.mu.Lock()
	defer o.c.mu.Unlock()
	for _, e := range s.entries {
		if e.used && o.c.index[e.key] == e {
			used = append(used, e)
		}
	}
	return used
}

func failed(s *slab, err error) error {
	return status.Errorf(status.Transient, "write %s: %w", filepath.Base(s.path), err)
}

func slabName(seq uint64) string { return fmt.Sprintf("slab-%016x.cache", seq) }
