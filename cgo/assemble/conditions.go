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

// prober is a store whose conditional writes may not be what they are said to be.
type prober interface {
	Probe(ctx context.Context) error
}

// How often conditional writes are tried: soon again while the store cannot be reached, seldom once it has failed them (it may be
// upgraded).
const (
	probeTimeout = time.Minute
	probeMax     = time.Minute
	probeAgain   = 10 * time.Minute
)

// conditions knows whether the store keeps the conditions of writes. Without them two leaders could both commit: no table is written
// before they are proved. Tiering does not need them.
type conditions struct {
	name string
	log  *slog.Logger

	mu  sync.Mutex
	err error // why no table may be written; nil once proved
}

// watchConditions proves the conditional writes of a store in the background until they hold. A store that cannot be proved, as the
// file store, which relies on the operating system, has nothing to prove.
func watchConditions(store objectstore.Store, name string, tasks *budget.Tasks, log *slog.Logger) *conditions {
	c := &conditions{name: name, log: log}
	p, ok := store.(prober)
	if !ok {
		return c
	}
	c.err = status.Errorf(status.Transient, "the conditional writes of %s are not proved yet; no table is written before", name)
	tasks.Go("probe", func(ctx context.Context) { c.prove(ctx, p, time.Second) })
	return c
}

// prove tries until the conditions hold or ctx ends; pause is that after the first failure.
func (c *conditions) prove(ctx context.Context, p prober, pause time.Duration) {
	for wait := pause; ; wait = min(2*wait, probeMax) {
		probing, cancel := context.WithTimeout(ctx, probeTimeout)
		err := p.Probe(probing)
		cancel()
		if ctx.Err() != nil {
			return
		}
		c.found(err)
		switch {
		case err == nil:
			return
		case status.Is(err, status.Unsupported):
			wait = max(wait, probeAgain)
		}
		if !budget.Sleep(ctx, wait) {
			return
		}
	}
}

// found takes the outcome of one try. What is known of a store that failed stays known while it cannot be reached.
func (c *conditions) found(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	unfit := status.Is(c.err, status.Unsupported)
	switch {
	case err == nil:
		if unfit {
			c.log.Info("store.conditions.hold", "store", c.name, "effect", "tables go on")
		}
		c.err = nil
	case status.Is(err, status.Unsupported):
		if !unfit {
			c.log.Error("store.conditions.ignored", "store", c.name, "error", err.Error(),
				"effect", "no table is written; tiering is not affected; tried again every "+probeAgain.String())
		}
		c.err = err
	case !unfit:
		c.err = status.Errorf(status.Transient, "the conditional writes of %s could not be proved yet, no table is written before: %w", c.name, err)
	}
}

// check is nil when tables may be written. Errors: Transient while that is not known, Unsupported when they must not.
func (c *conditions) check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
