package objectstore_test

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

var thrice = budget.Retry{Attempts: 3, Base: time.Millisecond, Max: time.Millisecond}

func TestRetryingRepeatsWhatMayBeRepeated(t *testing.T) {
	calls := map[storetest.Op]func(objectstore.Store) error{
		storetest.Get: func(s objectstore.Store) error {
			_, _, err := s.Get(context.Background(), "a", math.MaxInt64)
			return err
		},
		storetest.Range:  func(s objectstore.Store) error { return s.ReadRange(context.Background(), "a", make([]byte, 1), 0) },
		storetest.Head:   func(s objectstore.Store) error { _, err := s.Head(context.Background(), "a"); return err },
		storetest.List:   func(s objectstore.Store) error { _, _, err := s.List(context.Background(), "", "", 9); return err },
		storetest.Delete: func(s objectstore.Store) error { return s.Delete(context.Background(), "b") },
		storetest.Put: func(s objectstore.Store) error {
			_, err := s.Put(context.Background(), "b", strings.NewReader("y"), objectstore.Condition{})
			return err
		},
	}
	for op, call := range calls {
		for _, c := range []struct {
			times int
			class status.Class
			want  status.Class
			calls int
		}{
			{2, status.Transient, status.OK, 3},
			{3, status.Throttled, status.Throttled, 3},
			{1, status.NotFound, status.NotFound, 1},
			{1, status.Unknown, status.Unknown, 1},
		} {
			memory := storetest.NewMemory()
			put(t, memory, "a", "x")
			f := storetest.Faulty(memory, storetest.Fault{Op: op, Times: c.times, Class: c.class})
			err := call(objectstore.Retrying(f, thrice))
			if !status.Is(err, c.want) || f.Count(op) != c.calls {
				t.Errorf("%s failing %d times with %v: %v after %d calls, want %v after %d", op, c.times, c.class, err, f.Count(op), c.want, c.calls)
			}
			if c.calls > 1 && err != nil && !strings.HasPrefix(err.Error(), "after 3 attempts: ") {
				t.Errorf("%s: %v", op, err)
			}
		}
	}
}

func TestRetryingLeavesConditionalPutsAlone(t *testing.T) {
	for _, cond := range []objectstore.Condition{{Absent: true}, {Match: "x"}} {
		f := storetest.Faulty(storetest.NewMemory(), storetest.Fault{Op: storetest.Put})
		_, err := objectstore.Retrying(f, thrice).Put(t.Context(), "a", strings.NewReader("x"), cond)
		if !status.Is(err, status.Transient) || f.Count(storetest.Put) != 1 {
			t.Errorf("%+v: %v after %d calls", cond, err, f.Count(storetest.Put))
		}
	}
}

func TestRetryingGivesUpAStalledAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storetest.NewMemory()
		put(t, memory, "a", "x")
		f := storetest.Faulty(memory, storetest.Fault{Op: storetest.Get, Effect: storetest.Stall})
		start := time.Now()
		data, _, err := objectstore.Retrying(f, thrice).Get(t.Context(), "a", 256<<10)
		if err != nil || string(data) != "x" || f.Count(storetest.Get) != 2 {
			t.Errorf("%q, %v after %d calls", data, err, f.Count(storetest.Get))
		}
		if took := time.Since(start); took < 21*time.Second || took > 22*time.Second {
			t.Errorf("took %v: one attempt may last the floor of 20 s and a second for its bytes", took)
		}
	})
}

// A scattered read goes on where it broke off, and reports no buffer twice.
func TestRetryingScatterResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := storetest.NewMemory()
		if _, err := mem.Put(t.Context(), "a", strings.NewReader("0123456789abcdef"), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		faulty := storetest.Faulty(mem, storetest.Fault{Op: storetest.Range, Times: 3, Effect: storetest.Break})
		store := objectstore.Retrying(faulty, budget.Retry{Attempts: 2, Base: time.Second, Max: time.Second})
		dsts := make([][]byte, 8)
		for i := range dsts {
			dsts[i] = make([]byte, 2)
		}
		var order []int
		if err := store.ReadScatter(t.Context(), "a", dsts, 0, func(i int) { order = append(order, i) }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(order, []int{0, 1, 2, 3, 4, 5, 6, 7}) || string(bytes.Join(dsts, nil)) != "0123456789abcdef" {
			t.Errorf("filled %v: %q", order, dsts)
		}
		if n := faulty.Count(storetest.Range); n != 4 {
			t.Errorf("%d requests; three break, two attempts are allowed without progress", n)
		}
	})
}
