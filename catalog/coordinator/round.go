package coordinator

import (
	"context"
	"math/rand/v2"
	"time"

	"tidemark/catalog"
	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// outcome is what came of a round.
type outcome int8

const (
	moved outcome = iota // something was decided: go on
	idle                 // offers wait for other offers or for their leader: go on when one comes, or after a pause
	again                // a lost race, a failure, an event: go on after a pause
)

// maxNeeds bounds how often one load may ask for more.
const maxNeeds = 8

// loaded is one usable load.
type loaded struct {
	group   Group
	view    catalog.TableView // of the main table
	reading catalog.Reading
}

// run works until no offer waits.
func (g *group) run(ctx context.Context) {
	for failures := 0; ; {
		waiting := g.waiting()
		if len(waiting) == 0 {
			return
		}
		if !budget.Sleep(ctx, g.due()) || g.take(ctx) != nil {
			return
		}
		g.started = time.Now()
		result, err := g.round(ctx, waiting)
		g.give()
		g.noteTrouble(err)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			g.c.deps.Log.Warn("commit.failed", "topic", g.claim.Topic, "class", status.Of(err).String(), "error", err.Error(), "failures", failures+1,
				"effect", "converted rows wait for the next attempt")
		}
		switch result {
		case moved:
			failures = 0
		case idle:
			failures++
			g.pause(ctx, failures, g.wake)
		case again:
			failures++
			g.pause(ctx, failures, nil)
		}
	}
}

// pause waits before the next attempt, at least half of the backoff, or until wake says that there is something new.
func (g *group) pause(ctx context.Context, failures int, wake <-chan struct{}) {
	b := g.c.cfg.Backoff
	d := min(b.Base<<min(failures-1, 20), b.Max)
	t := time.NewTimer(d/2 + rand.N(d/2+1))
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
	}
}

// load loads and reads the group. An event that forbids writing is noted and is Invalid.
func (g *group) load(ctx context.Context) (loaded, error) {
	ctx, cancel := context.WithTimeout(ctx, g.c.cfg.Attempt)
	defer cancel()
	group, err := g.c.world.load(ctx, g.claim.TopicID)
	if err != nil {
		return loaded{}, err
	}
	for range maxNeeds {
		view, ok := group.View(catalog.Main)
		if !ok {
			return loaded{}, status.Errorf(status.Corrupt, "the group of topic %q has no main table", g.claim.Topic)
		}
		reading := catalog.Read(view, g.claim)
		if (reading.Need != catalog.Need{}) {
			if group, err = g.c.world.supply(ctx, group, reading.Need); err != nil {
				return loaded{}, err
			}
			continue
		}
		l := loaded{group, view, reading}
		if !reading.Usable() {
			g.note(reading.Event, reading.Detail)
			return l, status.Errorf(status.Invalid, "%s: %s", reading.Event, reading.Detail)
		}
		g.clear()
		if reading.Event != catalog.Normal {
			g.c.deps.Log.Info("commit.ledger_read", "topic", g.claim.Topic, "event", string(reading.Event), "detail", reading.Detail)
		}
		if !reading.Fresh {
			g.c.deps.Published(g.claim.TopicID, reading.Ledger)
		}
		return l, nil
	}
	return loaded{}, status.Errorf(status.Internal, "the ledger of topic %q asks for more after %d answers", g.claim.Topic, maxNeeds)
}

// begin is Coordinator.Begin.
func (g *group) begin(ctx context.Context, starts map[int32]int64) (catalog.Ledger, error) {
	if err := g.take(ctx); err != nil {
		return catalog.Ledger{}, err
	}
	defer g.give()
	for failures := 1; ; failures++ {
		g.started = time.Now()
		l, err := g.load(ctx)
		if err != nil {
			return catalog.Ledger{}, err
		}
		if !l.reading.Fresh || len(starts) == 0 {
			return l.reading.Ledger, nil
		}
		for p, start := range starts {
			l.reading.Ledger = l.reading.Ledger.Begin(p, start)
		}
		result, err := g.commit(ctx, l, catalog.Choice{}, nil)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return catalog.Ledger{}, status.Wrapf(err, "begin topic %q", g.claim.Topic)
		}
		if result == again { // somebody else was first
			g.pause(ctx, failures, nil)
		}
	}
}

// round makes one commit of what waits.
func (g *group) round(ctx context.Context, waiting []*submission) (outcome, error) {
	l, err := g.load(ctx)
	switch {
	case status.Is(err, status.NotFound):
		g.note(catalog.Missing, "the catalog says that the table is not there")
		return again, nil
	case err != nil && l.group != nil:
		return again, nil // an event: noted, and said once
	case err != nil:
		return again, err
	}
	offers := make([]catalog.Offer, len(waiting))
	asked := map[int32]bool{}
	for i, s := range waiting {
		offers[i] = s.offer
		asked[s.offer.Range.Partition] = true
	}
	choice, silent := g.choose(ctx, l.reading.Ledger, offers)
	g.noteDiverged(asked, choice.Diverged, l.reading.Ledger)
	g.noteWaits(choice.Waiting, silent, l.reading.Ledger)
	answered := g.refuse(waiting, choice)
	choice.Offers = bounded(choice.Offers, g.c.cfg.MaxFiles)
	if choice.Empty() {
		if answered > 0 {
			return moved, nil
		}
		return idle, nil
	}
	return g.commit(ctx, l, choice, chosen(waiting, choice))
}

// due is how long to wait until the next commit: the interval, or four times what a commit takes by itself.
func (g *group) due() time.Duration {
	return time.Until(g.started.Add(max(g.c.cfg.Interval, 4*g.pace.median())))
}

// refuse answers the offers that can never be committed, and those of diverged partitions.
func (g *group) refuse(waiting []*submission, choice catalog.Choice) (answered int) {
	answer := func(s *submission, err error) {
		g.remove(s)
		s.finish(err)
		answered++
	}
	for _, d := range choice.Dropped {
		g.c.metrics.dropped[string(d.Reason)].Inc()
		for _, s := range waiting {
			if !same(s.offer, d.Offer) {
				continue
			}
			switch r := d.Offer.Range; d.Reason {
			case catalog.DropCovered:
				answer(s, nil)
			case catalog.DropMalformed:
				answer(s, status.Errorf(status.Invalid, "offer [%d, %d) of partition %d is malformed", r.Base, r.End, r.Partition))
			default:
				answer(s, status.Errorf(status.Conflict, "offer [%d, %d) of partition %d was refused: %s", r.Base, r.End, r.Partition, d.Reason))
			}
		}
	}
	for _, p := range choice.Diverged {
		for _, s := range waiting {
			if s.offer.Range.Partition == p {
				answer(s, status.Errorf(status.Invalid, "partition %d: %s: what the table covers is not on the log's leader-epoch chain", p, catalog.Diverged))
			}
		}
	}
	return answered
}

// chosen are the submissions whose offers were chosen.
func chosen(waiting []*submission, choice catalog.Choice) (out []*submission) {
	for _, s := range waiting {
		for _, o := range choice.Offers {
			if same(s.offer, o) {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// same tells whether two offers are one.
func same(a, b catalog.Offer) bool {
	return a.LeaderEpoch == b.LeaderEpoch && catalog.Choice{Offers: []catalog.Offer{a}}.SameRanges(catalog.Choice{Offers: []catalog.Offer{b}})
}

// bounded cuts a choice to a number of files, but never to nothing. What is left is still contiguous in every partition.
func bounded(offers []catalog.Offer, files int) []catalog.Offer {
	for i, o := range offers {
		for _, list := range o.Files {
			files -= len(list)
		}
		if files < 0 && i > 0 {
			return offers[:i]
		}
	}
	return offers
}
