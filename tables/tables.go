package tables

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/catalog"
	"tidemark/internal/budget"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/telemetry"
	"tidemark/parquet/schema"
	"tidemark/tables/convert"
	"tidemark/tables/ingest"
)

// Config is docs/config.md's part about tables.
type Config struct {
	Enabled           bool          `config:"tables.enabled" default:"true" doc:"Whether topics may become tables. Needs TidemarkRemoteLogMetadataManager and remote.log.metadata.manager.listener.name; without them tiering works and the log says why tables do not start."`
	ReplicationFactor int           `config:"tables.topic.replication.factor" default:"3" doc:"Replication factor with which the first broker creates the topic __tidemark_tables. Set 1 on a single broker."`
	FileBytes         int64         `config:"tables.file.bytes" default:"268435456" doc:"Size at which a Parquet file is complete and the rest of a range goes to another. Larger means fewer files and more scratch space."`
	OpenPartitions    int           `config:"tables.partition.max.open" default:"32" doc:"Days written at once by one conversion. A range with more ends early and goes on in the next commit."`
	Refresh           time.Duration `config:"tables.refresh.interval.ms" default:"30000" doc:"How often a table's topic and catalog entry are looked at again."`
	StateDir          string        // where the marker that tables are in use lies
}

// Validate returns all faults.
func (c Config) Validate() (faults []string) {
	if c.ReplicationFactor < 1 || c.ReplicationFactor > 32767 {
		faults = append(faults, "tables.topic.replication.factor must be from 1 to 32767")
	}
	if c.FileBytes < 1<<20 || c.FileBytes > 4<<30 {
		faults = append(faults, "tables.file.bytes must be from 1 MiB to 4 GiB")
	}
	if c.OpenPartitions < 1 || c.OpenPartitions > 1000 {
		faults = append(faults, "tables.partition.max.open must be from 1 to 1000")
	}
	if c.Refresh < time.Second || c.Refresh > time.Hour {
		faults = append(faults, "tables.refresh.interval.ms must be from 1000 to 3600000")
	}
	return faults
}

// Group is the loaded tables of one topic.
type Group struct {
	Claim     catalog.Claim
	Schemas   map[catalog.Role]schema.Schema
	Locations map[catalog.Role]string // store keys, without a slash at the end
	Specs     map[catalog.Role]convert.Spec
}

// Catalog makes, finds and drops the tables of a topic.
type Catalog interface {
	// Create makes the tables, or returns those there are. Conflict: the name belongs to another topic.
	Create(ctx context.Context, claim catalog.Claim, d Definition, main, quarantine []schema.Field) (Group, error)
	// Drop makes the tables disappear from the catalog; data files stay. Dropping twice is success.
	Drop(ctx context.Context, topicID catalog.TopicID) error
}

// Commits is what tables ask of the commit side.
type Commits interface {
	// Begin loads the ledger of a group and, if the table never had a snapshot, installs where its partitions begin. Errors: Invalid
	// with the event's words when the table is paused by an event.
	Begin(ctx context.Context, claim catalog.Claim, starts map[int32]int64) (catalog.Ledger, error)
	// Ledger loads the ledger of a group, NotFound if there is none.
	Ledger(ctx context.Context, claim catalog.Claim) (catalog.Ledger, error)
	// Paused says why nothing is committed to a group, "" if nothing keeps it.
	Paused(topicID catalog.TopicID) string
	// Forget drops what is known of a group that is not written here any more.
	Forget(topicID catalog.TopicID)
}

// Deps are the collaborators.
type Deps struct {
	Catalog Catalog
	Commits Commits
	Ingest  *ingest.Ingest
	Connect func(bootstrap string) (*kafkaclient.Client, error)
	Log     *slog.Logger
	Metrics *telemetry.Set
}

// Facts are what the metadata manager knows of its broker.
type Facts struct {
	ClusterID, Bootstrap, SecurityProtocol string
}

// Tables keeps the tables of this broker's topics alive.
type Tables struct {
	cfg   Config
	deps  Deps
	tasks *budget.Tasks
	wake  chan struct{}
	state *telemetry.GaugeVec

	mu       sync.Mutex
	opened   time.Time
	facts    Facts
	kafka    *kafkaclient.Client
	caughtUp bool // all definitions are known
	inUse    bool // a definition has been seen, in this life or an earlier one
	entries  map[catalog.TopicID]*entry
	looks    int    // entries that are busy
	said     string // the last reason why tables do not start
}

// Table states, as docs and metrics name them.
const (
	Starting = "STARTING" // a definition is there, the table is not live yet
	Idle     = "IDLE"     // no partition of the topic is led by this broker
	Live     = "LIVE"
	Paused   = "PAUSED"
	Refused  = "REFUSED"
	Draining = "DRAINING" // the topic is gone; what it left is still converted
	Closed   = "CLOSED"   // the topic is gone and nothing of it is left to convert
	Dropped  = "DROPPED"
)

// unsaid is the reason before any was said; it is none that could be said.
const unsaid = "\x00"

// entry is one table.
type entry struct {
	def    Definition
	id     catalog.TopicID
	broken string // why its definition cannot be read and none was read before; "" if one was
	state  string
	reason string
	since  time.Time // of the last look at the topic and the catalog; zero: look now
	live   uint64    // pipeline that ingestion runs, 0 if none
	ledger catalog.Ledger
	known  bool // ledger is loaded
	stale  bool // another broker may have moved the ledger: a partition is newly led
	asked  bool // since the last look somebody was told that objects are held
	gone   bool // the tables of a dropped definition are out of the catalog
	fails  int
	busy   bool // somebody looks at it
	name   *name
}

// Open starts the tables side. It connects to nothing until Facts says where the broker is.
func Open(cfg Config, deps Deps) *Tables {
	t := &Tables{cfg: cfg, deps: deps, tasks: budget.NewTasks("tables", deps.Log), wake: make(chan struct{}, 1),
		entries: map[catalog.TopicID]*entry{}, said: unsaid, opened: time.Now(),
		state: deps.Metrics.GaugeVec("table_state", "1 for the state a table is in on this broker.", "topic", "state")}
	deps.Metrics.GaugeFunc("tables_ready", "1 once all table definitions are known.", func() float64 {
		if t.ready() {
			return 1
		}
		return 0
	})
	_, err := os.Stat(t.marker())
	t.inUse = err == nil
	if cfg.Enabled {
		t.tasks.Go("tables", t.run)
	}
	return t
}

// Close stops within d.
func (t *Tables) Close(d time.Duration) bool {
	ok := t.tasks.Stop(d)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kafka != nil {
		t.kafka.Close()
	}
	return ok
}

func (t *Tables) marker() string { return filepath.Join(t.cfg.StateDir, "tables-in-use") }

func (t *Tables) ready() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.caughtUp
}

// Facts takes what the metadata manager knows.
func (t *Tables) Facts(f Facts) {
	t.mu.Lock()
	t.facts = f
	t.mu.Unlock()
	t.nudge()
}

// Leadership takes the partitions this broker leads, follows, or no longer has. The ledger of a table of which it has become
// the leader of a partition is loaded again: the leader before may have moved it.
func (t *Tables) Leadership(leaders, followers, stopped []ingest.Partition) {
	fresh := t.deps.Ingest.Lead(leaders, followers)
	t.deps.Ingest.Stopped(stopped)
	t.mu.Lock()
	for _, p := range fresh {
		if e := t.entries[p.TopicID]; e != nil {
			e.stale, e.since = true, time.Time{}
		}
	}
	t.mu.Unlock()
	t.nudge()
}

// Published takes the ledger of a load or commit. An older one than is known changes nothing.
func (t *Tables) Published(topicID catalog.TopicID, l catalog.Ledger) {
	t.mu.Lock()
	if e := t.entries[topicID]; e != nil && !(e.known && ingest.Older(l, e.ledger)) {
		if e.known && l.Generation != e.ledger.Generation {
			e.live, e.since = 0, time.Time{} // what is converted must carry the new generation
		}
		e.ledger, e.known = l, true
	}
	t.mu.Unlock()
	t.deps.Ingest.Published(topicID, l)
}

// WantsHold reports whether a copied segment of the topic should be kept by a hold file until it is converted, and the
// generation of the table's ledger, 0 if it is not known yet.
func (t *Tables) WantsHold(topicID catalog.TopicID) (generation uint64, wanted bool) {
	if !t.cfg.Enabled {
		return 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.caughtUp {
		return 0, t.inUse
	}
	e := t.entries[topicID]
	if !e.wanted() || e.state == Refused {
		return 0, false
	}
	return e.ledger.Generation, true
}

// Held reports whether a table still needs the offsets [base, end): stale towards held, never towards free.
func (t *Tables) Held(topicID catalog.TopicID, partition int32, base, end int64) bool {
	if !t.cfg.Enabled {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.caughtUp {
		return !t.alone()
	}
	e := t.entries[topicID]
	if !e.wanted() {
		return false
	}
	if e.known && end <= e.ledger.Progress(partition).Next {
		return false
	}
	e.asked = true
	return true
}

// alone reports whether there can be no table: no metadata manager of Tidemark has reported in all this time, and none of a broker's
// earlier lives saw a definition. t.mu is held.
func (t *Tables) alone() bool {
	return t.facts.ClusterID == "" && !t.inUse && time.Since(t.opened) >= aloneAfter
}

// wanted reports whether somebody defined a table and did not drop it; a definition that cannot be read counts.
func (e *entry) wanted() bool { return e != nil && (e.broken != "" || e.def.State != StateDropped) }

func (t *Tables) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// say logs once why tables do not start, and again when the reason changes.
func (t *Tables) say(reason string) {
	t.mu.Lock()
	again := t.said == reason
	t.said = reason
	t.mu.Unlock()
	if again {
		return
	}
	if reason == "" {
		t.deps.Log.Info("tables.ready")
		return
	}
	t.deps.Log.Warn("tables.waiting", "reason", reason,
		"effect", "no topic becomes a table; segments that Kafka deletes may stay in the store until it is known that no table needs them")
}

// Status is one table as this broker sees it.
type Status struct {
	Definition Definition
	State      string
	Reason     string
	Partitions []ingest.Status
}

// Status returns all tables, by topic.
func (t *Tables) Status() []Status {
	t.mu.Lock()
	out := make([]Status, 0, len(t.entries))
	for _, e := range t.entries {
		out = append(out, Status{Definition: e.def, State: e.state, Reason: e.reason})
	}
	t.mu.Unlock()
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(strings.Compare(a.Definition.Topic, b.Definition.Topic), strings.Compare(a.Definition.TopicID, b.Definition.TopicID))
	})
	for i := range out {
		id, err := catalog.ParseTopicID(out[i].Definition.TopicID)
		if err == nil {
			out[i].Partitions = t.deps.Ingest.Status(id)
		}
	}
	return out
}
