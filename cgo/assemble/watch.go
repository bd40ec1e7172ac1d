package assemble

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// failuresToSay is how many calls must fail in a row before a store counts as unreachable: one lost reply is no outage.
const failuresToSay = 3

// lookTimeout bounds the look at the store at the start.
const lookTimeout = 30 * time.Second

// watched says once that a store cannot be reached or refuses, and once that it can be reached again.
type watched struct {
	objectstore.Store
	name  string
	log   *slog.Logger
	tasks *budget.Tasks

	mu       sync.Mutex
	failures int // in a row
	said     bool
}

func watch(store objectstore.Store, name string, log *slog.Logger) *watched {
	return &watched{Store: store, name: name, log: log, tasks: budget.NewTasks("store", log)}
}

// look reads something that need not be there, so that an operator learns at the start what is wrong with the store.
func (w *watched) look() {
	w.tasks.Go("look", func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		for range failuresToSay {
			_, err := w.Head(ctx, "catalog/look")
			if !failing(err) || ctx.Err() != nil || !budget.Sleep(ctx, time.Second) {
				return
			}
		}
	})
}

// close ends the look within d.
func (w *watched) close(d time.Duration) bool { return w.tasks.Stop(d) }

// failing tells whether an error says something about the store and not about one object.
func failing(err error) bool {
	switch status.Of(err) {
	case status.Transient, status.Unknown, status.Invalid:
		return err != nil
	}
	return false
}

// note takes the outcome of a call.
func (w *watched) note(err error) {
	if status.Is(err, status.Cancelled) || status.Is(err, status.Closed) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !failing(err) {
		if w.said {
			w.log.Info("store.reachable", "store", w.name)
		}
		w.failures, w.said = 0, false
		return
	}
	w.failures++
	if w.failures >= failuresToSay && !w.said {
		w.said = true
		w.log.Error("store.unreachable", "store", w.name, "class", status.Of(err).String(), "error", err.Error(),
			"effect", "local data is served; tiering and tables wait and go on by themselves")
	}
}

// Get notes its outcome, as the other methods do.
func (w *watched) Get(ctx context.Context, key string, limit int64) ([]byte, objectstore.Info, error) {
	data, info, err := w.Store.Get(ctx, key, limit)
	w.note(err)
	return data, info, err
}

func (w *watched) ReadRange(ctx context.Context, key string, dst []byte, offset int64) error {
	err := w.Store.ReadRange(ctx, key, dst, offset)
	w.note(err)
	return err
}

func (w *watched) ReadScatter(ctx context.Context, key string, dsts [][]byte, offset int64, filled func(i int)) error {
	err := w.Store.ReadScatter(ctx, key, dsts, offset, filled)
	w.note(err)
	return err
}

func (w *watched) Head(ctx context.Context, key string) (objectstore.Info, error) {
	info, err := w.Store.Head(ctx, key)
	w.note(err)
	return info, err
}

func (w *watched) List(ctx context.Context, prefix, after string, max int) ([]objectstore.Info, bool, error) {
	page, more, err := w.Store.List(ctx, prefix, after, max)
	w.note(err)
	return page, more, err
}

func (w *watched) Put(ctx context.Context, key string, src objectstore.Source, cond objectstore.Condition) (objectstore.Info, error) {
	info, err := w.Store.Put(ctx, key, src, cond)
	w.note(err)
	return info, err
}

func (w *watched) Delete(ctx context.Context, keys ...string) error {
	err := w.Store.Delete(ctx, keys...)
	w.note(err)
	return err
}
