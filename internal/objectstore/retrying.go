package objectstore

import (
	"context"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// pace is how slow one attempt of a call may be before it is given up and made again. 256 KiB/s is far below any store
// that can carry a broker's traffic, and the floor leaves room for a starved host and for DNS and TLS.
var pace = budget.Pace{Floor: 20 * time.Second, MinRate: 256 << 10}

// paceBytes bounds what a limit that says "anything" counts for.
const paceBytes = 1 << 30

// keyBytes is what one key of a delete counts towards the pace.
const keyBytes = 4 << 10

// Retrying repeats calls that fail with a retryable class and bounds each attempt by the pace for its bytes (a Get
// by its limit). Puts with a condition get one attempt: the reply to the first may be lost, and the second would then meet its
// own object and report a conflict; the caller must look first. Retries are for whole calls, a large put starts again
// from its first byte unless the store retries parts by itself.
func Retrying(store Store, retry budget.Retry) Store { return &retrying{Store: store, retry: retry} }

type retrying struct {
	Store
	retry budget.Retry
}

// do runs op until it succeeds or is not worth repeating; n is the bytes one attempt moves at most.
func (r *retrying) do(ctx context.Context, n int64, op func(context.Context) error) error {
	tried := 0
	err := r.retry.Do(ctx, func(ctx context.Context, attempt int) error {
		tried = attempt
		ctx, cancel := pace.WithDeadline(ctx, min(n, paceBytes))
		defer cancel()
		return op(ctx)
	})
	if tried > 1 {
		return status.Wrapf(err, "after %d attempts", tried)
	}
	return err
}

// Get is retried.
func (r *retrying) Get(ctx context.Context, key string, limit int64) (data []byte, info Info, err error) {
	err = r.do(ctx, limit, func(ctx context.Context) (err error) {
		data, info, err = r.Store.Get(ctx, key, limit)
		return err
	})
	return data, info, err
}

// ReadRange is retried.
func (r *retrying) ReadRange(ctx context.Context, key string, dst []byte, offset int64) error {
	return r.do(ctx, int64(len(dst)), func(ctx context.Context) error {
		return r.Store.ReadRange(ctx, key, dst, offset)
	})
}

// ReadScatter is retried from the first buffer on that was not filled. Progress gives an attempt its full number of retries again.
func (r *retrying) ReadScatter(ctx context.Context, key string, dsts [][]byte, offset int64, filled func(i int)) error {
	for done := 0; ; {
		before := done
		err := r.do(ctx, Length(dsts[done:]), func(ctx context.Context) error {
			first := done
			return r.Store.ReadScatter(ctx, key, dsts[first:], offset+Length(dsts[:first]), func(i int) { done = first + i + 1; filled(first + i) })
		})
		if err == nil || done == before || ctx.Err() != nil || !status.Of(err).Retryable() {
			return err
		}
	}
}

// Head is retried.
func (r *retrying) Head(ctx context.Context, key string) (info Info, err error) {
	err = r.do(ctx, 0, func(ctx context.Context) (err error) {
		info, err = r.Store.Head(ctx, key)
		return err
	})
	return info, err
}

// List is retried.
func (r *retrying) List(ctx context.Context, prefix, after string, max int) (page []Info, more bool, err error) {
	err = r.do(ctx, int64(max)*keyBytes, func(ctx context.Context) (err error) {
		page, more, err = r.Store.List(ctx, prefix, after, max)
		return err
	})
	return page, more, err
}

// Put is retried if it has no condition.
func (r *retrying) Put(ctx context.Context, key string, src Source, cond Condition) (info Info, err error) {
	if cond != (Condition{}) {
		ctx, cancel := pace.WithDeadline(ctx, src.Size())
		defer cancel()
		return r.Store.Put(ctx, key, src, cond)
	}
	err = r.do(ctx, src.Size(), func(ctx context.Context) (err error) {
		info, err = r.Store.Put(ctx, key, src, cond)
		return err
	})
	return info, err
}

// Delete is retried.
func (r *retrying) Delete(ctx context.Context, keys ...string) error {
	return r.do(ctx, int64(len(keys))*keyBytes, func(ctx context.Context) error {
		return r.Store.Delete(ctx, keys...)
	})
}
