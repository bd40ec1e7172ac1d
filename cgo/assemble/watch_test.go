package assemble

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// answering is a store whose Head answers what it is told to.
type answering struct {
	objectstore.Store
	err error
}

func (a *answering) Head(context.Context, string) (objectstore.Info, error) {
	return objectstore.Info{}, a.err
}

func TestWatchedSaysOnceWhatHasChanged(t *testing.T) {
	var out bytes.Buffer
	inner := &answering{}
	w := watch(inner, "s3://b", slog.New(slog.NewTextHandler(&out, nil)))
	call := func(err error, times int) {
		inner.err = err
		for range times {
			_, _ = w.Head(t.Context(), "k")
		}
	}
	said := func(unreachable, reachable int) {
		t.Helper()
		if u, r := strings.Count(out.String(), "store.unreachable"), strings.Count(out.String(), "store.reachable"); u != unreachable || r != reachable {
			t.Errorf("unreachable %d times, reachable %d times, want %d and %d:\n%s", u, r, unreachable, reachable, out.String())
		}
	}
	down := status.Errorf(status.Transient, "connection refused")
	call(nil, 3)
	call(down, failuresToSay-1)
	call(status.Errorf(status.NotFound, "no such object"), 1)
	call(down, failuresToSay-1)
	said(0, 0)
	call(status.Errorf(status.Cancelled, "ended"), 5)
	said(0, 0)
	call(down, 50)
	said(1, 0)
	call(status.Errorf(status.Conflict, "exists"), 2)
	said(1, 1)
	call(status.Errorf(status.Invalid, "403"), 50)
	said(2, 1)
}

func TestWatchedLooksAtTheStart(t *testing.T) {
	var out bytes.Buffer
	w := watch(&answering{err: status.Errorf(status.Transient, "connection refused")}, "s3://b", slog.New(slog.NewTextHandler(&out, nil)))
	w.look()
	deadline := time.Now().Add(20 * time.Second)
	for !func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.said }() {
		if time.Now().After(deadline) {
			t.Fatal("an unreachable store was not said")
		}
		time.Sleep(10 * time.Millisecond) // the pace of looking at a condition
	}
	if !w.close(5 * time.Second) {
		t.Error("the look did not end")
	}
	if !strings.Contains(out.String(), "connection refused") {
		t.Errorf("the reason is missing: %s", out.String())
	}
}
