package sweep

import "testing"

// cases are all of them.
func cases(f func(Case)) {
	for _, p := range []Partition{Foreign, Led, Vanished, 9} {
		for _, state := range []State{Absent, Started, Finished, Deleting, 9} {
			for bits := range 1 << 6 {
				on := func(n int) bool { return bits&(1<<n) != 0 }
				f(Case{p, state, on(0), on(1), on(2), on(3), on(4), on(5)})
			}
		}
	}
}

// TestDecideTouchesOnlyWhatNothingNeeds states the rule again, as one condition for each action.
func TestDecideTouchesOnlyWhatNothingNeeds(t *testing.T) {
	count := map[Action]int{}
	cases(func(c Case) {
		v := Decide(c)
		count[v.Action]++
		quiet := c.Old && !c.Copying && !c.Pending
		needed := c.Readable && c.Held
		orphan := c.Partition == Led && (c.State == Absent && !(c.Readable && c.Beyond) || c.State == Deleting)
		remove := quiet && !needed && (orphan || c.Partition == Vanished)
		giveUp := quiet && c.Partition == Led && c.State == Started
		if remove != (v.Action == Remove) || giveUp != (v.Action == GiveUp) {
			t.Errorf("%+v: %+v", c, v)
		}
		if v.Reason == "" {
			t.Errorf("%+v has no reason", c)
		}
	})
	if count[Remove] == 0 || count[GiveUp] == 0 || count[Keep] == 0 {
		t.Errorf("actions %v", count)
	}
}

// TestDecideIsCareful: the first look at a segment knows fewer facts than the last, and keeps only what the last would keep.
func TestDecideIsCareful(t *testing.T) {
	cases(func(c Case) {
		first := c
		first.Held, first.Beyond, first.State = false, false, Absent
		if Decide(first).Action == Keep && Decide(c).Action != Keep {
			t.Errorf("%+v is kept at the first look and not at the last", c)
		}
		for _, more := range []func(*Case){func(c *Case) { c.Copying = true }, func(c *Case) { c.Pending = true }, func(c *Case) { c.Held = true },
			func(c *Case) { c.Beyond = true }, func(c *Case) { c.State = Finished }} {
			with := c
			more(&with)
			if c.Partition != Vanished && Decide(c).Action == Keep && Decide(with).Action != Keep {
				t.Errorf("%+v is kept, %+v is not", c, with)
			}
		}
	})
}
