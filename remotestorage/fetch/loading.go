package fetch

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// loading is a run on its way: the task that fetches it with one GET.
type loading struct {
	c        *chunks
	s        *Segment
	chunks   []*chunk
	bufs     []*buffer // of chunks, nil for a first one that waits for memory
	demanded bool
	granted  context.Context // ends when nobody waits any more before anything was asked of the store
	abandon  context.CancelFunc
	asked    atomic.Bool
	progress atomic.Int64 // when the last chunk came, or the GET began, ns
}

// idle tells that the store was not asked yet and nobody waits for any chunk. The caller holds mu of the chunks.
func (l *loading) idle() bool {
	if l.asked.Load() {
		return false
	}
	for _, e := range l.chunks {
		if e.refs > 0 {
			return false
		}
	}
	return true
}

// drop frees the memory of a run that does not start.
func (l *loading) drop() {
	for _, b := range l.bufs {
		if b != nil {
			b.free()
		}
	}
}

// work is the task. Whatever happens, every chunk lands or fails.
func (l *loading) work(ctx context.Context) {
	c := l.c
	defer l.abandon()
	var bad []int
	err := c.f.tasks.Guard("load", func() (err error) {
		release, err := l.admit()
		if err != nil {
			return err
		}
		defer release()
		bad, err = l.read(ctx)
		return err
	})
	failures := make([]error, len(l.chunks))
	for k, e := range l.chunks {
		failures[k] = err
		if !e.over() && l.alone(err, bad, k) {
			failures[k] = l.reread(ctx, k)
		}
	}
	c.f.noted(l.end(failures))
}

// end lets all chunks that have not landed fail, and returns what the readers are told.
func (l *loading) end(failures []error) (told error) {
	c := l.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range l.chunks {
		err := failures[k]
		if err == nil && !e.over() {
			err = status.Errorf(status.Internal, "read %v: it did not come", e.key)
		}
		switch {
		case e.over():
		case e.again.running: // the second request decides
			e.again.first, e.run, e.buf = err, nil, nil
		default:
			told = cmp.Or(e.told(err), told)
			c.fail(e, err)
		}
		if l.bufs[k] != nil && e.buf != l.bufs[k] {
			l.bufs[k].free()
		}
	}
	c.relieve()
	return told
}

// admit waits for the first chunk's memory and for a slot.
func (l *loading) admit() (release func(), err error) {
	c := l.c
	ctx, cancel := c.pace.WithDeadline(l.granted, int64(l.chunks[0].size))
	defer cancel()
	if l.bufs[0] == nil {
		n := l.chunks[0].size
		c.mu.Lock()
		c.wanted += c.mem.cost(n)
		c.relieve()
		c.mu.Unlock()
		buf, err := c.mem.get(ctx, n)
		c.mu.Lock()
		c.wanted -= c.mem.cost(n)
		l.bufs[0] = buf
		l.chunks[0].buf = buf
		c.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	if release, err = c.gets.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.granted.Err() != nil { // between the grants
		release()
		return nil, status.Wrapf(l.granted.Err(), "read %v", l.chunks[0].key)
	}
	l.asked.Store(true)
	return release, nil
}

// read fetches the run; chunks land as they come. What the disk has at both ends of the run is not asked of the store; a gap is asked
// for with one GET. bad are those whose bytes are not what the manifest says.
func (l *loading) read(ctx context.Context) (bad []int, err error) {
	l.progress.Store(time.Now().UnixNano())
	from, to := 0, len(l.chunks)
	if l.c.f.disk != nil {
		for from < to && l.kept(ctx, from) {
			from++
		}
		for to > from && l.c.f.disk.Has(l.s.log, l.chunks[to-1].key.chunk, len(l.dst(to-1))) {
			to--
		}
	}
	if from < to {
		bad, err = l.ask(ctx, from, to)
	}
	for k := to; k < len(l.chunks); k++ {
		if !l.kept(ctx, k) {
			bad = append(bad, k)
		}
	}
	return bad, err
}

// kept lands chunk k of the run from the disk, if it is there.
func (l *loading) kept(ctx context.Context, k int) bool {
	dst := l.dst(k)
	if !l.c.f.disk.Get(l.s.log, l.chunks[k].key.chunk, dst) || l.check(k, dst) != nil || l.decode(ctx, k, l.bufs[k]) != nil {
		return false
	}
	l.progress.Store(time.Now().UnixNano())
	l.came(k)
	return true
}

// ask fetches the chunks [from, to) of the run from the store.
// Those that come before the sidecar are checked when the GET has ended, or the next one comes.
func (l *loading) ask(whole context.Context, from, to int) (bad []int, err error) {
	c := l.c
	dsts := make([][]byte, to-from)
	bytes := int64(0)
	for k := range dsts {
		dsts[k] = l.dst(from + k)
		bytes += int64(len(dsts[k]))
	}
	ctx, cancel := c.pace.WithDeadline(whole, bytes)
	defer cancel()
	began := time.Now()
	l.progress.Store(began.UnixNano())
	defer func() { c.f.took(began); c.latency.noteOutcome(err) }()
	c.f.gets.Inc()
	first := l.s.m.Chunks[l.chunks[from].key.chunk]
	var late []int // came, and are not checked yet
	take := func() {
		for _, k := range late {
			if l.arrived(whole, k, l.bufs[k]) != nil {
				bad = append(bad, k)
			} else {
				l.came(k)
			}
		}
		late = late[:0]
	}
	err = c.f.store.ReadScatter(ctx, l.s.log, dsts, first.Stored, func(k int) {
		now := time.Now()
		if k == 0 {
			c.latency.note(now.Sub(began))
		}
		l.progress.Store(now.UnixNano())
		late = append(late, from+k)
		if l.s.known() { // the sidecar may need what this GET holds: it is not waited for in here
			take()
		}
	})
	if len(late) > 0 {
		if _, missing := l.s.checked(); missing != nil {
			return bad, cmp.Or(err, missing)
		}
		take()
	}
	return bad, err
}

// stored is where the stored bytes of chunk k of the run go: the start of its memory.
func (l *loading) stored(k int, buf *buffer) []byte {
	return buf.data[:l.s.m.Chunks[l.chunks[k].key.chunk].StoredSize]
}

func (l *loading) dst(k int) []byte { return l.stored(k, l.bufs[k]) }

// arrived takes the stored bytes of chunk k of the run, which came from the store: they are checked, offered to the disk, and decoded. All of it
// comes before the chunk lands: afterwards the memory may be somebody else's.
func (l *loading) arrived(ctx context.Context, k int, buf *buffer) error {
	data := l.stored(k, buf)
	if err := l.check(k, data); err != nil {
		return err
	}
	if l.c.f.disk != nil {
		l.c.f.disk.Put(l.s.log, l.chunks[k].key.chunk, data)
	}
	return l.decode(ctx, k, buf)
}

// decode makes the original bytes of chunk k of the run, in the memory that has the stored ones.
func (l *loading) decode(ctx context.Context, k int, buf *buffer) error {
	i := l.chunks[k].key.chunk
	data := l.stored(k, buf)
	if l.s.m.Chunks[i].Form == 0 {
		buf.data = data
		return nil
	}
	release, err := l.c.f.decoding.Acquire(ctx, 1)
	if err != nil {
		return err
	}
	defer release()
	scratch := l.c.f.scratch.get(l.s.dec.Scratch(i))
	defer l.c.f.scratch.put(scratch)
	original, err := l.s.dec.Decode(i, data, scratch)
	if err != nil {
		return status.Wrapf(err, "log object %s", l.s.log)
	}
	buf.data = original
	return nil
}

// check compares the bytes of chunk k of the run with the manifest.
func (l *loading) check(k int, data []byte) error {
	m, err := l.s.checked()
	if err != nil {
		return err
	}
	want := m.Chunks[l.chunks[k].key.chunk]
	if got := stored.CRC(data); got != want.CRC {
		return status.Errorf(status.Corrupt, "log object %s: bytes [%d, %d) have CRC32C %08x, the sidecar says %08x: the object is damaged",
			l.s.log, want.Stored, want.Stored+int64(want.StoredSize), got, want.CRC)
	}
	return nil
}

// came lands chunk k of the run, unless a second request was faster.
func (l *loading) came(k int) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if e := l.chunks[k]; !e.over() {
		l.c.land(e, l.bufs[k])
	}
}

// alone tells whether chunk k is worth a GET of its own after the run has ended with err: its bytes were damaged, perhaps on
// their way, or others of the run are what the object does not have.
func (l *loading) alone(err error, bad []int, k int) bool {
	for _, b := range bad {
		if b == k {
			return true
		}
	}
	if !status.Is(err, status.Corrupt) || len(l.chunks) == 1 {
		return false
	}
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.chunks[k].refs > 0
}

// reread asks for chunk k once more, by itself.
func (l *loading) reread(ctx context.Context, k int) error {
	c, e := l.c, l.chunks[k]
	return c.f.tasks.Guard("load", func() error {
		if _, err := l.s.checked(); err != nil {
			return err // it was not the bytes
		}
		ctx, cancel := c.pace.WithDeadline(ctx, int64(e.size))
		defer cancel()
		c.f.gets.Inc()
		if err := c.f.store.ReadRange(ctx, l.s.log, l.dst(k), l.s.m.Chunks[e.key.chunk].Stored); err != nil {
			return err
		}
		if err := l.arrived(ctx, k, l.bufs[k]); err != nil {
			return err
		}
		l.came(k)
		return nil
	})
}
