package objectstore

import (
	"context"
	"sync/atomic"
	"time"
)

// Tally counts what calls of a store cost, whatever lies between the caller and the store. It travels in the context; a nil
// Tally counts nothing. It is safe for concurrent use.
type Tally struct{ requests, parts, waited atomic.Int64 }

type tallyKey struct{}

// WithTally makes calls under ctx count in t too.
func WithTally(ctx context.Context, t *Tally) context.Context {
	return context.WithValue(ctx, tallyKey{}, t)
}

// TallyOf is the tally of ctx, nil if it has none.
func TallyOf(ctx context.Context) *Tally {
	t, _ := ctx.Value(tallyKey{}).(*Tally)
	return t
}

// Request notes one request to the store, each attempt; for the file store, one object written.
func (t *Tally) Request() {
	if t != nil {
		t.requests.Add(1)
	}
}

// Part notes that one part of an object was stored; an object that is sent whole is one part.
func (t *Tally) Part() {
	if t != nil {
		t.parts.Add(1)
	}
}

// Waited notes time spent waiting for a limit on bytes per second. Waits of several parts at the same time add up.
func (t *Tally) Waited(d time.Duration) {
	if t != nil {
		t.waited.Add(int64(d))
	}
}

// Sums are the counts so far.
func (t *Tally) Sums() (requests, parts int64, waited time.Duration) {
	if t == nil {
		return 0, 0, 0
	}
	return t.requests.Load(), t.parts.Load(), time.Duration(t.waited.Load())
}
