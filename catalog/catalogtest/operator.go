package catalogtest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tidemark/catalog"
)

// operator is everybody else: other engines that write to the main table, and people who move main back, expire snapshots
// and edit properties. It does no two harmful things at once between two commits of ours: together they can remove every
// trace, and then no reader could know.
type operator struct {
	world      *world
	strays     int
	expected   map[int64][]int // foreign rows that belong in the main table, by snapshot
	rolledBack bool
	damaged    bool
	newest     int64  // the snapshot of our newest commit
	ledger     string // the ledger it installed
	older      string // the one before
}

func newOperator(w *world) operator {
	return operator{world: w, expected: map[int64][]int{catalog.None: nil}, newest: catalog.None}
}

// append is a foreign append of one row. Before our first commit it would pause the table: no ledger, but a snapshot.
func (o *operator) append() {
	if o.newest == catalog.None {
		return
	}
	o.strays++
	uri := fmt.Sprintf("foreign/%d.parquet", o.strays)
	o.world.contents[uri] = content{stray: o.strays}
	before := o.world.catalog.View(catalog.Main).Head
	head := o.world.catalog.Append(catalog.Main, catalog.File{URI: uri, Rows: 1})
	o.expected[head] = append(slices.Clone(o.expected[before]), o.strays)
	o.world.tracef("another writer appends row %d: main is %d", o.strays, head)
	o.world.counts["foreign append"]++
}

// rewrite is a foreign compaction of two of our files.
func (o *operator) rewrite() {
	w := o.world
	before := w.catalog.View(catalog.Main).Head
	var remove []string
	merged := content{}
	for _, f := range w.catalog.Files(catalog.Main, before) {
		if c := w.contents[f.URI]; len(remove) < 2 && c.stray == 0 {
			remove = append(remove, f.URI)
			merged.rows = append(slices.Clone(merged.rows), c.rows...)
		}
	}
	if len(remove) < 2 {
		return
	}
	w.files++
	uri := fmt.Sprintf("foreign/rewritten-%d.parquet", w.files)
	w.contents[uri] = merged
	head := w.catalog.Rewrite(catalog.Main, remove, catalog.File{URI: uri, Rows: int64(len(merged.rows))})
	o.expected[head] = o.expected[before]
	w.tracef("another writer rewrites %d files into %s: main is %d", len(remove), uri, head)
	w.counts["foreign rewrite"]++
}

// rollback moves main to one of its ancestors.
func (o *operator) rollback() {
	w := o.world
	v := w.catalog.View(catalog.Main)
	if o.damaged || o.rolledBack {
		return
	}
	target := v.Head
	for range 1 + w.rand.IntN(3) {
		if p := parent(v, target); p != catalog.None {
			target = p
		}
	}
	if target == v.Head || target == catalog.None {
		return
	}
	w.catalog.SetMain(catalog.Main, target)
	o.rolledBack = o.lost()
	w.tracef("the operator moves main from %d back to %d", v.Head, target)
	w.counts["rollback"]++
}

// lost reports whether our newest commit is not on the ancestry of main.
func (o *operator) lost() bool {
	v := o.world.catalog.View(catalog.Main)
	for id := v.Head; id != catalog.None; id = parent(v, id) {
		if id == o.newest {
			return false
		}
	}
	return true
}

// parent is the parent of a snapshot, if the table still has both.
func parent(v catalog.TableView, id int64) int64 {
	for _, s := range v.Snapshots {
		if s.ID == id && slices.ContainsFunc(v.Snapshots, func(p catalog.SnapshotView) bool { return p.ID == s.Parent }) {
			return s.Parent
		}
	}
	return catalog.None
}

func (o *operator) expire() {
	w := o.world
	v := w.catalog.View(catalog.Main)
	if v.Head == catalog.None || (o.rolledBack || o.damaged) && v.Tag == catalog.None {
		return
	}
	keep := 1 + w.rand.IntN(2)
	w.catalog.Expire(catalog.Main, keep)
	w.tracef("snapshots are expired, %d kept", keep)
	w.counts["expiry"]++
}

// damage removes or edits one copy of the ledger.
func (o *operator) damage() {
	w := o.world
	v := w.catalog.View(catalog.Main)
	if o.rolledBack || o.damaged || o.newest == catalog.None || v.Tag != o.newest || o.lost() {
		return
	}
	o.damaged = true
	w.counts["damage"]++
	switch w.rand.IntN(4) {
	case 0:
		w.catalog.SetProperty(catalog.Main, catalog.PropertyLedger, "")
		w.tracef("the ledger property is removed")
	case 1:
		w.catalog.SetProperty(catalog.Main, catalog.PropertyLedger, o.older)
		w.tracef("the ledger property is set to an older copy")
	case 2:
		w.catalog.SetProperty(catalog.Main, catalog.PropertyLedger, o.ledger[1:])
		w.tracef("the ledger property is damaged")
	case 3:
		w.catalog.RemoveTag(catalog.Main)
		w.tracef("the progress tag is removed")
	}
}

// resolve does what the operator decides when the table is paused: main forward again, or rewind.
func (o *operator) resolve() {
	w := o.world
	v := w.catalog.View(catalog.Main)
	r := w.read(w.catalog.Load())
	if r.Event != catalog.Rollback {
		return
	}
	own, ok := newestOwn(v)
	if ok && w.rand.IntN(2) == 0 {
		o.rewind(v, own)
		return
	}
	w.catalog.SetMain(catalog.Main, o.newest)
	o.rolledBack = false
	w.tracef("the operator moves main forward to %d", o.newest)
	w.counts["undo"]++
}

// newestOwn is the ledger of the newest own snapshot on the ancestry of main.
func newestOwn(v catalog.TableView) (catalog.Ledger, bool) {
	for id := v.Head; id != catalog.None; id = parent(v, id) {
		i := slices.IndexFunc(v.Snapshots, func(s catalog.SnapshotView) bool { return s.ID == id })
		if text, ok := v.Snapshots[i].Summary[catalog.SummaryLedger]; ok {
			l, err := catalog.DecodeLedger(text)
			return l, err == nil
		}
	}
	return catalog.Ledger{}, false
}

// rewind starts a new generation at the state main was moved back to, and takes the quarantine back to it.
func (o *operator) rewind(v catalog.TableView, l catalog.Ledger) {
	w := o.world
	last, err := catalog.DecodeLedger(o.ledger)
	if err != nil {
		w.fail("the ledger of the newest commit does not decode: %v", err)
		return
	}
	before := v.Head
	base := l
	base.Seq, base.Generation = last.Seq, last.Generation+1
	u := catalog.Plan(v, catalog.Reading{Ledger: base, Event: catalog.Repaired}, catalog.Choice{}, fmt.Sprintf("rewind-%d", w.step), "rewind")
	side := w.catalog.View(catalog.Quarantine)
	su := catalog.PlanSide(side, u)
	var remove []string
	for _, f := range w.catalog.Files(catalog.Quarantine, side.Head) {
		if r := w.contents[f.URI].footer.Range; r.End > l.Progress(r.Partition).Next {
			remove = append(remove, f.URI)
		}
	}
	f := &flight{name: u.CommitID, request: Request{
		catalog.Main:       {Update: u, SnapshotID: w.catalog.NewSnapshotID()},
		catalog.Quarantine: {Update: su, SnapshotID: w.catalog.NewSnapshotID(), Remove: remove},
	}}
	w.tracef("the operator rewinds to ledger %s, generation %d", strconv.FormatUint(l.Seq, 10), base.Generation)
	w.counts["rewind"]++
	w.catalog.Apply(f.request)
	w.landed(f, before)
}

// installed notes a commit of ours.
func (o *operator) installed(snapshot, before int64, l catalog.Ledger) {
	o.expected[snapshot] = o.expected[before]
	o.newest, o.older, o.ledger = snapshot, o.ledger, l.Encode()
	if o.older == "" {
		o.older = o.ledger
	}
	o.rolledBack, o.damaged = false, false
}

func bounds(w *world, files []catalog.File) map[int32]int64 {
	highest := map[int32]int64{}
	for _, f := range files {
		for _, id := range w.contents[f.URI].rows {
			r := w.records[id]
			highest[r.partition] = max(highest[r.partition], r.offset)
		}
	}
	return maps.Clone(highest)
}
