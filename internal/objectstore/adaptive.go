package objectstore

import (
	"container/list"
	"context"
	"sync"
	"time"

	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// The limit is halved when the store asks for less, at most once in oneHalving because calls that were under way together are refused
// together, and grows back evenly, from any value to the full one within recovery.
const (
	oneHalving = time.Second
	recovery   = 45 * time.Second
	lookAgain  = 100 * time.Millisecond // of those who wait while the limit grows
)

// Adaptive lets at most so many reads, and as many writes, be under way at once, and fewer while a store throttles them. It belongs below Retrying, so that
// every attempt counts. A call that waits for its turn until its context ends is Transient or Cancelled.
func Adaptive(store Store, most int, set *telemetry.Set) Store {
	a := &adaptive{Store: store, reads: newLimit(most), writes: newLimit(most)}
	set.GaugeFunc("store_read_limit_calls", "Reads of the object store that may be under way at once; below store.calls.max the store has asked for less in the last minute.", a.reads.now)
	set.GaugeFunc("store_write_limit_calls", "Writes and deletes of the object store that may be under way at once; below store.calls.max the store has asked for less in the last minute.", a.writes.now)
	return a
}

type adaptive struct {
	Store
	reads, writes *limit
}

// limit is how many calls may be under way, served in order.
type limit struct {
	most float64

	mu      sync.Mutex
	base    float64 // the limit at since
	since   time.Time
	used    int
	waiting list.List // of chan struct{}
}

func newLimit(most int) *limit { return &limit{most: float64(most), base: float64(most)} }

// current is the limit now. The caller holds mu.
func (l *limit) current() float64 {
	return min(l.most, l.base+l.most*float64(time.Since(l.since))/float64(recovery))
}

func (l *limit) now() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(int(l.current()))
}

// run makes a call when it is its turn.
func (l *limit) run(ctx context.Context, call func() error) error {
	if err := l.enter(ctx); err != nil {
		return err
	}
	throttled := false
	defer func() { l.leave(throttled) }()
	err := call()
	throttled = status.Is(err, status.Throttled)
	return err
}

func (l *limit) enter(ctx context.Context) error {
	l.mu.Lock()
	if l.waiting.Len() == 0 && float64(l.used+1) <= l.current() {
		l.used++
		l.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	el := l.waiting.PushBack(ready)
	l.mu.Unlock()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		select {
		case <-ready:
			return nil
		case <-look.C:
			l.mu.Lock()
			l.grant()
			l.mu.Unlock()
		case <-ctx.Done():
			l.mu.Lock()
			defer l.mu.Unlock()
			select {
			case <-ready: // granted while we gave up: hand it on
				l.used--
				l.grant()
			default:
				l.waiting.Remove(el)
			}
			return status.Wrapf(ctx.Err(), "waiting for one of the calls that the store allows at once, it has asked for less")
		}
	}
}

func (l *limit) leave(throttled bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used--
	if throttled && time.Since(l.since) >= oneHalving {
		l.base = max(1, l.current()/2)
		l.since = time.Now()
	}
	l.grant()
}

// grant lets those who waited longest go. The caller holds mu.
func (l *limit) grant() {
	for el := l.waiting.Front(); el != nil && float64(l.used+1) <= l.current(); el = l.waiting.Front() {
		l.used++
		close(l.waiting.Remove(el).(chan struct{}))
	}
}

// Get waits for its turn.
func (a *adaptive) Get(ctx context.Context, key string, most int64) (data []byte, info Info, err error) {
	err = a.reads.run(ctx, func() (err error) { data, info, err = a.Store.Get(ctx, key, most); return err })
	return data, info, err
}

// ReadRange waits for its turn.
func (a *adaptive) ReadRange(ctx context.Context, key string, dst []byte, offset int64) error {
	return a.reads.run(ctx, func() error { return a.Store.ReadRange(ctx, key, dst, offset) })
}

// ReadScatter waits for its turn.
func (a *adaptive) ReadScatter(ctx context.Context, key string, dsts [][]byte, offset int64, filled func(i int)) error {
	return a.reads.run(ctx, func() error { return a.Store.ReadScatter(ctx, key, dsts, offset, filled) })
}

// Head waits for its turn.
func (a *adaptive) Head(ctx context.Context, key string) (info Info, err error) {
	err = a.reads.run(ctx, func() (err error) { info, err = a.Store.Head(ctx, key); return err })
	return info, err
}

// List waits for its turn.
func (a *adaptive) List(ctx context.Context, prefix, after string, most int) (page []Info, more bool, err error) {
	err = a.reads.run(ctx, func() (err error) { page, more, err = a.Store.List(ctx, prefix, after, most); return err })
	return page, more, err
}

// Put waits for its turn.
func (a *adaptive) Put(ctx context.Context, key string, src Source, cond Condition) (info Info, err error) {
	err = a.writes.run(ctx, func() (err error) { info, err = a.Store.Put(ctx, key, src, cond); return err })
	return info, err
}

// Delete waits for its turn.
func (a *adaptive) Delete(ctx context.Context, keys ...string) error {
	return a.writes.run(ctx, func() error { return a.Store.Delete(ctx, keys...) })
}
