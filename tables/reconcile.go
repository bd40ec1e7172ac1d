package tables

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"tidemark/catalog"
	"tidemark/internal/budget"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/kafkalog"
	"tidemark/internal/status"
	"tidemark/parquet/payload"
	"tidemark/tables/convert"
	"tidemark/tables/ingest"
)

const (
	lookTimeout  = 30 * time.Second // for one look at a topic or the catalog
	unreadyAfter = 30 * time.Second // until the absence of the metadata manager is said
)

// run waits for the broker, follows the definitions and keeps the tables in the state the definitions ask for.
func (t *Tables) run(ctx context.Context) {
	started := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	connected := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-tick.C:
		}
		if !connected {
			connected = t.connect(ctx, time.Since(started))
			continue
		}
		for _, e := range t.due() {
			_ = t.tasks.Guard("reconcile", func() error { t.reconcile(ctx, e); return nil })
		}
	}
}

// connect starts following the definitions once the broker can be reached. It reports whether that has begun.
func (t *Tables) connect(ctx context.Context, waited time.Duration) bool {
	t.mu.Lock()
	f := t.facts
	t.mu.Unlock()
	switch {
	case f.ClusterID == "":
		if waited > unreadyAfter {
			t.say("remote.log.metadata.manager.class.name is not io.tidemark.kafka.TidemarkRemoteLogMetadataManager; tiering works, tables need it (or set rsm.config.tables.enabled=false)")
		}
		return false
	case f.Bootstrap == "":
		t.say("remote.log.metadata.manager.listener.name is not set; tables need it to reach their own broker")
		return false
	case f.SecurityProtocol != "" && f.SecurityProtocol != "PLAINTEXT":
		t.say("the listener of remote.log.metadata.manager.listener.name is " + f.SecurityProtocol + "; this release's tables speak PLAINTEXT only")
		return false
	case !f.Ready:
		return false
	}
	client, err := t.deps.Connect(f.Bootstrap)
	if err != nil {
		t.say("cannot make a client for " + f.Bootstrap + ": " + err.Error())
		return false
	}
	t.mu.Lock()
	t.kafka = client
	t.mu.Unlock()
	t.tasks.Go("definitions", func(ctx context.Context) { t.follow(ctx, client) })
	return true
}

// follow makes sure the definitions topic is there and reads it for ever.
func (t *Tables) follow(ctx context.Context, client *kafkaclient.Client) {
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		c, cancel := context.WithTimeout(ctx, lookTimeout)
		err := client.EnsureTopic(c, DefinitionsTopic, 1, t.cfg.ReplicationFactor, map[string]string{
			"cleanup.policy": "compact", "segment.bytes": "16777216"})
		cancel()
		if err == nil {
			break
		}
		t.say("topic " + DefinitionsTopic + ": " + err.Error())
		if !budget.Sleep(ctx, pause) {
			return
		}
	}
	client.TailCompacted(ctx, DefinitionsTopic, t.define, func() {
		t.mu.Lock()
		t.caughtUp = true
		t.mu.Unlock()
		t.say("")
		t.nudge()
	})
}

// define takes one record of the definitions topic. A tombstone is not a drop: the state dropped is.
func (t *Tables) define(key, value []byte, offset int64) {
	if value == nil {
		return
	}
	d, err := ParseDefinition(value)
	if err != nil {
		t.deps.Log.Error("table.definition.refused", "topic", DefinitionsTopic, "offset", offset, "key", string(key), "error", err.Error())
		return
	}
	id, _ := ParseTopicID(d.TopicID) // checked by ParseDefinition
	t.markUsed()
	t.mu.Lock()
	e := t.entries[id]
	if e == nil {
		e = &entry{id: id, state: Starting}
		t.entries[id] = e
	}
	e.def, e.since, e.fails = d, time.Time{}, 0
	t.mu.Unlock()
	t.nudge()
}

// markUsed remembers over restarts that tables are in use, so that nothing is removed before the definitions are known.
func (t *Tables) markUsed() {
	t.mu.Lock()
	used := t.inUse
	t.inUse = true
	t.mu.Unlock()
	if used {
		return
	}
	if err := os.WriteFile(t.marker(), []byte("tables are in use on this broker; see docs/operations.md\n"), 0o644); err != nil {
		t.deps.Log.Error("tables.marker.failed", "file", t.marker(), "error", err.Error())
	}
}

// due are the tables to look at now: changed ones at once, failed ones with a growing pause, the rest every Refresh.
func (t *Tables) due() []*entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	led := t.deps.Ingest.Led()
	var due []*entry
	for _, e := range t.entries {
		pause := t.cfg.Refresh
		if e.fails > 0 {
			pause = min(time.Second<<min(e.fails, 6), t.cfg.Refresh)
		}
		leads := len(led[e.id]) > 0
		if e.since.IsZero() || time.Since(e.since) >= pause || leads && e.state == Idle || e.asked && !e.known && time.Since(e.since) > time.Second {
			e.since = time.Now()
			due = append(due, e)
		}
	}
	return due
}

// reconcile brings one table into the state its definition asks for.
func (t *Tables) reconcile(ctx context.Context, e *entry) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	t.mu.Lock()
	d, live, before := e.def, e.live, e.state
	t.mu.Unlock()
	state, reason, err := t.bring(ctx, e, d, live)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		e.fails++
		if state == "" {
			state = before
		}
		reason = err.Error()
		t.deps.Log.Warn("table.retry", "topic", d.Topic, "class", status.Of(err).String(), "error", err.Error())
	} else {
		e.fails = 0
	}
	if state != e.state || reason != e.reason {
		if state != e.state {
			t.state.Forget(d.Topic, e.state)
			t.deps.Log.Info("table.state", "topic", d.Topic, "table", d.Namespace+"."+d.Table, "from", e.state, "to", state, "reason", reason)
		}
		e.state, e.reason = state, reason
	}
	t.state.With(d.Topic, e.state).Set(1)
}

// bring does the work of reconcile and returns the new state and its reason.
func (t *Tables) bring(ctx context.Context, e *entry, d Definition, live uint64) (state, reason string, err error) {
	leads := len(t.deps.Ingest.Led()[e.id]) > 0
	switch d.State {
	case StateDropped:
		t.stop(e)
		if leads {
			err = t.deps.Catalog.Drop(ctx, e.id)
		}
		return Dropped, "", err
	case StatePaused:
		t.stop(e)
		return Paused, "by the operator", t.refreshLedger(ctx, e)
	}
	if !leads {
		t.stop(e)
		return Idle, "", t.refreshLedger(ctx, e)
	}
	info, err := t.kafka.DescribeTopic(ctx, d.Topic)
	gone := status.Is(err, status.NotFound) || err == nil && info.ID != e.id
	if err != nil && !gone {
		return "", "", status.Wrapf(err, "topic %s", d.Topic)
	}
	if gone {
		if live == 0 {
			return Draining, "the topic is gone", t.goLive(ctx, e, d, kafkaclient.TopicInfo{})
		}
		return Draining, "the topic is gone; what it left is still converted", nil
	}
	if reason := Refuse(info); reason != "" {
		t.stop(e)
		return Refused, reason, nil
	}
	if paused := t.deps.Commits.Paused(e.id); paused != "" {
		return Paused, paused, nil
	}
	if live == d.Pipeline {
		return Live, "", nil
	}
	if err := t.goLive(ctx, e, d, info); err != nil {
		if paused := t.deps.Commits.Paused(e.id); paused != "" {
			return Paused, paused, nil
		}
		if status.Is(err, status.Conflict) || status.Is(err, status.Invalid) {
			return Refused, err.Error(), nil
		}
		return "", "", err
	}
	return Live, "", nil
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

func (t *Tables) stop(e *entry) {
	t.deps.Ingest.DropTable(e.id)
	t.mu.Lock()
	e.live = 0
	t.mu.Unlock()
}

// refreshLedger loads the ledger of a table this broker does not write, for those who asked what is held.
func (t *Tables) refreshLedger(ctx context.Context, e *entry) error {
	t.mu.Lock()
	asked, claim := e.asked, t.claim(e)
	t.mu.Unlock()
	if !asked {
		return nil
	}
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
