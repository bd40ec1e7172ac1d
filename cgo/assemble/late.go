package assemble

import (
	"context"
	"sync"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// late is a store that is opened when it is first used, if it could not be opened at the start.
type late struct {
	name string
	open func() (objectstore.Store, error)

	mu      sync.Mutex
	store   objectstore.Store
	nextTry time.Time
	lastErr error
	closed  bool
}

func openLate(name string, open func() (objectstore.Store, error)) (objectstore.Store, error) {
	l := &late{name: name, open: open}
	s, err := open()
	switch status.Of(err) {
	case status.OK:
		l.store = s
	case status.Unsupported, status.Invalid:
		return nil, err
	default:
		l.failed(err)
	}
	return l, nil
}

// reopenAfter bounds how often a store that cannot be opened is tried.
const reopenAfter = time.Second

func (l *late) get() (objectstore.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, status.Errorf(status.Closed, "%s: the store is closed", l.name)
	}
	if l.store != nil {
		return l.store, nil
	}
	if time.Now().Before(l.nextTry) {
		return nil, l.lastErr
	}
	s, err := l.open()
	if err != nil {
		l.failed(err)
		return nil, err
	}
	l.store = s
	return s, nil
}

// failed notes an attempt to open the store. l.mu is held, or l is new.
func (l *late) failed(err error) { l.nextTry, l.lastErr = time.Now().Add(reopenAfter), err }

// Get opens the store if need be, as the other methods do.
func (l *late) Get(ctx context.Context, key string, limit int64) ([]byte, objectstore.Info, error) {
	s, err := l.get()
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	return s.Get(ctx, key, limit)
}

func (l *late) ReadRange(ctx context.Context, key string, dst []byte, offset int64) error {
	s, err := l.get()
	if err != nil {
		return err
	}
	return s.ReadRange(ctx, key, dst, offset)
}

func (l *late) ReadScatter(ctx context.Context, key string, dsts [][]byte, offset int64, filled func(i int)) error {
	s, err := l.get()
	if err != nil {
		return err
	}
	return s.ReadScatter(ctx, key, dsts, offset, filled)
}

func (l *late) Head(ctx context.Context, key string) (objectstore.Info, error) {
	s, err := l.get()
	if err != nil {
		return objectstore.Info{}, err
	}
	return s.Head(ctx, key)
}

func (l *late) List(ctx context.Context, prefix, after string, max int) ([]objectstore.Info, bool, error) {
	s, err := l.get()
	if err != nil {
		return nil, false, err
	}
	return s.List(ctx, prefix, after, max)
}

func (l *late) Put(ctx context.Context, key string, src objectstore.Source, cond objectstore.Condition) (objectstore.Info, error) {
	s, err := l.get()
	if err != nil {
		return objectstore.Info{}, err
	}
	return s.Put(ctx, key, src, cond)
}

func (l *late) Delete(ctx context.Context, keys ...string) error {
	s, err := l.get()
	if err != nil {
		return err
	}
	return s.Delete(ctx, keys...)
}

func (l *late) URI(key string) string {
	if s, err := l.get(); err == nil {
		return s.URI(key)
	}
	return l.name + "/" + key
}

func (l *late) Key(uri string) (string, bool) {
	if s, err := l.get(); err == nil {
		return s.Key(uri)
	}
	return "", false
}

// Close closes the store if it was opened; it is not opened any more.
func (l *late) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.store == nil {
		l.closed = true
		return nil
	}
	l.closed = true
	return closeStore(l.store)
}
