package catalog

// Mutant is Choose without one of its rules, for the tests that prove that the simulation notices.
func Mutant(rule string) func(Ledger, []Offer, Verdict) Choice {
	without := map[string]rules{
		"contiguity":   {noContiguity: true},
		"generation":   {noGeneration: true},
		"end lineage":  {noEndLineage: true},
		"next lineage": {noNextLineage: true},
	}[rule]
	if without == (rules{}) {
		panic("no such rule: " + rule)
	}
	return func(l Ledger, offers []Offer, verdict Verdict) Choice { return choose(l, offers, verdict, without) }
}
