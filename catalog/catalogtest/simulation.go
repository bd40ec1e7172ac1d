package catalogtest

import (
	"fmt"
	"math/rand/v2"

	"tidemark/catalog"
)

// Config is one schedule.
type Config struct {
	Seed  uint64
	Steps int // events before the faults stop

	// Choose stands in for catalog.Choose if it is set.
	Choose func(catalog.Ledger, []catalog.Offer, catalog.Verdict) catalog.Choice
	// IgnoreHead and IgnoreTag take a requirement out of the catalog.
	IgnoreHead, IgnoreTag bool
	// KeepLedger makes coordinators keep the ledger they read before a conflict.
	KeepLedger bool

	Trace bool // fill Result.Trace
}

// Result is what a schedule came to.
type Result struct {
	Violation string // what the oracle found; "" if nothing
	Trace     []string
	Counts    map[string]int // how often what happened
}

// Run runs one schedule.
func Run(c Config) Result {
	w := newWorld(c)
	for w.step = 0; w.step < c.Steps && w.violation == ""; w.step++ {
		w.event()
	}
	if w.violation == "" {
		w.settle()
	}
	return Result{Violation: w.violation, Trace: w.trace, Counts: w.counts}
}

// world is everything of one schedule.
type world struct {
	config    Config
	rand      *rand.Rand
	step      int
	violation string
	trace     []string
	counts    map[string]int
	faults    map[string]bool // fault sites that are active in this schedule

	claim   catalog.Claim
	records []record
	at      map[position]int
	logs    []*partitionLog

	catalog  *Catalog
	contents map[string]content // of data files, by URI
	files    int

	leaders      []*leader
	coordinators []*coordinator
	flights      []*flight
	mail         []letter
	sent         []catalog.Offer // all offers ever made: what a restarted coordinator reads again
	operator     operator
}

// content is a data file: the ids of its records, and its footer unless another writer made it.
type content struct {
	rows   []int
	footer *catalog.FileFooter
	stray  int // id of a foreign row, 0 if there is none
}

// letter is an offer on its way to a coordinator.
type letter struct {
	to    int
	offer catalog.Offer
}

func newWorld(c Config) *world {
	w := &world{
		config: c, rand: rand.New(rand.NewPCG(c.Seed, 0x7469646d61726b)), counts: map[string]int{}, at: map[position]int{},
		contents: map[string]content{}, faults: map[string]bool{},
		claim: catalog.Claim{ClusterID: "cluster", TopicID: catalog.TopicID{7}, Topic: "t"},
	}
	if w.config.Choose == nil {
		w.config.Choose = catalog.Choose
	}
	w.catalog = NewCatalog(w.claim, catalog.Main, catalog.Quarantine)
	w.catalog.IgnoreHead, w.catalog.IgnoreTag = c.IgnoreHead, c.IgnoreTag
	w.catalog.CheckSequence = w.rand.IntN(2) == 0 && !c.IgnoreHead && !c.IgnoreTag
	for n := range int32(1 + w.rand.IntN(3)) {
		l := &partitionLog{number: n, start: int64(5 * w.rand.IntN(2))}
		w.logs = append(w.logs, l)
		w.append(l, 1+w.rand.IntN(6))
	}
	for i := range 2 {
		w.leaders = append(w.leaders, newLeader(w, i))
		w.coordinators = append(w.coordinators, &coordinator{id: i, world: w})
	}
	w.operator = newOperator(w)
	for _, site := range []string{"offer", "request", "restart", "election", "foreign", "rollback", "expiry", "damage", "lineage"} {
		w.faults[site] = w.rand.IntN(2) == 0
	}
	return w
}

// roll is true with a chance of percent, if the fault site is active.
func (w *world) roll(site string, percent int) bool {
	hit := w.rand.IntN(100) < percent
	return hit && w.faults[site]
}

func (w *world) tracef(format string, args ...any) {
	if w.config.Trace {
		w.trace = append(w.trace, fmt.Sprintf("%4d  ", w.step)+fmt.Sprintf(format, args...))
	}
}

func (w *world) fail(format string, args ...any) {
	if w.violation == "" {
		w.violation = fmt.Sprintf("step %d: ", w.step) + fmt.Sprintf(format, args...)
		w.tracef("VIOLATION %s", w.violation)
	}
}

// event lets one actor make one step.
func (w *world) event() {
	type choice struct {
		weight int
		run    func()
	}
	one := func(site string, weight int, run func()) choice {
		if site != "" && !w.faults[site] {
			weight = 0
		}
		return choice{weight, run}
	}
	l := w.logs[w.rand.IntN(len(w.logs))]
	leader := w.leaders[w.rand.IntN(len(w.leaders))]
	c := w.coordinators[w.rand.IntN(len(w.coordinators))]
	choices := []choice{
		one("", 6, func() { w.append(l, 1+w.rand.IntN(4)); w.tracef("p%d grows to %d", l.number, l.end()) }),
		one("", 8, func() { leader.poll() }),
		one("", 14, func() { leader.convert(l) }),
		one("", 16, w.deliverMail),
		one("", 40, c.advance),
		one("", 16, w.deliverFlight),
		one("restart", 2, c.restart),
		one("restart", 1, func() { leader.restart() }),
		one("election", 2, func() { w.election(l) }),
		one("foreign", 3, w.operator.append),
		one("foreign", 1, w.operator.rewrite),
		one("rollback", 2, w.operator.rollback),
		one("expiry", 2, w.operator.expire),
		one("damage", 2, w.operator.damage),
		one("", 3, w.operator.resolve),
	}
	total := 0
	for _, x := range choices {
		total += x.weight
	}
	at := w.rand.IntN(total)
	for _, x := range choices {
		if at -= x.weight; at < 0 {
			x.run()
			return
		}
	}
}

// election makes a new leader epoch. A leader that does not hear of it goes on with the log it has.
func (w *world) election(l *partitionLog) {
	to := l.end()
	if w.rand.IntN(2) == 0 && to > l.start {
		to -= 1 + w.rand.Int64N(min(4, to-l.start))
		w.counts["unclean election"]++
	}
	l.elect(to)
	w.tracef("p%d: epoch %d begins at %d", l.number, l.epoch, to)
	w.append(l, w.rand.IntN(3))
}

// verdict is the answer of the partition's current leader, or none.
func (w *world) verdict(partition int32, offset int64, batchEpoch int32) catalog.Lineage {
	if w.roll("lineage", 15) {
		return catalog.NotKnown
	}
	if w.onChain(w.logs[partition], offset, batchEpoch) {
		return catalog.OnChain
	}
	return catalog.OffChain
}

// post sends an offer to both coordinators: it may be lost, doubled and reordered.
func (w *world) post(o catalog.Offer) {
	w.sent = append(w.sent, o)
	for _, c := range w.coordinators {
		copies := 1
		if w.roll("offer", 15) {
			copies = 2 * w.rand.IntN(2)
		}
		for range copies {
			w.mail = append(w.mail, letter{c.id, o})
		}
	}
}

func (w *world) deliverMail() {
	if len(w.mail) == 0 {
		return
	}
	i := w.rand.IntN(len(w.mail))
	m := w.mail[i]
	w.mail = append(w.mail[:i], w.mail[i+1:]...)
	w.coordinators[m.to].inbox = append(w.coordinators[m.to].inbox, m.offer)
}
