package objectstore

import (
	"context"

	"tidemark/internal/budget"
)

// Limited keeps the bytes that go to a store and come from it within a limit; nil is none. Bytes are paid for as they move, at the latest when they are
// there. It belongs below Retrying, so that every attempt counts, and above what measures how fast the store is.
func Limited(store Store, limit *budget.Limit) Store {
	if limit == nil {
		return store
	}
	return &limited{store, limit}
}

type limited struct {
	Store
	limit *budget.Limit
}

// Pass waits until n bytes may move under the limits of ctx, and notes the wait in its tally. Stores call it for the bodies they write.
func Pass(ctx context.Context, n int64) error {
	waited, err := budget.Pass(ctx, n)
	TallyOf(ctx).Waited(waited)
	return err
}

func (l *limited) enter(ctx context.Context) context.Context { return budget.WithLimit(ctx, l.limit) }

// Get pays for the object once it is there: its size is not known before.
func (l *limited) Get(ctx context.Context, key string, most int64) ([]byte, Info, error) {
	ctx = l.enter(ctx)
	data, info, err := l.Store.Get(ctx, key, most)
	if err == nil {
		err = Pass(ctx, int64(len(data)))
	}
	return data, info, err
}

// ReadRange waits before the read.
func (l *limited) ReadRange(ctx context.Context, key string, dst []byte, offset int64) error {
	ctx = l.enter(ctx)
	if err := Pass(ctx, int64(len(dst))); err != nil {
		return err
	}
	return l.Store.ReadRange(ctx, key, dst, offset)
}

// ReadScatter waits before each buffer. A buffer that is full is reported before the wait for the next.
func (l *limited) ReadScatter(ctx context.Context, key string, dsts [][]byte, offset int64, filled func(i int)) error {
	ctx = l.enter(ctx)
	if len(dsts) > 0 {
		if err := Pass(ctx, int64(len(dsts[0]))); err != nil {
			return err
		}
	}
	return l.Store.ReadScatter(ctx, key, dsts, offset, func(i int) {
		filled(i)
		if i+1 < len(dsts) {
			_ = Pass(ctx, int64(len(dsts[i+1]))) // it fails when ctx has ended, which the read finds too
		}
	})
}

// Put waits while the body is sent.
func (l *limited) Put(ctx context.Context, key string, src Source, cond Condition) (Info, error) {
	return l.Store.Put(l.enter(ctx), key, src, cond)
}
