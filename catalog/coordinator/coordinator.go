package coordinator

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"tidemark/catalog"
	"tidemark/internal/budget"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// Config bounds the work. Zero fields take the defaults of [New].
type Config struct {
	Interval time.Duration // least time between two commits of a group [1 s]; a slow catalog stretches it
	Attempt  time.Duration // for one load, one preparation or one send [60 s]
	Question time.Duration // for one question to a partition's leader [5 s]
	Backoff  budget.Retry  // pauses between attempts; Attempts is not used, there is no last one [100 ms to 30 s]
	MaxFiles int           // files per commit [5000]
	Pending  int           // offers waiting per group [10000]
}

// Lineage answers whether an end of covered offsets is on a partition's leader-epoch chain; it never guesses.
type Lineage func(ctx context.Context, topic catalog.TopicID, partition int32, offset int64, batchEpoch int32) catalog.Lineage

// Deps are the collaborators.
type Deps struct {
	Lineage Lineage
	// Published takes the ledger of every usable load. It must return soon and must not call the coordinator.
	Published func(topic catalog.TopicID, ledger catalog.Ledger)
	Log       *slog.Logger
	Metrics   *telemetry.Set
}

// Coordinator commits offers.
type Coordinator struct {
	cfg     Config
	world   world
	deps    Deps
	metrics metrics
	tasks   *budget.Tasks
	// questions bounds what partition leaders are asked at once.
	questions *budget.Bytes

	mu     sync.Mutex
	closed bool
	groups map[catalog.TopicID]*group
}

// New makes a coordinator over a catalog.
func New[G Group, A Attempt](cfg Config, cat Catalog[G, A], deps Deps) *Coordinator {
	if cfg.Interval == 0 {
		cfg.Interval = time.Second
	}
	if cfg.Attempt == 0 {
		cfg.Attempt = time.Minute
	}
	if cfg.Question == 0 {
		cfg.Question = 5 * time.Second
	}
	if cfg.Backoff.Base == 0 {
		cfg.Backoff = budget.Retry{Base: 100 * time.Millisecond, Max: 30 * time.Second}
	}
	if cfg.MaxFiles == 0 {
		cfg.MaxFiles = 5000
	}
	if cfg.Pending == 0 {
		cfg.Pending = 10_000
	}
	c := &Coordinator{cfg: cfg, world: typed[G, A]{cat}, deps: deps, tasks: budget.NewTasks("coordinator", deps.Log),
		questions: budget.NewSlots("questions to leaders", maxQuestions), groups: map[catalog.TopicID]*group{}}
	c.metrics = newMetrics(deps.Metrics, c.paused)
	return c
}

// group finds or makes the state of a group. A known claim replaces an unknown one.
func (c *Coordinator) group(claim catalog.Claim) (*group, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, status.Errorf(status.Closed, "the coordinator is closed")
	}
	g := c.groups[claim.TopicID]
	if g == nil {
		g = newGroup(c, claim)
		c.groups[claim.TopicID] = g
	}
	return g, nil
}

func (c *Coordinator) known(topic catalog.TopicID) *group {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.groups[topic]
}

// Begin loads the ledger of a group and, if its main table never had a snapshot, first installs where partitions begin. Errors:
// NotFound (no such group), Invalid with the event's words when the table is paused by an event, Closed, Cancelled, and
// those of the catalog.
func (c *Coordinator) Begin(ctx context.Context, claim catalog.Claim, starts map[int32]int64) (catalog.Ledger, error) {
	g, err := c.group(claim)
	if err != nil {
		return catalog.Ledger{}, err
	}
	return g.begin(ctx, starts)
}

// Ledger loads the ledger of a group. Errors as of [Coordinator.Begin].
func (c *Coordinator) Ledger(ctx context.Context, claim catalog.Claim) (catalog.Ledger, error) {
	return c.Begin(ctx, claim, nil)
}

// Submit returns once the offer is in the table, has been refused (Conflict: convert again from the ledger's next offset), or
// ctx ends. Whatever it returns, only the ledger that is published tells what the table covers. The group must have been
// begun: Invalid otherwise. Throttled: too many offers wait. Invalid: the offer does not fit the table or its partition is off
// the chain.
func (c *Coordinator) Submit(ctx context.Context, topic catalog.TopicID, offer catalog.Offer) error {
	g := c.known(topic)
	if g == nil {
		return status.Errorf(status.Invalid, "topic id %s was not begun here", topic)
	}
	s := &submission{offer: offer, done: make(chan error, 1)}
	if err := g.add(s); err != nil {
		return err
	}
	select {
	case err := <-s.done:
		return err
	case <-ctx.Done():
		g.remove(s)
		why := g.snapshotState().Waiting(offer.Range.Partition)
		if why == "" {
			why = "its commit is under way"
		}
		return status.Wrapf(ctx.Err(), "offer [%d, %d) of partition %d waits: %s", offer.Range.Base, offer.Range.End, offer.Range.Partition, why)
	}
}

// Refused is the event of a group whose updates the catalog refuses although nothing has moved.
const Refused catalog.Event = "REFUSED"

// State is what a group's last load or attempt said.
type State struct {
	Event    catalog.Event    // that forbids writing, "" if none does
	Reason   string           // one sentence for people
	Diverged map[int32]int64  // partitions that are frozen, with the offset that is off the chain
	Waits    map[int32]string // why offers of a partition wait, in words
	Trouble  string           // why the last round came to nothing: the catalog's error
}

// Waiting says why offers of a partition are not in the table yet, "" if nothing keeps them.
func (s State) Waiting(partition int32) string {
	switch {
	case s.Event != "":
		return string(s.Event) + ": " + s.Reason
	case s.Waits[partition] != "":
		return s.Waits[partition]
	}
	return s.Trouble
}

// State is the state of a group, its zero value for a group that is not known.
func (c *Coordinator) State(topic catalog.TopicID) State {
	g := c.known(topic)
	if g == nil {
		return State{}
	}
	return g.snapshotState()
}

// Waiting says why offers of a partition are not in the table yet, "" if nothing keeps them.
func (c *Coordinator) Waiting(topic catalog.TopicID, partition int32) string {
	return c.State(topic).Waiting(partition)
}

// Paused says why nothing is committed to a group, "" if nothing keeps it.
func (c *Coordinator) Paused(topic catalog.TopicID) string {
	s := c.State(topic)
	if s.Event == "" {
		return ""
	}
	return string(s.Event) + ": " + s.Reason
}

func (c *Coordinator) paused() (n float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.groups {
		if g.snapshotState().Event != "" {
			n++
		}
	}
	return n
}

// Forget drops what is known of a group; offers that wait are answered with Closed.
func (c *Coordinator) Forget(topic catalog.TopicID) {
	c.mu.Lock()
	g := c.groups[topic]
	delete(c.groups, topic)
	c.mu.Unlock()
	if g != nil {
		g.refuseAll(status.Errorf(status.Closed, "topic id %s is not written here any more", topic))
	}
}

// Close stops within d. A commit on its way is given up; its fate is found out by the next life.
func (c *Coordinator) Close(d time.Duration) bool {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	ok := c.tasks.Stop(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.groups {
		g.refuseAll(status.Errorf(status.Closed, "the coordinator is closed"))
	}
	return ok
}
