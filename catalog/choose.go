package catalog

import (
	"cmp"
	"slices"
)

// Lineage is the answer of a partition's current leader whether an offset, seen as the end of a batch of an epoch, is on its
// log's leader-epoch chain.
type Lineage int8

// The answers. No answer is NotKnown, never a guess.
const (
	NotKnown Lineage = iota
	OnChain
	OffChain
)

// Verdict asks for the lineage of an end: offset is the first offset not covered, batchEpoch the leader epoch of the last
// batch below it.
type Verdict func(partition int32, offset int64, batchEpoch int32) Lineage

// DropReason says why an offer can never be committed, as a metric label.
type DropReason string

// The reasons. After DropStraddles and DropGeneration the range is converted again from the committed next offset.
const (
	DropCovered    DropReason = "covered"    // wholly below next
	DropStraddles  DropReason = "straddles"  // next lies inside: a file cannot be cut
	DropGeneration DropReason = "generation" // made for another generation of the ledger
	DropOffChain   DropReason = "off_chain"  // its end is not in the log (any more)
	DropMalformed  DropReason = "malformed"
)

// Drop is an offer that can never be committed.
type Drop struct {
	Offer  Offer
	Reason DropReason
}

// WaitReason says why a partition's pending offers were not chosen, as a metric label.
type WaitReason string

// The reasons to wait.
const (
	WaitHole    WaitReason = "hole"    // no offer begins at next
	WaitLineage WaitReason = "lineage" // the leader did not answer
)

// Wait is a partition whose offers stay pending.
type Wait struct {
	Partition int32
	Reason    WaitReason
}

// Choice is what the next commit takes. Offers that are in none of its lists lost a tie or wait: they stay pending.
type Choice struct {
	Offers   []Offer // per partition contiguous from next, partitions ascending
	Dropped  []Drop
	Waiting  []Wait
	Diverged []int32 // partitions whose ledger entry is off the chain: frozen until an operator decides
}

// Empty reports whether the choice moves nothing.
func (c Choice) Empty() bool { return len(c.Offers) == 0 }

// Files are the files of the chosen offers by table, in the order of the offers.
func (c Choice) Files() map[Role][]File {
	files := map[Role][]File{}
	for _, o := range c.Offers {
		for role, list := range o.Files {
			files[role] = append(files[role], list...)
		}
	}
	return files
}

// SameRanges reports whether two choices cover the same ranges by the same files, so that they are one logical commit with
// one commit id.
func (c Choice) SameRanges(d Choice) bool {
	return slices.EqualFunc(c.Offers, d.Offers, func(a, b Offer) bool {
		return a.Range == b.Range && a.Generation == b.Generation && firstURI(a) == firstURI(b)
	})
}

// rules are the rules of Choose that the tests of this package can take out, to prove that the simulation notices. The zero
// value is all of them.
type rules struct {
	noContiguity, noGeneration, noEndLineage, noNextLineage bool
}

// Choose takes the offers of the next commit: per partition the contiguous run that starts at the ledger's next offset. Of
// several offers that begin at one offset the one of the higher leader epoch wins, then the one with fewer bytes. The
// verdict is asked for every entry of the ledger and for the end of every offer about to be chosen; a partition whose
// leader does not answer waits, alone.
func Choose(l Ledger, offers []Offer, verdict Verdict) Choice {
	return choose(l, offers, verdict, rules{})
}

func choose(l Ledger, offers []Offer, verdict Verdict, without rules) Choice {
	var c Choice
	pending := map[int32][]Offer{}
	for _, n := range l.Numbers() {
		pending[n] = nil
	}
	for _, o := range offers {
		if reason, drop := unfit(l, o, without); drop {
			c.Dropped = append(c.Dropped, Drop{o, reason})
			continue
		}
		pending[o.Range.Partition] = append(pending[o.Range.Partition], o)
	}
	for _, n := range sortedKeys(pending) {
		c.partition(l.Progress(n), n, pending[n], verdict, without)
	}
	return c
}

// unfit tells whether an offer can never be committed after this ledger.
func unfit(l Ledger, o Offer, without rules) (DropReason, bool) {
	r := o.Range
	next := l.Progress(r.Partition).Next
	switch {
	case r.Partition < 0 || r.Base < 0 || r.End <= r.Base || r.BatchEpoch < 0 || r.LastBatchBase < 0 ||
		r.LastBatchBase >= r.End || r.LastRow < -1 || r.LastRow >= r.End || r.LastRow >= 0 && r.LastRow < r.Base:
		return DropMalformed, true
	case o.Generation != l.Generation && !without.noGeneration:
		return DropGeneration, true
	case r.End <= next:
		return DropCovered, true
	case r.Base < next && !without.noContiguity:
		return DropStraddles, true
	}
	return "", false
}

// partition chooses one partition's run of offers.
func (c *Choice) partition(p Progress, n int32, pending []Offer, verdict Verdict, without rules) {
	if p.BatchEpoch >= 0 && !without.noNextLineage {
		switch verdict(n, p.Next, p.BatchEpoch) {
		case OffChain:
			c.Diverged = append(c.Diverged, n)
			return
		case NotKnown:
			if len(pending) > 0 {
				c.Waiting = append(c.Waiting, Wait{n, WaitLineage})
			}
			return
		}
	}
	slices.SortStableFunc(pending, preference)
	next, run := p.Next, []Offer(nil)
	for _, o := range pending {
		if o.Range.Base != next && !(without.noContiguity && o.Range.End > next) {
			continue
		}
		if !without.noEndLineage {
			switch verdict(n, o.Range.End, o.Range.BatchEpoch) {
			case OffChain:
				c.Dropped = append(c.Dropped, Drop{o, DropOffChain})
				continue
			case NotKnown:
				c.Waiting = append(c.Waiting, Wait{n, WaitLineage})
				return
			}
		}
		run = append(run, o)
		next = o.Range.End
	}
	if len(run) == 0 && len(pending) > 0 {
		c.Waiting = append(c.Waiting, Wait{n, WaitHole})
	}
	c.Offers = append(c.Offers, run...)
}

// preference orders offers by base, and those of one base by who wins.
func preference(a, b Offer) int {
	return cmp.Or(
		cmp.Compare(a.Range.Base, b.Range.Base),
		cmp.Compare(b.LeaderEpoch, a.LeaderEpoch),
		cmp.Compare(bytesOf(a), bytesOf(b)),
		cmp.Compare(b.Range.End, a.Range.End),
		cmp.Compare(firstURI(a), firstURI(b)),
	)
}

func bytesOf(o Offer) (n int64) {
	for _, files := range o.Files {
		for _, f := range files {
			n += f.Size
		}
	}
	return n
}

func firstURI(o Offer) string {
	for _, role := range sortedKeys(o.Files) {
		for _, f := range o.Files[role] {
			return f.URI
		}
	}
	return ""
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
