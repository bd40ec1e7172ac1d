package catalog

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// maxInlineLedger is the longest encoded ledger that a snapshot's summary holds itself: at 500 retained snapshots it makes
// 1 MB of metadata file.
const maxInlineLedger = 2 << 10

// LedgerObject is a ledger too long for a summary. It must be stored, create-only, before the commit that names it; equal
// names hold equal text.
type LedgerObject struct {
	Name string // below the group's own prefix, outside every table location
	Text string
	CRC  uint32 // of the ledger
}

// Update is one commit of one table: requirements and what it sets. The edge adds the files, makes the snapshot with Base as
// its parent, moves main and TagProgress to it, and sends everything once as one atomic update.
type Update struct {
	// The requirements: the table's UUID, the snapshots of main and of TagProgress (None = absent).
	UUID      [16]byte
	Base, Tag int64

	CommitID     string
	Ledger       Ledger // after this commit
	Sequence     int64  // the snapshot's sequence number
	NotBeforeMs  int64  // lower bound of the snapshot's time, so that a slow clock never blocks a commit
	Summary      map[string]string
	Properties   map[string]string
	LedgerObject *LedgerObject // nil unless the ledger is long
	Changed      []Range       // what the commit covers
	BaseMetadata string        // the metadata file the update was computed from
}

// Plan makes the commit of a choice on a load of the main table. The reading must be usable and of the same load, and c made
// from its ledger. commitID names the logical commit: unchanged as long as attempts cover the same ranges by the same
// files, new otherwise. An empty choice rewrites a repaired property or installs where partitions begin.
func Plan(v TableView, r Reading, c Choice, commitID string, path string) Update {
	if !r.Usable() {
		panic(fmt.Sprintf("catalog: a commit planned on a table that is %s: %s", r.Event, r.Detail))
	}
	l := r.Ledger
	l.TableUUID = v.UUID
	l.Seq++
	l.Sequence = v.LastSequence + 1
	l.Partitions = cloneProgress(l.Partitions)
	changed := make([]Range, 0, len(c.Offers))
	var empty []Range
	for _, o := range c.Offers {
		l.Partitions[o.Range.Partition] = advance(l.Progress(o.Range.Partition), o.Range)
		changed = append(changed, o.Range)
		if len(o.Files[Main])+len(o.Files[Quarantine]) == 0 {
			empty = append(empty, o.Range)
		}
	}
	u := newUpdate(v, commitID)
	u.Ledger, u.Changed = l, changed
	crc, text := l.CRC(), l.Encode()
	maps.Copy(u.Properties, ClaimProperties(l.Claim))
	u.Properties[PropertyLedger] = text
	u.Summary[SummarySeq] = strconv.FormatUint(l.Seq, 10)
	u.Summary[SummaryCRC] = formatCRC(crc)
	u.Summary[SummaryPath] = path
	u.Summary[SummaryChanged] = formatRanges(changed)
	if len(empty) > 0 {
		u.Summary[SummaryEmpty] = formatRanges(empty)
	}
	if len(text) <= maxInlineLedger {
		u.Summary[SummaryLedger] = text
	} else {
		u.LedgerObject = &LedgerObject{Name: ledgerObjectName(l, crc, commitID), Text: text, CRC: crc}
		u.Summary[SummaryLedgerObject] = u.LedgerObject.Name + " " + formatCRC(crc)
	}
	return u
}

// PlanSide makes the commit of another table of the group that lands in the same swap as the main table's update: it is
// pinned like it and names its commit and ledger, which stays the only authority.
func PlanSide(v TableView, main Update) Update {
	u := newUpdate(v, main.CommitID)
	u.Ledger, u.Changed = main.Ledger, main.Changed
	maps.Copy(u.Properties, ClaimProperties(main.Ledger.Claim))
	for _, key := range []string{SummarySeq, SummaryCRC, SummaryPath} {
		u.Summary[key] = main.Summary[key]
	}
	return u
}

func newUpdate(v TableView, commitID string) Update {
	return Update{
		UUID: v.UUID, Base: v.Head, Tag: v.Tag, CommitID: commitID,
		Sequence: v.LastSequence + 1, NotBeforeMs: v.LastUpdatedMs + 1, BaseMetadata: v.MetadataFile,
		Summary: map[string]string{SummaryCommitID: commitID}, Properties: map[string]string{},
	}
}

func advance(p Progress, r Range) Progress {
	p.Next = max(p.Next, r.End)
	p.BatchEpoch, p.LastBatchBase, p.LastBatchCRC = r.BatchEpoch, r.LastBatchBase, r.LastBatchCRC
	if r.LastRow >= 0 {
		p.Last = r.LastRow
	}
	return p
}

// formatRanges writes "partition:base-end" items, comma-separated.
func formatRanges(ranges []Range) string {
	var b strings.Builder
	for i, r := range ranges {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d:%d-%d", r.Partition, r.Base, r.End)
	}
	return b.String()
}

// parseRanges reads the text of formatRanges: partition, base and end only.
func parseRanges(text string) ([]Range, bool) {
	if text == "" {
		return nil, true
	}
	var ranges []Range
	for item := range strings.SplitSeq(text, ",") {
		number, rest, ok1 := strings.Cut(item, ":")
		from, to, ok2 := strings.Cut(rest, "-")
		p, err1 := strconv.ParseInt(number, 10, 32)
		base, err2 := strconv.ParseInt(from, 10, 64)
		end, err3 := strconv.ParseInt(to, 10, 64)
		if !ok1 || !ok2 || err1 != nil || err2 != nil || err3 != nil || end <= base {
			return nil, false
		}
		ranges = append(ranges, Range{Partition: int32(p), Base: base, End: end})
	}
	return ranges, true
}

// parseObject reads name and CRC of a SummaryLedgerObject entry.
func parseObject(text string) (name string, crc uint32, ok bool) {
	name, sum, ok := strings.Cut(text, " ")
	crc, good := parseCRC(sum)
	return name, crc, ok && good && name != ""
}
