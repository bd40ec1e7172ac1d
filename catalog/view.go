package catalog

// None is the id of a snapshot that is not there: an empty table's head, a root's parent, an absent tag.
const None int64 = -1

// SnapshotView is what the state machine needs of one snapshot.
type SnapshotView struct {
	ID       int64
	Parent   int64 // None if it is a root; an id that is not listed if the parent was expired
	Sequence int64
	Summary  map[string]string
}

// TableView is one load of one table's metadata: everything in it comes from the same metadata file.
type TableView struct {
	UUID          [16]byte
	Location      string
	MetadataFile  string
	Head          int64 // the snapshot of main, None if there is none
	Tag           int64 // the snapshot of TagProgress, None if there is none
	LastSequence  int64
	LastUpdatedMs int64
	Snapshots     []SnapshotView
	Properties    map[string]string
	SchemaID      int
	SpecID        int

	// Objects are ledger objects by name that an earlier Reading asked for; "" if the object is absent or unreadable.
	Objects map[string]string
	// Bounds are, per partition, the highest upper bound of the offset column over the live files we wrote; nil unless an
	// earlier Reading asked for them. A partition is absent if a file's bound is absent.
	Bounds map[int32]int64
}

// Event is what a load says about a table, in the words of logs, metrics and the operator's commands.
type Event string

// The events. Writing goes on after Normal, Expired and Repaired; all others pause the table and nothing else.
const (
	Normal    Event = "NORMAL"
	Expired   Event = "EXPIRED"   // own snapshots are gone from the ancestry of main, the rows are there
	Repaired  Event = "REPAIRED"  // a copy of the ledger or of the claim is damaged or absent; the next commit rewrites it
	Rollback  Event = "ROLLBACK"  // main was moved back behind our last commit
	Tampered  Event = "TAMPERED"  // the copies of the ledger contradict each other, or none is left
	Missing   Event = "MISSING"   // the table is not there
	Recreated Event = "RECREATED" // another incarnation of the topic, the cluster or the table
	Foreign   Event = "FOREIGN"   // not our table
	Diverged  Event = "DIVERGED"  // per partition: the ledger's end is not on the leader-epoch chain
)

// Pauses reports whether nothing may be written to the table until an operator has decided.
func (e Event) Pauses() bool { return e != Normal && e != Expired && e != Repaired }

// Need is what Read cannot decide without. The caller fills it into the view and reads again.
type Need struct {
	Object string // a ledger object to be loaded into TableView.Objects, "" for none
	Bounds bool   // TableView.Bounds
}

// Reading is the outcome of the read rule.
type Reading struct {
	Ledger Ledger // the ledger to go on from; if the event pauses, the newest one known, for the operator
	Event  Event
	Detail string // one sentence for people: what was found; empty for Normal
	Fresh  bool   // the table never had a snapshot
	Need   Need
}

// Usable reports whether a commit may be planned on this reading.
func (r Reading) Usable() bool { return !r.Event.Pauses() && r.Need == Need{} }

// ancestry is the chain of snapshots from the head down. complete tells that its last one is a root: nothing was cut off
// by expiry.
func (v TableView) ancestry() (chain []SnapshotView, complete bool) {
	byID := make(map[int64]int, len(v.Snapshots))
	for i := range v.Snapshots {
		byID[v.Snapshots[i].ID] = i
	}
	for id := v.Head; id != None; {
		i, ok := byID[id]
		if !ok || len(chain) == len(v.Snapshots) {
			return chain, false
		}
		chain = append(chain, v.Snapshots[i])
		id = v.Snapshots[i].Parent
	}
	return chain, true
}

func (v TableView) snapshot(id int64) (SnapshotView, bool) {
	for _, s := range v.Snapshots {
		if s.ID == id && id != None {
			return s, true
		}
	}
	return SnapshotView{}, false
}
