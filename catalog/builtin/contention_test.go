package builtin

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"tidemark/catalog"
	"tidemark/catalog/iceberg"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

// writer commits ranges of one partition until count of them are known to be in the table, as a coordinator would: after
// anything but success it looks for success in a fresh load, and sends an attempt of unknown fate again.
func writer(ctx context.Context, c *Catalog, partition int32, count int) error {
	for done := 0; done < count; {
		g, err := c.LoadGroup(ctx, topicID(1))
		if err != nil {
			return err
		}
		updates, files, rng := plan(g, partition, 10, fmt.Sprintf("w%d-%d", partition, done))
		a, err := c.Prepare(ctx, g, updates, files)
		if err != nil {
			return err
		}
		landed, err := send(ctx, c, a, updates[catalog.Main])
		if err != nil {
			return fmt.Errorf("partition %d, offsets %d to %d: %w", partition, rng.Base, rng.End, err)
		}
		if landed {
			done++
		}
	}
	return nil
}

func send(ctx context.Context, c *Catalog, a *Attempt, u catalog.Update) (landed bool, err error) {
	for {
		sent := c.Send(ctx, a)
		g, err := c.LoadGroup(ctx, topicID(1))
		if err != nil {
			return false, err
		}
		view := g.Tables[catalog.Main].View
		if status.Is(sent, status.Conflict) && catalog.Landed(view, u, a.Snapshot(catalog.Main)) {
			return false, fmt.Errorf("answered Conflict for a commit that is in the table: %w", sent)
		}
		if sent == nil && !catalog.Landed(view, u, a.Snapshot(catalog.Main)) {
			return false, fmt.Errorf("answered success for a commit that is not in the table")
		}
		switch step := catalog.Next(view, u, a.Snapshot(catalog.Main), status.Of(sent)); step.Action {
		case catalog.Publish:
			return true, nil
		case catalog.Rebuild:
			return false, nil
		case catalog.Pause:
			return false, fmt.Errorf("paused: %s: %w", step.Reason, sent)
		}
	}
}

// checkTiling fails unless every partition's live files tile [0, next) in both tables.
func checkTiling(t *testing.T, c *Catalog, partitions int, next int64) {
	t.Helper()
	g := load(t, c, topicID(1))
	r := catalog.Read(g.Tables[catalog.Main].View, g.Claim)
	if r.Event != catalog.Normal {
		t.Fatalf("the table reads as %s: %s", r.Event, r.Detail)
	}
	for role, table := range g.Tables {
		covered := map[string]int64{}
		err := table.Metadata().LiveFiles(testContext(t), c.store, func(f iceberg.LiveFile) error {
			var p int32
			var base, end int64
			rest := f.URI[len(table.View.Location)+len("/data/")+22:]
			if _, err := fmt.Sscanf(rest, "/%d/%d-%d-", &p, &base, &end); err != nil {
				return fmt.Errorf("%s: %w", rest, err)
			}
			k := fmt.Sprintf("%d/%d", p, base)
			if _, twice := covered[k]; twice {
				t.Errorf("%s: offsets from %s are there twice", role, k)
			}
			covered[k] = end
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for p := range partitions {
			want := r.Ledger.Progress(int32(p)).Next
			if next >= 0 && want != next {
				t.Errorf("partition %d: next is %d, want %d", p, want, next)
			}
			at := int64(0)
			for at < want {
				end, ok := covered[fmt.Sprintf("%d/%d", p, at)]
				if !ok {
					t.Fatalf("%s: partition %d has no file that starts at %d, next is %d", role, p, at, want)
				}
				delete(covered, fmt.Sprintf("%d/%d", p, at))
				at = end
			}
		}
		if len(covered) > 0 {
			t.Errorf("%s: files beyond the ledger: %v", role, covered)
		}
	}
}

func TestSixteenWritersLoseAndRepeatNothing(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		const writers, commits = 16, 2
		ctx, store := testContext(t), b.store(t)
		create(t, open(t, store, b.mode), testSpec(1, "t"))
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for w := range writers {
			// Every third write of a pointer loses its reply.
			faulty := storetest.Faulty(store,
				storetest.Fault{Op: storetest.Put, Key: "catalog/groups/", Nth: 1 + w%3, Effect: storetest.LostReply},
				storetest.Fault{Op: storetest.Put, Key: "catalog/groups/", Nth: 4 + w%3, Effect: storetest.LostReply, Class: status.Transient})
			c := open(t, faulty, b.mode)
			wg.Go(func() { errs[w] = writer(ctx, c, int32(w), commits) })
		}
		wg.Wait()
		for w, err := range errs {
			if err != nil {
				t.Errorf("writer %d: %v", w, err)
			}
		}
		checkTiling(t, open(t, store, b.mode), writers, 10*commits)
	})
}

// TestAnotherWriterInEveryStep stops writer A at each of its calls to the store in turn, lets B commit, and lets A go on.
func TestAnotherWriterInEveryStep(t *testing.T) {
	eachInMemory(t, func(t *testing.T, b bench) {
		for step := 1; ; step++ {
			ctx, store := testContext(t), b.store(t)
			other := open(t, store, b.mode)
			create(t, other, testSpec(1, "t"))
			stopped := false
			faulty := storetest.Faulty(store)
			a := open(t, faulty, b.mode)
			faulty.Add(storetest.Fault{Nth: step, Effect: storetest.Pass, Run: func() {
				stopped = true
				if err := writer(ctx, other, 1, 1); err != nil {
					t.Errorf("step %d: B: %v", step, err)
				}
			}})
			if err := writer(ctx, a, 0, 1); err != nil {
				t.Fatalf("step %d: A: %v", step, err)
			}
			if !stopped {
				if step < 8 {
					t.Fatalf("a commit makes only %d calls", step-1)
				}
				return
			}
			checkTiling(t, other, 2, 10)
		}
	})
}

// TestCrashInEveryStep ends writer A at each of its calls, before and after the store has done it; B goes on.
func TestCrashInEveryStep(t *testing.T) {
	eachInMemory(t, func(t *testing.T, b bench) {
		for _, effect := range []storetest.Effect{storetest.Fail, storetest.LostReply} {
			for step := 1; ; step++ {
				ctx, store := testContext(t), b.store(t)
				other := open(t, store, b.mode)
				create(t, other, testSpec(1, "t"))
				faulty := storetest.Faulty(store)
				a := open(t, faulty, b.mode)
				faulty.Add(
					storetest.Fault{Nth: step, Effect: effect},
					storetest.Fault{Nth: step + 1, Times: -1, Effect: storetest.Fail})
				if err := writer(ctx, a, 0, 1); err == nil {
					break
				}
				if err := writer(ctx, other, 1, 1); err != nil {
					t.Fatalf("step %d: B: %v", step, err)
				}
				checkTiling(t, other, 2, -1)
			}
		}
	})
}

func TestConflictWhenTheGroupMoved(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, store := testContext(t), b.store(t)
		c := open(t, store, b.mode)
		g := create(t, c, testSpec(1, "t"))
		updates, files, _ := plan(g, 0, 10, "late")
		late, err := c.Prepare(ctx, g, updates, files)
		if err != nil {
			t.Fatal(err)
		}
		if err := writer(ctx, c, 0, 1); err != nil {
			t.Fatal(err)
		}
		wantClass(t, c.Send(ctx, late), status.Conflict)
		checkTiling(t, c, 1, 10)
		// An update computed from another load than the one given is refused before anything is written.
		_, err = c.Prepare(ctx, load(t, c, topicID(1)), updates, files)
		wantClass(t, err, status.Conflict)
		if err := c.Drop(ctx, topicID(1)); err != nil {
			t.Fatal(err)
		}
		wantClass(t, c.Send(ctx, late), status.Conflict)
	})
}

// TestUnknownIsResentIdentical loses the request: the pointer has not moved, so the outcome stays unknown until the same
// attempt is sent again.
func TestUnknownIsResentIdentical(t *testing.T) {
	each(t, func(t *testing.T, b bench) {
		ctx, store := testContext(t), b.store(t)
		faulty := storetest.Faulty(store)
		c := open(t, faulty, b.mode)
		g := create(t, c, testSpec(1, "t"))
		updates, files, _ := plan(g, 0, 10, "x")
		a, err := c.Prepare(ctx, g, updates, files)
		if err != nil {
			t.Fatal(err)
		}
		faulty.Add(storetest.Fault{Op: storetest.Put, Effect: storetest.Fail, Class: status.Unknown})
		wantClass(t, c.Send(ctx, a), status.Unknown)
		if err := c.Send(ctx, a); err != nil {
			t.Fatal(err)
		}
		if err := c.Send(ctx, a); err != nil { // once more: still applied, and still once
			t.Fatal(err)
		}
		checkTiling(t, c, 1, 10)
	})
}
