package budget

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

func TestBytesServesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBytes("test", 10)
		release, err := b.Acquire(t.Context(), 8)
		if err != nil {
			t.Fatal(err)
		}
		var order []int64
		for _, n := range []int64{9, 2} {
			go func() {
				r, err := b.Acquire(context.Background(), n)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, n)
				r()
			}()
			synctest.Wait()
		}
		if _, ok := b.TryAcquire(1); ok {
			t.Error("TryAcquire overtook a waiter")
		}
		release()
		release() // twice is harmless
		synctest.Wait()
		if len(order) != 2 || order[0] != 9 {
			t.Errorf("order = %v, want 9 before 2", order)
		}
		if b.Used() != 0 {
			t.Errorf("used = %d after all was released", b.Used())
		}
	})
}

func TestBytesGivesUpWithContext(t *testing.T) {
	b := NewBytes("memory", 4)
	if _, err := b.Acquire(context.Background(), 5); !status.Is(err, status.Invalid) {
		t.Errorf("more than the capacity: %v", err)
	}
	release, _ := b.Acquire(context.Background(), 4)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.Acquire(ctx, 1); !status.Is(err, status.Cancelled) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := b.Acquire(ctx, 1); !status.Is(err, status.Transient) {
		t.Errorf("deadline: %v", err)
	}
	release()
	if r, ok := b.TryAcquire(4); !ok {
		t.Error("a waiter that gave up kept its place")
	} else {
		r()
	}
}

func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := Retry{Attempts: 3, Base: time.Second, Max: 2 * time.Second}
		calls := 0
		err := r.Do(t.Context(), func(context.Context, int) error {
			calls++
			return status.Errorf(status.Transient, "later")
		})
		if calls != 3 || !status.Is(err, status.Transient) {
			t.Errorf("calls = %d, err = %v", calls, err)
		}
		calls = 0
		_ = r.Do(t.Context(), func(context.Context, int) error { calls++; return errors.New("no") })
		if calls != 1 {
			t.Errorf("an Internal error was tried %d times", calls)
		}
	})
}

func TestTasksRecoverAndStop(t *testing.T) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	tasks := NewTasks("test", log)
	before := reported(t)
	done := make(chan struct{})
	tasks.Go("boom", func(context.Context) { defer close(done); panic("boom") })
	<-done
	tasks.Go("wait", func(ctx context.Context) { <-ctx.Done() })
	if now := reported(t); now["tidemark_tasks_running"] < before["tidemark_tasks_running"]+1 {
		t.Errorf("a task waits: %v, before %v", now, before)
	}
	if !tasks.Stop(10 * time.Second) {
		t.Error("tasks did not stop")
	}
	if tasks.Panics() != 1 {
		t.Errorf("panics = %d", tasks.Panics())
	}
	after := reported(t)
	if after["tidemark_tasks_running"] != before["tidemark_tasks_running"] || after["tidemark_task_panics_total"] != before["tidemark_task_panics_total"]+1 {
		t.Errorf("all have ended: %v, before %v", after, before)
	}
	if tasks.Go("late", func(context.Context) { t.Error("ran after Stop") }) {
		t.Error("Go after Stop reported true")
	}
}

// reported is what the metrics of tasks say.
func reported(t *testing.T) map[string]float64 {
	t.Helper()
	set := telemetry.NewSet()
	Report(set)
	samples, err := set.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, s := range samples {
		out[s.Name] = s.Value
	}
	return out
}

func TestPace(t *testing.T) {
	if got := (Pace{Floor: time.Second, MinRate: 1 << 20}).For(2 << 20); got != 3*time.Second {
		t.Errorf("For = %v", got)
	}
}
