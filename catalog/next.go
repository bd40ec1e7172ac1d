package catalog

import (
	"tidemark/internal/status"
)

// Action is what follows an attempt.
type Action int8

// The actions.
const (
	Publish Action = iota // the ranges are in the table: read the ledger of this load and publish it
	Resend                // send the identical update again; ask Choose once more first: lineage is checked before each send
	Rebuild               // read, choose and plan again on a fresh load; data files stay as they are
	Pause                 // freeze the table with the reason; no file is deleted, offers and holds are kept
)

func (a Action) String() string {
	return [...]string{"publish", "resend", "rebuild", "pause"}[a]
}

// Step is what follows an attempt, and why.
type Step struct {
	Action Action
	Event  Event  // of a pause
	Reason string // one sentence for people
}

// Landed looks for success in a load made after the attempt with the given snapshot id: the snapshot is there, or the
// commit id is on the ancestry of main, or the ledger already covers its ranges. It says that the rows are in the table,
// by us or by another coordinator that chose the same ranges; about files that lost it says nothing.
func Landed(v TableView, u Update, snapshotID int64) bool {
	if v.UUID != u.UUID {
		return false
	}
	if s, ok := v.snapshot(snapshotID); ok && s.Summary[SummaryCommitID] == u.CommitID {
		return true
	}
	chain, _ := v.ancestry()
	for _, s := range chain {
		if s.Summary[SummaryCommitID] == u.CommitID {
			return true
		}
	}
	return len(u.Changed) > 0 && covers(v, u)
}

func covers(v TableView, u Update) bool {
	r := Read(v, u.Ledger.Claim)
	if !r.Usable() || r.Ledger.Generation != u.Ledger.Generation {
		return false
	}
	for _, c := range u.Changed {
		if r.Ledger.Progress(c.Partition).Next < c.End {
			return false
		}
	}
	return true
}

// Next decides what follows an attempt that ended with class, from a load v of the main table made after it. Success is
// looked for whatever the class says: a conflict may be about our own snapshot, applied by a replay below us. A class
// that does not say that the request was refused leaves it on its way: while main, tag and metadata are as they were, the
// identical update is sent again, so at most one of the two can win.
func Next(v TableView, u Update, snapshotID int64, class status.Class) Step {
	switch {
	case v.UUID != u.UUID:
		return Step{Pause, Recreated, "the table was replaced by another one of the same name"}
	case class == status.OK:
		return Step{Action: Publish}
	case Landed(v, u, snapshotID):
		return Step{Action: Publish, Reason: "the attempt was answered with " + class.String() + " but its ranges are in the table"}
	}
	moved := v.Head != u.Base || v.Tag != u.Tag
	same := !moved && v.MetadataFile == u.BaseMetadata
	switch class {
	case status.Conflict:
		return Step{Action: Rebuild, Reason: "somebody else committed first"}
	case status.NotFound:
		return Step{Pause, Missing, "the catalog says that the table is not there"}
	case status.Invalid, status.Unsupported:
		// Some catalogs answer a conflict so, or a sequence number that a commit since rolled back has used. If nothing
		// changed, the same update would be refused for ever.
		if !same {
			return Step{Action: Rebuild, Reason: "the metadata changed since it was loaded"}
		}
		return Step{Action: Pause, Reason: "the catalog refuses the update: " + class.String()}
	case status.Corrupt, status.Closed:
		return Step{Action: Pause, Reason: "the attempt failed: " + class.String()}
	}
	switch {
	case moved:
		return Step{Action: Rebuild, Reason: "the outcome was unknown and main has moved: the attempt can no longer win"}
	case !same:
		return Step{Action: Rebuild, Reason: "the outcome was unknown and other metadata changed: the attempt would be refused for ever"}
	}
	return Step{Action: Resend, Reason: "the outcome is unknown and nothing has moved"}
}
