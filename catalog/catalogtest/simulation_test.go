package catalogtest

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"
)

const steps = 250

var (
	seed      = flag.Uint64("simulation.seed", 0, "run and trace this one seed only")
	schedules = flag.Uint64("simulation.schedules", 2000, "seeds to run")
)

// report prints the whole trace of a failing seed.
func report(t *testing.T, c Config, r Result) {
	t.Helper()
	c.Trace = true
	t.Errorf("seed %d: %s\n%s\nreplay: go test ./catalog/catalogtest -run 'TestSimulation$' -simulation.seed=%d", c.Seed, r.Violation,
		strings.Join(Run(c).Trace, "\n"), c.Seed)
}

func TestSimulation(t *testing.T) {
	if *seed != 0 {
		r := Run(Config{Seed: *seed, Steps: steps, Trace: true})
		t.Logf("%s\n%s", strings.Join(r.Trace, "\n"), r.Violation)
		if r.Violation != "" {
			t.Error(r.Violation)
		}
		return
	}
	total := map[string]int{}
	for s := uint64(1); s <= *schedules; s++ {
		c := Config{Seed: s, Steps: steps}
		r := Run(c)
		for k, n := range r.Counts {
			total[k] += n
		}
		if r.Violation != "" {
			report(t, c, r)
			return
		}
	}
	for _, k := range slices.Sorted(maps.Keys(total)) {
		t.Logf("%-20s %d", k, total[k])
	}
}

// TestMutationsAreCaught takes out one pin or rule at a time; a simulation that does not notice proves nothing.
func TestMutationsAreCaught(t *testing.T) {
	for name, mutate := range map[string]func(*Config){
		"head pin":                      func(c *Config) { c.IgnoreHead = true },
		"progress tag pin":              func(c *Config) { c.IgnoreTag = true },
		"ledger re-read after conflict": func(c *Config) { c.KeepLedger = true },
	} {
		t.Run(name, func(t *testing.T) {
			for s := uint64(1); s <= *schedules; s++ {
				c := Config{Seed: s, Steps: steps}
				mutate(&c)
				if r := Run(c); r.Violation != "" {
					t.Logf("caught by seed %d: %s", s, r.Violation)
					return
				}
			}
			t.Errorf("without the %s no schedule of %d fails", name, *schedules)
		})
	}
}
