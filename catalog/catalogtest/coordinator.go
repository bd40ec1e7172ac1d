package catalogtest

import (
	"fmt"
	"slices"

	"tidemark/catalog"
	"tidemark/internal/status"
)

// coordinator runs the commit steps one at a time, so that anything may happen between any two.
type coordinator struct {
	id    int
	world *world
	inbox []catalog.Offer // offers it knows; the ledger says which still count

	at      stage
	views   map[catalog.Role]catalog.TableView
	reading catalog.Reading
	choice  catalog.Choice
	updates map[catalog.Role]catalog.Update
	request Request
	flight  *flight
	class   status.Class
	commits int
	commit  string // id of the logical commit
	lost    string // chosen rows that were not in the log when they were chosen
}

type stage int8

const (
	idle stage = iota
	loaded
	planned
	waiting
	answered
	reloaded
)

// restart forgets everything; a request on its way stays on its way. Offers are read again, perhaps not all.
func (c *coordinator) restart() {
	w := c.world
	w.tracef("coordinator %d restarts", c.id)
	w.counts["restart"]++
	*c = coordinator{id: c.id, world: w, commits: c.commits}
	for _, o := range w.sent {
		if w.rand.IntN(4) > 0 {
			c.inbox = append(c.inbox, o)
		}
	}
}

// advance makes one step.
func (c *coordinator) advance() {
	w := c.world
	switch c.at {
	case idle:
		c.views = w.catalog.Load()
		c.at = loaded
	case loaded:
		c.plan()
	case planned:
		c.send()
	case waiting:
		if f := c.flight; f.answered {
			c.class, c.at = f.reply, answered
		} else if w.roll("request", 10) {
			w.tracef("coordinator %d gives up waiting for %s", c.id, c.commit)
			c.class, c.at = status.Unknown, answered
			w.counts["timeout"]++
		}
	case answered:
		c.views = w.catalog.Load()
		c.at = reloaded
	case reloaded:
		c.follow()
	}
}

// plan reads the ledger of the load, chooses and plans.
func (c *coordinator) plan() {
	w := c.world
	before := c.reading
	c.reading = w.read(c.views)
	if c.reading.Event != catalog.Normal && c.reading.Event != before.Event {
		w.counts[string(c.reading.Event)]++
		w.tracef("coordinator %d reads %s: %s", c.id, c.reading.Event, c.reading.Detail)
	}
	if !c.reading.Usable() {
		c.at = idle
		return
	}
	if w.config.KeepLedger && before.Ledger.Seq > 0 {
		c.reading.Ledger = before.Ledger
	}
	for _, l := range w.logs {
		c.reading.Ledger = c.reading.Ledger.Begin(l.number, l.start)
	}
	choice := w.config.Choose(c.reading.Ledger, c.inbox, w.verdict)
	w.countChoice(choice)
	if w.rand.IntN(2) == 0 {
		c.forget(choice.Dropped)
	}
	if choice.Empty() && c.reading.Event == catalog.Normal && (!c.reading.Fresh || w.rand.IntN(4) > 0) {
		c.at = idle
		return
	}
	if c.commit == "" || !choice.SameRanges(c.choice) {
		c.commits++
		c.commit = fmt.Sprintf("c%d-%d", c.id, c.commits)
	}
	c.choice, c.lost = choice, w.lostBranch(choice)
	c.build()
	c.at = planned
}

// forget takes dropped offers out of the inbox.
func (c *coordinator) forget(dropped []catalog.Drop) {
	c.inbox = slices.DeleteFunc(c.inbox, func(o catalog.Offer) bool {
		return slices.ContainsFunc(dropped, func(d catalog.Drop) bool {
			return d.Offer.Range == o.Range && d.Offer.LeaderEpoch == o.LeaderEpoch && d.Offer.Generation == o.Generation
		})
	})
}

func (c *coordinator) build() {
	w := c.world
	main := catalog.Plan(c.views[catalog.Main], c.reading, c.choice, c.commit, catalog.PathSegment)
	if o := main.LedgerObject; o != nil {
		w.catalog.Objects[o.Name] = o.Text
	}
	files := c.choice.Files()
	c.updates = map[catalog.Role]catalog.Update{catalog.Main: main}
	c.request = Request{catalog.Main: {Update: main, SnapshotID: w.catalog.NewSnapshotID(), Add: files[catalog.Main]}}
	if len(files[catalog.Quarantine]) > 0 {
		side := catalog.PlanSide(c.views[catalog.Quarantine], main)
		c.updates[catalog.Quarantine] = side
		c.request[catalog.Quarantine] = TableRequest{side, w.catalog.NewSnapshotID(), files[catalog.Quarantine], nil}
	}
	w.tracef("coordinator %d plans %s on main %d tag %d: ledger %d, %s", c.id, c.commit, main.Base, main.Tag, main.Ledger.Seq,
		main.Summary[catalog.SummaryChanged])
}

func (c *coordinator) send() {
	w := c.world
	c.flight = &flight{request: c.request, name: c.commit, lost: c.lost}
	w.flights = append(w.flights, c.flight)
	w.tracef("coordinator %d sends %s", c.id, c.commit)
	c.at = waiting
}

// follow decides what an answer means.
func (c *coordinator) follow() {
	w := c.world
	main := c.request[catalog.Main]
	step := catalog.Next(c.views[catalog.Main], main.Update, main.SnapshotID, c.class)
	w.counts["step "+step.Action.String()]++
	w.counts["class "+c.class.String()]++
	w.tracef("coordinator %d: %s answered %s: %s (%s)", c.id, c.commit, c.class, step.Action, step.Reason)
	c.at = idle
	switch step.Action {
	case catalog.Publish, catalog.Pause:
		c.commit = ""
	case catalog.Resend:
		again := w.config.Choose(c.reading.Ledger, c.choice.Offers, w.verdict)
		if again.SameRanges(c.choice) {
			c.at, c.lost = planned, w.lostBranch(c.choice)
		}
	}
}

// flight is a request on its way: it is delivered once, late, twice or never.
type flight struct {
	request  Request
	name     string
	lost     string // why its rows were not in the log when they were chosen
	answered bool
	reply    status.Class
}

// deliverFlight lets one request arrive, and decides what the sender hears.
func (w *world) deliverFlight() {
	if len(w.flights) == 0 {
		return
	}
	i := w.rand.IntN(len(w.flights))
	f := w.flights[i]
	if w.roll("request", 8) {
		w.tracef("request %s is dropped", f.name)
		f.answer(status.Unknown)
		w.flights = append(w.flights[:i], w.flights[i+1:]...)
		return
	}
	class := w.arrive(f)
	switch {
	case w.roll("request", 10): // replayed below us: the answer is about the second copy
		class = w.arrive(f)
		w.counts["replay"]++
	case w.roll("request", 10):
		class = status.Unknown
	case class == status.Conflict && w.roll("request", 20):
		class = status.Invalid
	}
	f.answer(class)
	if w.roll("request", 10) {
		return // a copy is still on its way
	}
	w.flights = append(w.flights[:i], w.flights[i+1:]...)
}

func (f *flight) answer(class status.Class) {
	if !f.answered {
		f.answered, f.reply = true, class
	}
}

// arrive applies a request and lets the oracle look at what came of it.
func (w *world) arrive(f *flight) status.Class {
	before := w.catalog.View(catalog.Main).Head
	class := w.catalog.Apply(f.request)
	w.tracef("request %s arrives: %s", f.name, class)
	if class == status.OK {
		w.counts["commit"]++
		w.landed(f, before)
	}
	return class
}
