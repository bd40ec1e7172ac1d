package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tidemark/catalog"
	"tidemark/internal/status"
)

// submission is an offer that waits for its commit.
type submission struct {
	offer catalog.Offer
	done  chan error // buffered: the answer never waits for a caller that has gone
}

func (s *submission) finish(err error) {
	select {
	case s.done <- err:
	default:
	}
}

// group is one group of this broker.
type group struct {
	c     *Coordinator
	claim catalog.Claim
	turn  chan struct{} // holds one token: whoever has it loads and commits
	wake  chan struct{} // an offer was added

	// Of whoever has the turn.
	choice   catalog.Choice // of the logical commit that is being tried
	commitID string
	started  time.Time // of the last commit, with the look at what to commit
	chosen   time.Time // when that was known
	pace     pace

	mu      sync.Mutex
	pending []*submission
	running bool
	closed  error // why no offer is taken any more
	state   State
	refused bool // the state comes from an attempt, not from a load
}

func newGroup(c *Coordinator, claim catalog.Claim) *group {
	g := &group{c: c, claim: claim, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	g.turn <- struct{}{}
	return g
}

// add queues an offer and sees to it that somebody works on it.
func (g *group) add(s *submission) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		return g.closed
	}
	if len(g.pending) >= g.c.cfg.Pending {
		return status.Errorf(status.Throttled, "%d offers of topic %q wait for their commit", len(g.pending), g.claim.Topic)
	}
	if !g.running {
		if !g.c.tasks.Go("commit "+g.claim.Topic, g.run) {
			return status.Errorf(status.Closed, "the coordinator is closed")
		}
		g.running = true
	}
	g.pending = append(g.pending, s)
	select {
	case g.wake <- struct{}{}:
	default:
	}
	return nil
}

func (g *group) remove(gone ...*submission) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pending = slices.DeleteFunc(g.pending, func(s *submission) bool { return slices.Contains(gone, s) })
}

// waiting is the offers to choose from. When there are none, the worker ends.
func (g *group) waiting() []*submission {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.pending) == 0 {
		g.running = false
	}
	return slices.Clone(g.pending)
}

func (g *group) refuseAll(why error) {
	g.mu.Lock()
	pending := g.pending
	g.pending, g.closed = nil, why
	g.mu.Unlock()
	for _, s := range pending {
		s.finish(why)
	}
}

// take takes the turn.
func (g *group) take(ctx context.Context) error {
	select {
	case <-g.turn:
		return nil
	case <-ctx.Done():
		return status.Wrapf(ctx.Err(), "topic %q waits for a commit", g.claim.Topic)
	}
}

func (g *group) give() { g.turn <- struct{}{} }

func (g *group) snapshotState() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.state
	s.Diverged, s.Waits = maps.Clone(s.Diverged), maps.Clone(s.Waits)
	return s
}

// clear records that a load forbids nothing. What an attempt has found stays until an attempt succeeds.
func (g *group) clear() {
	g.mu.Lock()
	kept := g.refused
	g.mu.Unlock()
	if !kept {
		g.note("", "")
	}
}

// note records an event that forbids writing, or that none does, and says so when it changes.
func (g *group) note(event catalog.Event, reason string) {
	g.mu.Lock()
	before := g.state.Event
	g.state.Event, g.state.Reason = event, reason
	g.refused = g.refused && event != ""
	g.mu.Unlock()
	switch {
	case event == before:
	case event == "":
		g.c.deps.Log.Info("commit.resumed", "topic", g.claim.Topic, "after", string(before))
	default:
		g.c.deps.Log.Warn("commit.paused", "topic", g.claim.Topic, "event", string(event), "reason", reason,
			"effect", "nothing is written to the table; its segments are kept, tiering is not affected; it goes on by itself once the reason is gone")
	}
}

// noteDiverged records the partitions whose ledger entry is off the chain, of those that were asked for.
func (g *group) noteDiverged(asked map[int32]bool, diverged []int32, l catalog.Ledger) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p := range asked {
		_, was := g.state.Diverged[p]
		is := slices.Contains(diverged, p)
		switch {
		case is && !was:
			if g.state.Diverged == nil {
				g.state.Diverged = map[int32]int64{}
			}
			g.state.Diverged[p] = l.Progress(p).Next
			g.c.deps.Log.Warn("commit.diverged", "topic", g.claim.Topic, "partition", p, "offset", l.Progress(p).Next, "epoch", l.Progress(p).BatchEpoch,
				"effect", "the table covers records that Kafka has truncated: no more of this partition is written",
				"help", "drop the table and create it again to start from what the log holds now")
		case was && !is:
			delete(g.state.Diverged, p)
			g.c.deps.Log.Info("commit.converged", "topic", g.claim.Topic, "partition", p)
		}
	}
}

// noteWaits records why offers of partitions wait.
func (g *group) noteWaits(waiting []catalog.Wait, silent map[int32]int64, l catalog.Ledger) {
	waits := map[int32]string{}
	for _, w := range waiting {
		switch w.Reason {
		case catalog.WaitLineage:
			waits[w.Partition] = fmt.Sprintf("the leader of partition %d has not confirmed offset %d", w.Partition, silent[w.Partition])
		case catalog.WaitHole:
			waits[w.Partition] = fmt.Sprintf("no converted range of partition %d begins at offset %d, where the table ends", w.Partition, l.Progress(w.Partition).Next)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state.Waits = waits
}

// noteTrouble records the error that a round ended with.
func (g *group) noteTrouble(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state.Trouble = ""
	if err != nil {
		g.state.Trouble = err.Error()
	}
}
