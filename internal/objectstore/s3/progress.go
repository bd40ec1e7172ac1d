package s3

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// readRate is the least that a body must deliver when nobody says otherwise, in bytes per second.
const readRate = 256 << 10

// readWindow is how long a body may stay behind the least rate before it is ended: below what callers wait for one read, above a pause of
// a store or of this machine.
var readWindow = 10 * time.Second

// restRetry is how often the rest of a body is asked for, for each buffer that is filled from it.
var restRetry = budget.Retry{Attempts: 4, Base: 50 * time.Millisecond, Max: 2 * time.Second}

// errSlow ends a body that came too slowly.
var errSlow = errors.New("too slow")

// watched is a body that must deliver a least rate over any window. Time counts only while somebody reads.
type watched struct {
	io.ReadCloser
	end    context.CancelFunc // of the request
	rate   int64
	window time.Duration
	behind time.Duration // how much later than at the rate the bytes since the last moment in time have come; at the window it ends
	timer  *time.Timer
	slow   atomic.Bool
}

func (s *Store) watch(body io.ReadCloser, end context.CancelFunc) *watched {
	w := &watched{ReadCloser: body, end: end, rate: s.minRate, window: readWindow}
	w.timer = time.AfterFunc(time.Hour, func() { w.slow.Store(true); end() })
	w.timer.Stop()
	return w
}

// Read ends the request when nothing comes.
func (w *watched) Read(p []byte) (int, error) {
	began := time.Now()
	w.timer.Reset(w.window - w.behind)
	n, err := w.ReadCloser.Read(p)
	w.timer.Stop()
	w.behind = max(0, w.behind+time.Since(began)-time.Duration(float64(n)/float64(w.rate)*float64(time.Second)))
	if err == nil && w.behind >= w.window {
		err = errSlow
	}
	if err != nil && err != io.EOF && w.slow.Load() {
		err = errSlow
	}
	return n, err
}

// Close ends the request too: what is left of a body is not worth waiting for.
func (w *watched) Close() error {
	w.timer.Stop()
	err := w.ReadCloser.Close()
	w.end()
	return err
}

// reading is a range on its way: one request, and more for the rest when a body breaks off or comes too slowly.
type reading struct {
	store   *Store
	c       call
	body    *watched
	etag    *string // of the first reply: the rest must be of the same object
	at, end int64   // the next byte, and the one after the last
}

// close ends the request.
func (r *reading) close() { _ = r.body.Close() }

// fill reads exactly dst.
func (r *reading) fill(ctx context.Context, dst []byte) error {
	var final error
	err := r.store.repeats(restRetry).Do(ctx, func(ctx context.Context, attempt int) error {
		if attempt > 1 {
			if final = r.again(ctx); final != nil {
				return nil
			}
		}
		n, err := io.ReadFull(r.body, dst)
		dst = dst[n:]
		r.at += int64(n)
		if err == nil || err == io.EOF && len(dst) == 0 {
			return nil
		}
		return r.broken(ctx, err)
	})
	if final != nil {
		return final
	}
	return err
}

// broken is the error of a body that has failed with err.
func (r *reading) broken(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return status.Wrapf(ctx.Err(), "%s %s at byte %d", r.c.verb, r.c.key, r.at)
	case errors.Is(err, errSlow):
		return status.Errorf(status.Transient, "%s %s: the reply came more slowly than %d bytes a second, up to byte %d", r.c.verb, r.c.key, r.body.rate, r.at)
	}
	return status.Errorf(status.Transient, "%s %s: the reply broke off at byte %d: %w", r.c.verb, r.c.key, r.at, err)
}

// again asks for the rest.
func (r *reading) again(ctx context.Context) error {
	r.close()
	rest, err := r.store.openRange(ctx, r.c, r.at, r.end-r.at, r.etag)
	if status.Is(err, status.Conflict) {
		return status.Errorf(status.Transient, "%s %s: the object was replaced while it was read, up to byte %d", r.c.verb, r.c.key, r.at)
	}
	if err != nil {
		return status.Wrapf(err, "the rest from byte %d", r.at)
	}
	r.store.log.Info("s3.read.resumed", "key", r.c.key, "at", r.at, "bytes", r.end-r.at)
	r.body = rest.body
	return nil
}

// drained makes sure that a body ends here, which also returns the connection to the pool. One that goes on is Corrupt.
func (r *reading) drained(ctx context.Context) error {
	extra, err := r.body.Read(make([]byte, 1))
	switch {
	case extra > 0:
		return status.Errorf(status.Corrupt, "%s %s: the reply goes on after byte %d: %w", r.c.verb, r.c.key, r.at, errWrong)
	case err != nil && err != io.EOF:
		return r.broken(ctx, err)
	}
	return nil
}

// finish makes sure that a body ends behind dst, its last bytes. If it goes on, they are asked for once more.
func (r *reading) finish(ctx context.Context, dst []byte) error {
	err := r.drained(ctx)
	if !errors.Is(err, errWrong) {
		return err
	}
	r.store.log.Warn("s3.read.wrong.reply", "key", r.c.key, "attempt", 1, "error", err.Error())
	r.at -= int64(len(dst))
	if err := r.again(ctx); err != nil {
		return err
	}
	if err := r.fill(ctx, dst); err != nil {
		return err
	}
	return r.drained(ctx)
}
