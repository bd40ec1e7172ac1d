package tables

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tidemark/catalog"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/kafkalog"
	"tidemark/internal/status"
	"tidemark/parquet/payload"
	"tidemark/tables/convert"
	"tidemark/tables/ingest"
)

// lookTimeout bounds one look at a topic or the catalog.
const lookTimeout = 30 * time.Second

// maxLooks is how many tables are looked at at the same time: one that is stuck must not keep the others.
const maxLooks = 8

// due are the tables to look at now, marked busy: changed ones at once, failed ones with a growing pause, those of which objects are asked
// for soon, the rest every Refresh.
func (t *Tables) due() []*entry {
	led := t.deps.Ingest.Led()
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.caughtUp {
		return nil // of a topic's definitions only the newest counts
	}
	var due []*entry
	for _, e := range t.entries {
		pause := t.cfg.Refresh
		switch {
		case e.broken != "" || e.busy:
			continue
		case t.looks == maxLooks:
			return due
		case e.fails > 0:
			pause = min(time.Second<<min(e.fails, 6), t.cfg.Refresh)
		case e.asked, moved(e.state, len(led[e.id]) > 0):
			pause = min(time.Second, t.cfg.Refresh)
		}
		if e.since.IsZero() || time.Since(e.since) >= pause {
			e.since, e.busy = time.Now(), true
			t.looks++
			due = append(due, e)
		}
	}
	return due
}

// moved reports whether leadership has changed in a way that changes a table's state.
func moved(state string, leads bool) bool {
	if leads {
		return state == Idle || state == Closed
	}
	return state == Live || state == Draining
}

// reconcile brings one busy table into the state its definition asks for.
func (t *Tables) reconcile(life context.Context, e *entry) {
	defer func() {
		t.mu.Lock()
		e.busy = false
		t.looks--
		t.mu.Unlock()
		t.nudge()
	}()
	ctx, cancel := context.WithTimeout(life, lookTimeout)
	defer cancel()
	behind := t.deps.Ingest.Behind(e.id)
	t.mu.Lock()
	seen := *e
	seen.asked = seen.asked || behind
	e.asked, e.stale = false, false
	t.mu.Unlock()
	state, reason, err := t.bring(ctx, e, seen)
	if life.Err() != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	d := seen.def
	if err != nil {
		e.fails++
		e.asked, e.stale = e.asked || seen.asked, e.stale || seen.stale
		if state == "" {
			state = seen.state
		}
		reason = err.Error()
		t.deps.Log.Warn("table.retry", "topic", d.Topic, "state", state, "class", status.Of(err).String(), "error", err.Error(),
			"effect", "the table stays as it is and is looked at again; tiering is not affected")
	} else {
		e.fails = 0
	}
	if state != e.state {
		t.state.Forget(d.Topic, e.state)
		t.deps.Log.Info("table.state", "topic", d.Topic, "table", d.Namespace+"."+d.Table, "from", e.state, "to", state, "reason", reason)
	}
	e.state, e.reason = state, reason
	t.state.With(d.Topic, e.state).Set(1)
}

// bring does the work of reconcile and returns the new state and its reason. seen is e as it was when the look began.
func (t *Tables) bring(ctx context.Context, e *entry, seen entry) (state, reason string, err error) {
	leads := len(t.deps.Ingest.Led()[e.id]) > 0
	switch d := seen.def; {
	case d.State == StateDropped:
		t.stop(e)
		return Dropped, "", t.drop(ctx, e, seen, leads)
	case d.State == StatePaused:
		t.deps.Ingest.Pause(e.id)
		t.notLive(e)
		return Paused, "by the operator", t.reloadFor(ctx, e, seen)
	case !leads:
		err := t.reloadFor(ctx, e, seen)
		t.stop(e)
		if err != nil {
			return "", "", err
		}
		t.deps.Ingest.Adopt(e.id, d.Topic) // then the next look finds that something is to be done
		if seen.state == Draining || seen.state == Closed {
			return Closed, "the topic is gone", nil
		}
		return Idle, "", nil
	}
	return t.bringLed(ctx, e, seen)
}

// bringLed brings a table of which this broker leads a partition to life.
func (t *Tables) bringLed(ctx context.Context, e *entry, seen entry) (state, reason string, err error) {
	d := seen.def
	info, gone, err := t.describe(ctx, seen)
	switch {
	case err != nil:
		return "", "", err
	case gone && seen.live == 0:
		return Draining, "the topic is gone", t.goLive(ctx, e, d, kafkaclient.TopicInfo{})
	case gone:
		return Draining, "the topic is gone; what it left is still converted", nil
	}
	if reason := Refuse(info); reason != "" {
		t.stop(e)
		return Refused, reason, nil
	}
	switch {
	case seen.live != d.Pipeline:
		err = t.goLive(ctx, e, d, info)
	case t.deps.Commits.Paused(e.id) != "":
		err = t.reload(ctx, e) // a load finds out whether the reason is still there
	default:
		err = t.reloadFor(ctx, e, seen)
	}
	switch paused := t.deps.Commits.Paused(e.id); {
	case paused != "":
		return Paused, paused, nil
	case status.Is(err, status.Unsupported): // by the store or the catalog; looked at again
		t.stop(e)
		return Paused, err.Error(), nil
	case status.Is(err, status.Conflict), status.Is(err, status.Invalid):
		t.stop(e)
		return Refused, err.Error(), nil
	case err != nil:
		return "", "", err
	}
	return Live, "", nil
}

// describe looks at the topic of a definition. gone: there is none, or the name belongs to another one now.
func (t *Tables) describe(ctx context.Context, seen entry) (info kafkaclient.TopicInfo, gone bool, err error) {
	info, err = t.kafka.DescribeTopic(ctx, seen.def.Topic)
	if status.Is(err, status.NotFound) {
		return info, true, nil
	}
	return info, err == nil && info.ID != seen.id, status.Wrapf(err, "topic %s", seen.def.Topic)
}

// drop takes the tables of a dropped definition out of the catalog, once. It is the leaders' work; a topic that is gone has none.
func (t *Tables) drop(ctx context.Context, e *entry, seen entry, leads bool) error {
	if seen.gone {
		return nil
	}
	if !leads {
		if _, gone, err := t.describe(ctx, seen); err != nil || !gone {
			return err
		}
	}
	if err := t.deps.Catalog.Drop(ctx, e.id); err != nil {
		return err
	}
	t.deps.Ingest.ForgetTable(e.id)
	t.mu.Lock()
	e.gone = e.def.State == StateDropped
	e.known = false // if it is defined again it is another table
	t.mu.Unlock()
	return nil
}

// reloadFor loads the ledger again if somebody waits for what it says.
func (t *Tables) reloadFor(ctx context.Context, e *entry, seen entry) error {
	if !seen.asked && !seen.stale {
		return nil
	}
	return t.reload(ctx, e)
}

// Refuse says why a topic cannot be a table in this release, "" if it can.
func Refuse(info kafkaclient.TopicInfo) string {
	if policy := info.Config["cleanup.policy"]; strings.Contains(policy, "compact") {
		return fmt.Sprintf("cleanup.policy is %s: compacted topics are not tiered by Kafka, and this release makes tables of tiered topics only", policy)
	}
	if info.Config["remote.storage.enable"] != "true" {
		return "remote.storage.enable is not true: this release makes tables of tiered topics only"
	}
	return ""
}

// stop ends ingestion into a table, and all that the commit side keeps of it.
func (t *Tables) stop(e *entry) {
	t.deps.Ingest.DropTable(e.id)
	t.deps.Commits.Forget(e.id)
	t.notLive(e)
}

func (t *Tables) notLive(e *entry) {
	t.mu.Lock()
	e.live = 0
	t.mu.Unlock()
}

// reload loads the ledger of a table that this broker does not write, or not alone. A table that is not there yet is no error.
func (t *Tables) reload(ctx context.Context, e *entry) error {
	t.mu.Lock()
	claim := t.claim(e)
	t.mu.Unlock()
	l, err := t.deps.Commits.Ledger(ctx, claim)
	if status.Is(err, status.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	t.Published(e.id, l)
	return nil
}

func (t *Tables) claim(e *entry) catalog.Claim {
	return catalog.Claim{ClusterID: t.facts.ClusterID, TopicID: e.id, Topic: e.def.Topic}
}

// goLive makes or finds the table and starts ingestion into it.
func (t *Tables) goLive(ctx context.Context, e *entry, d Definition, info kafkaclient.TopicInfo) error {
	decoder, err := d.Decoder()
	if err != nil {
		return err
	}
	t.mu.Lock()
	claim := t.claim(e)
	t.mu.Unlock()
	group, err := t.deps.Catalog.Create(ctx, claim, d, convert.MainFields(decoder), convert.QuarantineFields())
	if err != nil {
		return err
	}
	starts := map[int32]int64{}
	for p := range int32(info.Partitions) {
		start, _, _, err := t.kafka.Offsets(ctx, d.Topic, p)
		if err != nil {
			return status.Wrapf(err, "log start of %s-%d", d.Topic, p)
		}
		starts[p] = start
	}
	ledger, err := t.deps.Commits.Begin(ctx, claim, starts)
	if err != nil {
		return err
	}
	limits := convert.Limits{FileBytes: t.cfg.FileBytes, OpenPartitions: t.cfg.OpenPartitions, Records: kafkalog.DefaultLimits()}
	converter, err := convert.New(convert.Definition{
		Claim: claim, Generation: ledger.Generation, Pipeline: d.Pipeline, Decoder: forker(decoder),
		Main: group.Schemas[catalog.Main], Quarantine: group.Schemas[catalog.Quarantine], Specs: group.Specs, Limits: limits,
	})
	if err != nil {
		return err
	}
	t.deps.Ingest.SetTable(ingest.Table{TopicID: e.id, Topic: d.Topic, Generation: ledger.Generation, Converter: converter, Location: group.Locations})
	t.mu.Lock()
	e.live = d.Pipeline
	t.mu.Unlock()
	t.Published(e.id, ledger)
	return nil
}

// forker makes a decoder per conversion: conversions of several partitions run at the same time.
func forker(d payload.Decoder) func() payload.Decoder {
	return func() payload.Decoder {
		if j, ok := d.(*payload.JSON); ok {
			return j.Fork()
		}
		return d
	}
}
