package coordinator

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"

	"tidemark/catalog"
	"tidemark/internal/status"
)

// commit takes one choice to its end: in the table, or given up. An empty choice installs where partitions begin.
func (g *group) commit(ctx context.Context, l loaded, choice catalog.Choice, subs []*submission) (outcome, error) {
	g.chosen = time.Now()
	if g.commitID == "" || !choice.SameRanges(g.choice) {
		g.commitID = newCommitID()
	}
	g.choice = choice
	updates, files, path := map[catalog.Role]catalog.Update{}, choice.Files(), catalog.PathSegment
	if len(files[catalog.Main])+len(files[catalog.Quarantine]) == 0 {
		path = catalog.PathEmpty
	}
	main := catalog.Plan(l.view, l.reading, choice, g.commitID, path)
	updates[catalog.Main] = main
	if len(files[catalog.Quarantine]) > 0 {
		side, ok := l.group.View(catalog.Quarantine)
		if !ok {
			return g.poison(subs, status.Errorf(status.Invalid, "topic %q has no quarantine table", g.claim.Topic))
		}
		updates[catalog.Quarantine] = catalog.PlanSide(side, main)
	}
	attempt, err := g.prepare(ctx, l.group, updates, files)
	switch status.Of(err) {
	case status.OK:
	case status.Invalid, status.Unsupported:
		return g.poison(subs, err)
	case status.Conflict:
		g.c.metrics.attempt(err)
		return again, nil
	default:
		return again, err
	}
	count := len(files[catalog.Main]) + len(files[catalog.Quarantine])
	return g.send(ctx, l, main, attempt, count, subs)
}

// newCommitID is a random name of a logical commit: no two coordinators may ever choose the same.
func newCommitID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails: the runtime ends the process instead
	return hex.EncodeToString(id[:])
}

func (g *group) prepare(ctx context.Context, group Group, updates map[catalog.Role]catalog.Update, files map[catalog.Role][]catalog.File) (Attempt, error) {
	ctx, cancel := context.WithTimeout(ctx, g.c.cfg.Attempt)
	defer cancel()
	return g.c.world.prepare(ctx, group, updates, files)
}

// poison answers offers that the table cannot take: trying again would fail for ever.
func (g *group) poison(subs []*submission, err error) (outcome, error) {
	g.commitID = ""
	g.remove(subs...)
	for _, s := range subs {
		s.finish(err)
	}
	return moved, err
}

// send sends an attempt until its fate is known. Only an attempt whose update is unchanged in every respect is sent again.
func (g *group) send(ctx context.Context, l loaded, main catalog.Update, attempt Attempt, files int, subs []*submission) (outcome, error) {
	for tries := 1; ; tries++ {
		err := g.sendOnce(ctx, attempt)
		g.c.metrics.attempt(err)
		after, loadErr := g.reload(ctx)
		if loadErr != nil {
			return again, loadErr
		}
		step := catalog.Next(after, main, attempt.Snapshot(catalog.Main), status.Of(err))
		g.c.metrics.steps[step.Action.String()].Inc()
		if err != nil {
			g.c.deps.Log.Info("commit.answered", "topic", g.claim.Topic, "commit", main.CommitID, "class", status.Of(err).String(),
				"action", step.Action.String(), "reason", step.Reason, "tries", tries, "error", err.Error())
		}
		switch step.Action {
		case catalog.Publish:
			g.applied(main, files, subs)
			return moved, nil
		case catalog.Rebuild:
			return again, nil
		case catalog.Pause:
			g.refuseTable(step)
			return again, err
		}
		g.pause(ctx, tries, nil)
		if ctx.Err() != nil {
			return again, ctx.Err()
		}
		if c, _ := g.choose(ctx, l.reading.Ledger, g.choice.Offers); !c.SameRanges(g.choice) {
			return again, nil
		}
	}
}

func (g *group) sendOnce(ctx context.Context, attempt Attempt) error {
	ctx, cancel := context.WithTimeout(ctx, g.c.cfg.Attempt)
	defer cancel()
	return g.c.world.send(ctx, attempt)
}

// reload loads the main table after an attempt, until that succeeds: without it nothing can be decided. The ledger of the load
// is published, whatever it says.
func (g *group) reload(ctx context.Context) (catalog.TableView, error) {
	for failures := 1; ; failures++ {
		l, err := g.load(ctx)
		if err == nil || l.group != nil {
			return l.view, nil // an event that pauses is noted; the attempt may have landed all the same
		}
		if status.Is(err, status.NotFound) {
			g.note(catalog.Missing, "the catalog says that the table is not there")
			return catalog.TableView{}, err
		}
		if ctx.Err() != nil {
			return catalog.TableView{}, fmt.Errorf("after an attempt: %w", err)
		}
		g.c.deps.Log.Warn("commit.unresolved", "topic", g.claim.Topic, "error", err.Error(), "failures", failures,
			"effect", "whether the last commit is in the table is not known; nothing else is committed before it is")
		g.pause(ctx, failures, nil)
	}
}

// refuseTable freezes the group with what an attempt has found.
func (g *group) refuseTable(step catalog.Step) {
	event := step.Event
	if event == "" {
		event = Refused
	}
	g.note(event, step.Reason)
	g.mu.Lock()
	g.refused = true
	g.mu.Unlock()
}

// applied answers the offers that are in the table.
func (g *group) applied(main catalog.Update, files int, subs []*submission) {
	g.commitID = ""
	g.mu.Lock()
	refused := g.refused
	g.mu.Unlock()
	if refused {
		g.note("", "")
	}
	took := time.Since(g.started)
	g.pace.add(time.Since(g.chosen))
	g.c.metrics.applied(files, took)
	g.c.deps.Log.Debug("commit.applied", "topic", g.claim.Topic, "commit", main.CommitID, "seq", main.Ledger.Seq, "files", files, "seconds", took.Seconds())
	g.remove(subs...)
	for _, s := range subs {
		s.finish(nil)
	}
}
