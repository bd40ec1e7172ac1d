package budget

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// testKey is a key of a value between two paced contexts.
type testKey struct{}

var testPace = Pace{Floor: 10 * time.Second, MinRate: 1000}

func TestDeadlineFollowsTheBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := testPace.WithDeadline(t.Context(), 5000)
		defer cancel()
		child, stop := context.WithTimeout(ctx, time.Hour)
		defer stop()
		if at, ok := child.Deadline(); !ok || at.Sub(start) != 15*time.Second {
			t.Errorf("deadline %v, %v", at.Sub(start), ok)
		}
		<-child.Done()
		if took := time.Since(start); took != 15*time.Second || !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(child.Err(), context.DeadlineExceeded) {
			t.Errorf("after %v: %v, %v", took, ctx.Err(), child.Err())
		}
		Extend(child, time.Hour)
		if ctx.Err() == nil {
			t.Error("a context that has ended goes on")
		}
	})
}

// All deadlines above move, those that others made do not.
func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		outer, cancel := testPace.WithDeadline(t.Context(), 50_000)
		defer cancel()
		fixed, stop := context.WithTimeout(outer, 40*time.Second)
		defer stop()
		inner, end := testPace.WithDeadline(context.WithValue(fixed, testKey{}, 2), 0)
		defer end()
		for range 5 {
			time.Sleep(8 * time.Second) // virtual: what a call waits for permission
			if inner.Err() == nil {
				Extend(inner, 8*time.Second)
			}
		}
		<-inner.Done()
		if took := time.Since(start); took != 40*time.Second || !errors.Is(inner.Err(), context.DeadlineExceeded) {
			t.Errorf("inner ended after %v: %v, want the fixed deadline", took, inner.Err())
		}
		<-outer.Done()
		if took := time.Since(start); took < 90*time.Second || took > 100*time.Second {
			t.Errorf("outer ended after %v", took)
		}
	})
}

func TestBoundedEndsWithItsParentAndItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		ctx, end := testPace.WithDeadline(parent, 0)
		child, stop := context.WithCancel(ctx)
		defer stop()
		called := make(chan struct{})
		context.AfterFunc(child, func() { close(called) })
		if unused := context.AfterFunc(ctx, func() { t.Error("it was taken back") }); !unused() || unused() {
			t.Error("taking back")
		}
		cancel()
		<-called
		synctest.Wait()
		if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(child.Err(), context.Canceled) {
			t.Errorf("%v, %v", ctx.Err(), child.Err())
		}
		end()
		ctx, end = testPace.WithDeadline(t.Context(), 0)
		late, stopLate := context.WithCancel(ctx)
		defer stopLate()
		end()
		if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(late.Err(), context.Canceled) {
			t.Errorf("after cancel: %v, %v", ctx.Err(), late.Err())
		}
		born, stopBorn := context.WithCancel(ctx)
		defer stopBorn()
		if born.Err() == nil {
			t.Error("a child of a context that has ended lives")
		}
	})
}

// A child that is made in the moment in which its parent ends: package context holds the child's lock while it asks for AfterFunc, and what it
// passes takes that lock and the parent's.
func TestAChildOfAContextThatJustEnded(t *testing.T) {
	ctx, end := testPace.WithDeadline(t.Context(), 0)
	end()
	var child sync.Mutex
	called := make(chan struct{})
	returned := make(chan bool, 1)
	go func() {
		child.Lock()
		defer child.Unlock()
		stop := ctx.(interface{ AfterFunc(func()) func() bool }).AfterFunc(func() {
			_ = ctx.Err()
			child.Lock()
			defer child.Unlock()
			close(called)
		})
		returned <- stop()
	}()
	for range 2 {
		select {
		case stopped := <-returned:
			if stopped {
				t.Error("what has been called cannot be taken back")
			}
		case <-called:
			called = nil
		case <-time.After(30 * time.Second):
			t.Fatal("it hangs: the function runs under a lock")
		}
	}
}
