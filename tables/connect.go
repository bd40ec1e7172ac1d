package tables

import (
	"context"
	"os"
	"time"

	"tidemark/catalog"
	"tidemark/internal/budget"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/status"
)

// unreadyAfter is when the absence of the metadata manager is said.
const unreadyAfter = 30 * time.Second

// aloneAfter is how long the metadata manager may be silent before the broker counts as one without it. Kafka opens it within
// seconds of the storage manager.
const aloneAfter = 2 * time.Minute

// run waits for the broker, follows the definitions and keeps the tables in the state the definitions ask for.
func (t *Tables) run(ctx context.Context) {
	started := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	connected, cleaned := false, time.Time{}
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
		due := t.due()
		for _, e := range due {
			t.tasks.Go("reconcile "+e.id.String(), func(ctx context.Context) { t.reconcile(ctx, e) })
		}
		if t.ready() && (len(due) > 0 || time.Since(cleaned) >= t.cfg.Refresh) {
			cleaned = time.Now()
			t.deps.Ingest.ReleaseUnwanted(t.wanted)
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
			t.say("remote.log.metadata.manager.class.name is not io.tidemark.kafka.TidemarkRemoteLogMetadataManager; tiering works, tables need it (rsm.config.tables.enabled=false ends this message)")
		}
		return false
	case f.Bootstrap == "":
		t.say("remote.log.metadata.manager.listener.name is not set: tables need it to reach their own broker; tiering is not affected")
		return false
	case f.SecurityProtocol != "" && f.SecurityProtocol != "PLAINTEXT":
		t.say("the listener of remote.log.metadata.manager.listener.name is " + f.SecurityProtocol + ": this release's tables speak PLAINTEXT only; name a PLAINTEXT listener, for example one that is bound to the host itself")
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

// follow makes sure the definitions topic is there and reads it for ever. That the listener of a starting broker does not answer yet
// is nothing to say.
func (t *Tables) follow(ctx context.Context, client *kafkaclient.Client) {
	began := time.Now()
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		c, cancel := context.WithTimeout(ctx, lookTimeout)
		err := client.EnsureTopic(c, DefinitionsTopic, 1, t.cfg.ReplicationFactor, map[string]string{
			"cleanup.policy": "compact", "segment.bytes": "16777216"})
		cancel()
		if err == nil {
			break
		}
		if !status.Of(err).Retryable() || time.Since(began) > unreadyAfter {
			t.say("topic " + DefinitionsTopic + ": " + err.Error())
		}
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

// define takes one record of the definitions topic. A tombstone is not a drop: the state dropped is. A record that cannot be
// read leaves the definition before it in force; if there is none, the topic is held, because somebody wants a table of it.
func (t *Tables) define(key, value []byte, offset int64) {
	if value == nil {
		return
	}
	t.markUsed()
	id, err := catalog.ParseTopicID(string(key))
	if err != nil {
		t.refuseRecord(key, offset, err)
		return
	}
	d, err := ParseDefinition(value)
	if err == nil && d.TopicID != string(key) {
		err = status.Errorf(status.Invalid, "table definition of topic id %s under the key of another", d.TopicID)
	}
	t.mu.Lock()
	e := t.entries[id]
	if e == nil {
		e = &entry{id: id, state: Starting, def: Definition{TopicID: string(key)}, name: &name{}}
		t.entries[id] = e
	}
	switch {
	case err == nil:
		e.def, e.broken, e.since, e.fails, e.gone = d, "", time.Time{}, 0, false
	case e.def.Version == 0:
		e.broken, e.state, e.reason = err.Error(), Refused, err.Error()
	}
	t.mu.Unlock()
	if err != nil {
		t.refuseRecord(key, offset, err)
	}
	t.nudge()
}

func (t *Tables) refuseRecord(key []byte, offset int64, err error) {
	t.deps.Log.Error("table.definition.refused", "topic", DefinitionsTopic, "offset", offset, "key", string(key), "error", err.Error(),
		"effect", "the definition of that topic before it stays in force; write a right one with tidemark table")
}

// wanted reports whether a topic's hold files are to stay.
func (t *Tables) wanted(id catalog.TopicID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entries[id].wanted()
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
	if err := os.WriteFile(t.marker(), []byte("tables are in use on this broker: until their definitions are known after a start, nothing is removed that a table may need\n"), 0o644); err != nil {
		t.deps.Log.Error("tables.marker.failed", "file", t.marker(), "error", err.Error(),
			"effect", "right after a restart, segments that a table needs may be removed: make rsm.config.local.dir writable")
	}
}
