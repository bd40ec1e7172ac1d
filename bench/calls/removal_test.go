package calls

import (
	"math"
	"testing"
)

// TestFaultsShareTheChance: of all requests the given share is hit, a third of it by each kind.
func TestFaultsShareTheChance(t *testing.T) {
	rules, left := faults(0.3), 1.0
	if len(rules) != 3 || faults(0) != nil {
		t.Fatalf("%+v", rules)
	}
	for _, r := range rules {
		if hit := left * r.Chance; math.Abs(hit-0.1) > 1e-9 {
			t.Errorf("%s hits %v of all requests", r.Name, hit)
		}
		left -= left * r.Chance
	}
}
