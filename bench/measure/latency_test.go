package measure

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestSummaryIsNearestRank(t *testing.T) {
	l := NewLatencies(1000)
	for i := 1000; i >= 1; i-- {
		l.Add(time.Duration(i) * time.Millisecond)
	}
	want := Summary{Count: 1000, P50: 500 * time.Millisecond, P99: 990 * time.Millisecond, P999: 999 * time.Millisecond, High: time.Second}
	if got := l.Summary(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSummaryOfFew(t *testing.T) {
	l := NewLatencies(0)
	if got := l.Summary(); got != (Summary{}) {
		t.Errorf("nothing gave %+v", got)
	}
	l.Add(time.Second)
	if got := l.Summary(); got != (Summary{1, time.Second, time.Second, time.Second, time.Second}) {
		t.Errorf("one gave %+v", got)
	}
}

func TestOpenLoopKeepsTheScheduleThroughAStall(t *testing.T) {
	var due []time.Time
	var worst time.Duration
	err := OpenLoop(context.Background(), 1000, 100, func(i int, intended time.Time) error {
		if i == 10 {
			time.Sleep(30 * time.Millisecond) // the stall under test
		}
		due = append(due, intended)
		if i > 10 {
			worst = max(worst, time.Since(intended))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range due {
		if want := due[0].Add(time.Duration(i) * time.Millisecond); !due[i].Equal(want) {
			t.Fatalf("call %d was due %s after the first, its time is %s", i, due[i].Sub(due[0]), want.Sub(due[0]))
		}
	}
	if len(due) != 100 || worst < 20*time.Millisecond {
		t.Errorf("%d calls; after a stall of 30 ms the latest call was %s late", len(due), worst)
	}
}

func TestOpenLoopSendsNothingEarly(t *testing.T) {
	err := OpenLoop(context.Background(), 2000, 50, func(i int, intended time.Time) error {
		if early := time.Until(intended); early > 0 {
			t.Errorf("call %d came %s early", i, early)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenLoopEndsEarly(t *testing.T) {
	broken := errors.New("broken")
	calls := 0
	err := OpenLoop(context.Background(), 1e6, 100, func(int, time.Time) error { calls++; return broken })
	if !errors.Is(err, broken) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	ctx, cancel := context.WithCancel(context.Background())
	err = OpenLoop(ctx, 0.001, 2, func(int, time.Time) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
