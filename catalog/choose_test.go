package catalog_test

import (
	"testing"

	"tidemark/catalog"
	"tidemark/catalog/catalogtest"
)

// TestRulesOfChooseAreNeeded takes out one rule at a time: the simulation must notice within its schedules.
func TestRulesOfChooseAreNeeded(t *testing.T) {
	for _, rule := range []string{"contiguity", "generation", "end lineage", "next lineage"} {
		t.Run(rule, func(t *testing.T) {
			for seed := uint64(1); seed <= 2000; seed++ {
				r := catalogtest.Run(catalogtest.Config{Seed: seed, Steps: 250, Choose: catalog.Mutant(rule)})
				if r.Violation != "" {
					t.Logf("caught by seed %d: %s", seed, r.Violation)
					return
				}
			}
			t.Errorf("without the rule %q no schedule fails", rule)
		})
	}
}
