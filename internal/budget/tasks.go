package budget

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// Tasks owns goroutines: it starts them, recovers and counts their panics, and waits for their end.
// It is the only place in Tidemark with a bare go statement (archtest checks).
type Tasks struct {
	owner  string
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex // guards closed against Add after Wait
	closed bool
	wg     sync.WaitGroup

	running atomic.Int64
	panics  atomic.Int64
}

// alive and lost count the tasks of all owners in this process: a panic is of interest whoever had it.
var alive, lost atomic.Int64

// Report adds what the tasks of this process do to a set of metrics.
func Report(set *telemetry.Set) {
	set.GaugeFunc("tasks_running", "Background tasks of the library that are alive, all plugin instances of this process together. It rises and falls with the load; one that only rises is a leak: report it.",
		func() float64 { return float64(alive.Load()) })
	set.CounterFunc("task_panics_total", "Bugs: tasks of the library that panicked and were recovered, all plugin instances of this process together. The broker goes on; what the task was about failed with class Internal or is made again. The event task.panic in the broker's log has the task and the stack: report it.",
		func() float64 { return float64(lost.Load()) })
}

// NewTasks makes an owner of goroutines; owner names it in events.
func NewTasks(owner string, log *slog.Logger) *Tasks {
	ctx, cancel := context.WithCancel(context.Background())
	return &Tasks{owner: owner, log: log, ctx: ctx, cancel: cancel}
}

// Go runs f in a goroutine with a context that ends at Stop. It reports false, and does not run f, after Stop.
func (t *Tasks) Go(name string, f func(ctx context.Context)) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.wg.Add(1)
	t.running.Add(1)
	alive.Add(1)
	go func() {
		defer t.wg.Done()
		defer alive.Add(-1)
		defer t.running.Add(-1)
		_ = t.Guard(name, func() error { f(t.ctx); return nil })
	}()
	return true
}

// Guard calls f and turns a panic into an Internal error, after logging its stack.
func (t *Tasks) Guard(name string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			t.panics.Add(1)
			lost.Add(1)
			t.log.Error("task.panic", "owner", t.owner, "task", name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = status.Errorf(status.Internal, "%s: panic in %s: %v", t.owner, name, p)
		}
	}()
	return f()
}

// Context ends at Stop.
func (t *Tasks) Context() context.Context { return t.ctx }

// Running is the number of goroutines alive.
func (t *Tasks) Running() int64 { return t.running.Load() }

// Panics is how many tasks have panicked since the start.
func (t *Tasks) Panics() int64 { return t.panics.Load() }

// Stop cancels the tasks and waits for them for at most d. It reports whether all have ended.
func (t *Tasks) Stop(d time.Duration) bool {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	done := make(chan struct{})
	go func() { t.wg.Wait(); close(done) }()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
