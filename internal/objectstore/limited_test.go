package objectstore_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// What is written and what is read count, each byte once; a wait is in the tally of the caller; deadlines that follow the bytes do not strike because of it.
func TestLimitedCountsBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const perSecond, size = 1 << 20, 8 << 20
		file, err := objectstore.OpenFile(t.TempDir(), objectstore.FileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		store := objectstore.Limited(file, budget.NewLimit("test", perSecond, func(time.Duration) {}))
		data := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		for name, call := range map[string]func(context.Context) error{
			"put": func(ctx context.Context) error {
				_, err := store.Put(ctx, "a", bytes.NewReader(data), objectstore.Condition{})
				return err
			},
			"get": func(ctx context.Context) error {
				got, _, err := store.Get(ctx, "a", size)
				if err == nil && !bytes.Equal(got, data) {
					t.Error("the object differs")
				}
				return err
			},
			"range": func(ctx context.Context) error { return store.ReadRange(ctx, "a", make([]byte, size), 0) },
			"scatter": func(ctx context.Context) error {
				n := 0
				err := store.ReadScatter(ctx, "a", [][]byte{make([]byte, size/2), make([]byte, size/2)}, 0, func(i int) {
					if i != n {
						t.Errorf("buffer %d is reported as the %dth", i, n)
					}
					n++
				})
				if n != 2 {
					t.Errorf("%d buffers were reported", n)
				}
				return err
			},
		} {
			if name != "put" {
				if _, err := file.Put(t.Context(), "a", bytes.NewReader(data), objectstore.Condition{}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute) // virtual: the limit is not in debt
			var tally objectstore.Tally
			ctx, cancel := budget.Pace{Floor: time.Second, MinRate: 1 << 40}.WithDeadline(objectstore.WithTally(t.Context(), &tally), size)
			start := time.Now()
			if err := call(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			took := time.Since(start)
			if _, _, waited := tally.Sums(); waited != took || took < 7500*time.Millisecond || took > 8*time.Second {
				t.Errorf("%s took %v, %v of it waiting; 8 MiB at 1 MiB/s take 8 s less what may come at once", name, took, waited)
			}
			cancel()
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := store.Put(short, "b", bytes.NewReader(data), objectstore.Condition{}); !status.Is(err, status.Transient) {
			t.Errorf("put within a second: %v", err)
		}
	})
}

func TestNoLimit(t *testing.T) {
	file, err := objectstore.OpenFile(t.TempDir(), objectstore.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if store := objectstore.Limited(file, nil); store != objectstore.Store(file) {
		t.Errorf("%T", store)
	}
}
