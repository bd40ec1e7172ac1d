package catalog_test

import (
	"fmt"
	"strings"
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

// TestChoose runs one partition from next 100, epoch 1. An offer is base-end, with options: e<leader epoch>, b<bytes>, g<generation>,
// off or unknown for the lineage of its end.
func TestChoose(t *testing.T) {
	cases := []struct{ offers, ledger, chosen, dropped, waiting string }{
		{"100-110", "", "100-110", "", ""},
		{"110-120 100-110 120-125", "", "100-110 110-120 120-125", "", ""},
		{"100-110 100-110", "", "100-110", "", ""},
		{"110-120", "", "", "", "hole"},
		{"100-110 120-130", "", "100-110", "", ""},
		{"90-100 50-60 90-110 100-101", "", "100-101", "covered covered straddles", ""},
		{"100-110,e1 100-120,e2", "", "100-120", "", ""},
		{"100-110,b20 100-120,b10", "", "100-120", "", ""},
		{"100-110,b10 100-120,b10", "", "100-120", "", ""},
		{"100-110,g2 100-105,g0 100-104", "", "100-104", "generation generation", ""},
		{"100-110,off 100-105", "", "100-105", "off_chain", ""},
		{"100-110,off", "", "", "off_chain", "hole"},
		{"100-110 110-120,unknown", "", "", "", "lineage"},
		{"100-110", "unknown", "", "", "lineage"},
		{"", "unknown", "", "", ""},
		{"100-110 110-120", "off", "", "", "diverged"},
		{"", "off", "", "", "diverged"},
		{"110-110 100-90", "", "", "malformed malformed", ""},
	}
	for _, x := range cases {
		answers := map[int64]catalog.Lineage{}
		l := catalog.NewLedger([16]byte{1}, claim)
		l.Partitions[3] = catalog.Progress{Next: 100, BatchEpoch: 1, LastBatchBase: 99, Last: 99}
		answers[100] = lineageOf(x.ledger)
		var offers []catalog.Offer
		for _, text := range strings.Fields(x.offers) {
			o := parseOffer(text)
			answers[o.Range.End] = lineageOf(text)
			offers = append(offers, o)
		}
		c := catalog.Choose(l, offers, func(_ int32, offset int64, _ int32) catalog.Lineage { return answers[offset] })
		var chosen, dropped, waiting []string
		for _, o := range c.Offers {
			chosen = append(chosen, fmt.Sprintf("%d-%d", o.Range.Base, o.Range.End))
		}
		for _, d := range c.Dropped {
			dropped = append(dropped, string(d.Reason))
		}
		for _, w := range c.Waiting {
			waiting = append(waiting, string(w.Reason))
		}
		if len(c.Diverged) > 0 {
			waiting = append(waiting, "diverged")
		}
		for _, got := range [][2]string{{strings.Join(chosen, " "), x.chosen}, {strings.Join(dropped, " "), x.dropped},
			{strings.Join(waiting, " "), x.waiting}} {
			if got[0] != got[1] {
				t.Errorf("offers %q, ledger %q: got %q, want %q", x.offers, x.ledger, got[0], got[1])
			}
		}
	}
}

func lineageOf(text string) catalog.Lineage {
	switch {
	case strings.Contains(text, "off"):
		return catalog.OffChain
	case strings.Contains(text, "unknown"):
		return catalog.NotKnown
	}
	return catalog.OnChain
}

func parseOffer(text string) catalog.Offer {
	var base, end int64
	parts := strings.Split(text, ",")
	fmt.Sscanf(parts[0], "%d-%d", &base, &end)
	o := offerOf(3, base, end)
	for _, p := range parts[1:] {
		fmt.Sscanf(p, "e%d", &o.LeaderEpoch)
		fmt.Sscanf(p, "g%d", &o.Generation)
		fmt.Sscanf(p, "b%d", &o.Files[catalog.Main][0].Size)
	}
	return o
}

func TestChooseKeepsPartitionsApart(t *testing.T) {
	l := catalog.NewLedger([16]byte{1}, claim).Begin(1, 500)
	c := catalog.Choose(l, []catalog.Offer{offerOf(1, 500, 510), offerOf(0, 0, 5), offerOf(2, 7, 9), offerOf(4, 0, 1)},
		func(p int32, _ int64, _ int32) catalog.Lineage {
			if p == 4 {
				return catalog.NotKnown
			}
			return catalog.OnChain
		})
	got := fmt.Sprint(len(c.Offers), c.Offers[0].Range.Partition, c.Offers[1].Range.Partition, c.Waiting)
	if want := "2 0 1 [{2 hole} {4 lineage}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if files := c.Files()[catalog.Main]; len(files) != 2 || !c.SameRanges(c) || c.SameRanges(catalog.Choice{}) {
		t.Errorf("files %v", files)
	}
}
