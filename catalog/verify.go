package catalog

import (
	"cmp"
	"fmt"
	"slices"
)

// FindingKind is what verify found, as a stable name.
type FindingKind string

// The kinds of findings.
const (
	FindingHole       FindingKind = "hole"        // offsets below next that no file covers
	FindingOverlap    FindingKind = "overlap"     // offsets covered twice
	FindingBeyond     FindingKind = "beyond-next" // a file outside [lo, next)
	FindingIncomplete FindingKind = "incomplete"  // files or rows of a range are missing
	FindingMixed      FindingKind = "mixed"       // files of one range come from different conversions
	FindingClaim      FindingKind = "unknown-claim"
	FindingGeneration FindingKind = "generation" // made for a generation the ledger has not reached
)

// Finding is one contradiction between a ledger and the footers of the files that are live in its tables.
type Finding struct {
	Kind  FindingKind
	Range Range // partition, base and end; the whole range of the file where one file is meant
	Files []string
	Text  string // one sentence for people
}

// Verify compares a ledger with the footers of all live files of the main table and the quarantine: the ranges tile
// [lo, next) of every partition, each covered by the complete result of one conversion. fileless are ranges known to be
// covered without a file: those of Fileless and recorded gaps. Rows are not read. Findings are ordered by partition and
// offset; none means that the tables hold what the ledger says.
func Verify(l Ledger, files []FileFooter, fileless ...Range) []Finding {
	v := verifier{ledger: l}
	byRange := map[Range][]FileFooter{}
	for _, f := range files {
		if !sameClaim(f.Claim, l.Claim) {
			v.add(FindingClaim, f.Range, []FileFooter{f}, "the file belongs to topic %s of cluster %s", f.Claim.TopicID, f.Claim.ClusterID)
			continue
		}
		if f.Generation == 0 || f.Generation > l.Generation {
			v.add(FindingGeneration, f.Range, []FileFooter{f}, "the file was made for generation %d, the ledger has %d", f.Generation, l.Generation)
		}
		key := plain(f.Range)
		byRange[key] = append(byRange[key], f)
	}
	ranges := make([]Range, 0, len(byRange))
	for r := range byRange {
		ranges = append(ranges, r)
	}
	slices.SortFunc(ranges, byOffset)
	for _, r := range ranges {
		v.complete(r, byRange[r])
	}
	v.tile(ranges, byRange, fileless)
	slices.SortStableFunc(v.findings, func(a, b Finding) int { return byOffset(a.Range, b.Range) })
	return v.findings
}

// Fileless returns the ranges that commits on the ancestry of main covered without writing a file. Expired snapshots no
// longer tell theirs.
func Fileless(v TableView) []Range {
	chain, _ := v.ancestry()
	var ranges []Range
	for _, s := range chain {
		if r, ok := parseRanges(s.Summary[SummaryEmpty]); ok {
			ranges = append(ranges, r...)
		}
	}
	return ranges
}

func plain(r Range) Range { return Range{Partition: r.Partition, Base: r.Base, End: r.End} }

func byOffset(a, b Range) int {
	return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Base, b.Base), cmp.Compare(a.End, b.End))
}

type verifier struct {
	ledger   Ledger
	findings []Finding
}

func (v *verifier) add(kind FindingKind, r Range, files []FileFooter, format string, args ...any) {
	f := Finding{Kind: kind, Range: plain(r)}
	for _, file := range files {
		f.Files = append(f.Files, file.URI)
	}
	f.Text = fmt.Sprintf("partition %d [%d, %d): ", r.Partition, r.Base, r.End) + fmt.Sprintf(format, args...)
	v.findings = append(v.findings, f)
}

// complete checks that the files of one range are the complete result of one conversion.
func (v *verifier) complete(r Range, files []FileFooter) {
	first := files[0]
	for _, f := range files[1:] {
		if f.Counts != first.Counts || f.Range != first.Range || f.LeaderEpoch != first.LeaderEpoch || f.Generation != first.Generation {
			v.add(FindingMixed, r, files, "its files come from different conversions")
			break
		}
	}
	v.parts(r, files, Main, first.Counts.Rows)
	v.parts(r, files, Quarantine, first.Counts.Quarantined)
}

func (v *verifier) parts(r Range, all []FileFooter, role Role, want int64) {
	var files []FileFooter
	var rows int64
	seen := map[int]bool{}
	twice := false
	for _, f := range all {
		if f.Role == role {
			twice = twice || seen[f.Part]
			seen[f.Part] = true
			files = append(files, f)
			rows += f.Rows
		}
	}
	switch {
	case len(files) == 0 && want > 0:
		v.add(FindingIncomplete, r, all, "its %d rows of table %s have no file", want, role)
	case len(files) == 0:
	case twice:
		v.add(FindingOverlap, r, files, "table %s has the range twice", role)
	case len(files) != files[0].Parts:
		v.add(FindingIncomplete, r, files, "table %s has %d of %d files", role, len(files), files[0].Parts)
	case rows != want:
		v.add(FindingIncomplete, r, files, "table %s has %d of %d rows", role, rows, want)
	}
}

// tile checks that the ranges cover [lo, next) of every partition once.
func (v *verifier) tile(ranges []Range, byRange map[Range][]FileFooter, fileless []Range) {
	covered := map[int32][]Range{}
	for _, n := range v.ledger.Numbers() {
		covered[n] = nil
	}
	reached := map[int32]int64{}
	for _, r := range ranges {
		p := v.ledger.Progress(r.Partition)
		if r.Base < p.Lo || r.End > p.Next {
			v.add(FindingBeyond, r, byRange[r], "the ledger covers [%d, %d)", p.Lo, p.Next)
		}
		if end, ok := reached[r.Partition]; ok && r.Base < end {
			v.add(FindingOverlap, Range{Partition: r.Partition, Base: r.Base, End: min(end, r.End)}, byRange[r], "covered twice")
		}
		reached[r.Partition] = max(reached[r.Partition], r.End)
		covered[r.Partition] = append(covered[r.Partition], r)
	}
	for _, r := range fileless {
		covered[r.Partition] = append(covered[r.Partition], plain(r))
	}
	for _, n := range sortedKeys(covered) {
		v.holes(n, covered[n])
	}
}

func (v *verifier) holes(partition int32, covered []Range) {
	p := v.ledger.Progress(partition)
	slices.SortFunc(covered, byOffset)
	at := p.Lo
	for _, r := range append(covered, Range{Partition: partition, Base: p.Next, End: p.Next}) {
		if hole := min(r.Base, p.Next); hole > at {
			v.add(FindingHole, Range{Partition: partition, Base: at, End: hole}, nil, "no file covers these offsets")
		}
		at = max(at, r.End)
	}
}
