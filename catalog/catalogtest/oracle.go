package catalogtest

import (
	"fmt"

	"tidemark/catalog"
)

// read applies the read rule to a load and fetches what it asks for.
func (w *world) read(views map[catalog.Role]catalog.TableView) catalog.Reading {
	v := views[catalog.Main]
	v.Objects = map[string]string{}
	for {
		r := catalog.Read(v, w.claim)
		switch {
		case r.Need.Object != "":
			v.Objects[r.Need.Object] = w.catalog.Objects[r.Need.Object]
		case r.Need.Bounds:
			v.Bounds = bounds(w, w.catalog.Files(catalog.Main, v.Head))
		default:
			return r
		}
	}
}

// lostBranch tells which chosen rows are not in the log at this moment.
func (w *world) lostBranch(c catalog.Choice) string {
	for _, o := range c.Offers {
		if r := o.Range; !w.onChain(w.logs[r.Partition], r.End, r.BatchEpoch) {
			return fmt.Sprintf("p%d [%d,%d) of epoch %d", r.Partition, r.Base, r.End, r.BatchEpoch)
		}
	}
	return ""
}

// landed checks the tables after a commit of ours.
func (w *world) landed(f *flight, before int64) {
	main := f.request[catalog.Main]
	if f.lost != "" {
		w.fail("%s put rows into the table that the log had lost before they were chosen: %s", f.name, f.lost)
	}
	w.operator.installed(main.SnapshotID, before, main.Update.Ledger)
	w.checkRows(main.Update.Ledger)
	w.checkFooters(main.Update.Ledger)
}

// checkRows compares what a reader of both tables sees with the log below the ledger.
func (w *world) checkRows(l catalog.Ledger) {
	seen := map[int]int{}
	strays := map[int]int{}
	for _, role := range []catalog.Role{catalog.Main, catalog.Quarantine} {
		v := w.catalog.View(role)
		for _, f := range w.catalog.Files(role, v.Head) {
			if w.catalog.Deleted[f.URI] {
				w.fail("table %s refers to the deleted file %s", role, f.URI)
			}
			c := w.contents[f.URI]
			for _, id := range c.rows {
				seen[id]++
			}
			if c.stray != 0 {
				strays[c.stray]++
			}
		}
	}
	for _, log := range w.logs {
		w.checkBranch(l, log, seen)
	}
	for id := range w.records {
		if n := seen[id]; n > 0 {
			r := w.records[id]
			w.fail("%d row(s) of p%d offset %d epoch %d are beyond the ledger or of another branch", n, r.partition, r.offset, r.epoch)
		}
	}
	expected := w.operator.expected[w.catalog.View(catalog.Main).Head]
	for _, id := range expected {
		if strays[id] != 1 {
			w.fail("the foreign row %d is there %d times", id, strays[id])
		}
	}
	if len(strays) != len(expected) {
		w.fail("%d foreign rows are there, %d belong there", len(strays), len(expected))
	}
}

// checkBranch walks the branch that the ledger's end is on and takes its rows out of seen.
func (w *world) checkBranch(l catalog.Ledger, log *partitionLog, seen map[int]int) {
	p := l.Begin(log.number, log.start).Progress(log.number)
	if p.Next == log.start {
		return
	}
	id, ok := w.at[position{log.number, p.Next - 1, p.BatchEpoch}]
	if !ok {
		w.fail("the ledger's end of p%d, %d of epoch %d, was never in a log", log.number, p.Next, p.BatchEpoch)
		return
	}
	for ; id >= 0; id = w.records[id].before {
		want := 1
		if w.records[id].kind == hidden {
			want = 0
		}
		if seen[id] != want {
			w.fail("the record of p%d at offset %d, epoch %d is there %d times, not %d", log.number, w.records[id].offset,
				w.records[id].epoch, seen[id], want)
		}
		delete(seen, id)
	}
}

// checkFooters runs verify over the live files, as long as no other writer has rewritten any.
func (w *world) checkFooters(l catalog.Ledger) {
	var footers []catalog.FileFooter
	for _, role := range []catalog.Role{catalog.Main, catalog.Quarantine} {
		for _, f := range w.catalog.Files(role, w.catalog.View(role).Head) {
			c := w.contents[f.URI]
			if c.footer == nil && c.stray == 0 {
				return
			}
			if c.footer != nil {
				footers = append(footers, *c.footer)
			}
		}
	}
	if w.counts["expiry"] > 0 {
		return // ranges without a file are no longer told
	}
	for _, f := range catalog.Verify(l, footers, catalog.Fileless(w.catalog.View(catalog.Main))...) {
		w.fail("verify: %s", f.Text)
		return
	}
}

// settle ends the faults and lets everybody work until nothing is left: the liveness half of the oracle.
func (w *world) settle() {
	w.faults = map[string]bool{}
	w.tracef("the faults stop")
	for len(w.flights) > 0 && w.violation == "" {
		w.deliverFlight()
	}
	for round := 0; w.violation == ""; round++ {
		if w.operator.resolve(); w.done() {
			break
		}
		if round == 20 {
			w.fail("no end after %d rounds without faults: %s", round, w.remains())
			return
		}
		w.round()
	}
	if r := w.read(w.catalog.Load()); w.violation == "" {
		w.checkRows(r.Ledger)
		w.checkFooters(r.Ledger)
	}
}

// round lets everybody do all there is to do.
func (w *world) round() {
	for _, l := range w.leaders {
		l.restart()
		for l.generation == 0 && w.read(w.catalog.Load()).Usable() {
			l.poll()
		}
		for i, log := range w.logs {
			for before := int64(-1); before != l.replicas[i].staged; {
				before = l.replicas[i].staged
				l.convert(log)
			}
		}
	}
	for len(w.mail) > 0 {
		w.deliverMail()
	}
	for _, c := range w.coordinators {
		for range 40 {
			c.advance()
			for len(w.flights) > 0 {
				w.deliverFlight()
			}
		}
	}
}

// done reports whether every partition is covered to its end or rightly frozen.
func (w *world) done() bool { return w.remains() == "" }

func (w *world) remains() string {
	r := w.read(w.catalog.Load())
	if !r.Usable() {
		return string(r.Event) + ": " + r.Detail
	}
	for _, log := range w.logs {
		p := r.Ledger.Begin(log.number, log.start).Progress(log.number)
		frozen := p.BatchEpoch >= 0 && !w.onChain(log, p.Next, p.BatchEpoch)
		if !frozen && p.Next < log.end() {
			return fmt.Sprintf("p%d is covered to %d of %d", log.number, p.Next, log.end())
		}
	}
	return ""
}

func (w *world) countChoice(c catalog.Choice) {
	for _, d := range c.Dropped {
		w.counts["drop "+string(d.Reason)]++
	}
	for _, x := range c.Waiting {
		w.counts["wait "+string(x.Reason)]++
	}
	w.counts["diverged"] += len(c.Diverged)
}
