package ingest

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"tidemark/catalog"
	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/telemetry"
	"tidemark/tables/convert"
)

// Index is a segment index a conversion reads.
type Index int

// The indexes that tell transaction outcomes.
const (
	ProducerSnapshot Index = iota // state at the segment's end
	Transaction                   // NotFound when the segment has none
)

// Source is the original bytes of an opened segment; the caller closes it.
type Source interface {
	io.ReaderAt
	Size() int64
	io.Closer
}

// Segments opens closed segments. It is implemented by the storage side.
type Segments interface {
	// Open gives a segment's original bytes: the hold file if there is one and its length still agrees, else, or with
	// s.NoHold, the tiered object.
	Open(ctx context.Context, s Segment) (Source, error)
	// Index returns a whole index, NotFound if the segment has none of this kind.
	Index(ctx context.Context, s Segment, kind Index) ([]byte, error)
	// Kept are the segments that are kept, of all topics. It asks nothing of the store.
	Kept() []Kept
	// Describe reads what there is to know of a kept segment; NotFound if its stored object is gone.
	Describe(ctx context.Context, k Kept) (Segment, error)
	// Release gives up the holds of a partition, or of all if it is negative, that end at or below upTo.
	Release(topicID catalog.TopicID, partition int32, upTo int64)
}

// Commits takes converted ranges to the catalog.
type Commits interface {
	// Submit returns once the offer is in the table, has been refused (Conflict: convert again from the ledger's next offset), or ctx
	// ends. Whatever it returns, only the ledger that is published tells what the table covers.
	Submit(ctx context.Context, topicID catalog.TopicID, offer catalog.Offer) error
	// Waiting says why an offer of a partition is not in the table yet, "" if nothing keeps it.
	Waiting(topicID catalog.TopicID, partition int32) string
}

// Config bounds the work. See docs/config.md.
type Config struct {
	Workers    int           `config:"tables.workers" default:"1" doc:"Segment ranges converted at the same time on this broker. Each uses one CPU core while it decodes and compresses, and scratch space of about the size of its Parquet files."`
	Linger     time.Duration `config:"tables.linger.ms" default:"2000" doc:"How long a partition's newly tiered segments are gathered before they are converted. Longer makes fewer, larger files and later rows."`
	ListEvery  time.Duration `config:"tables.list.interval.ms" default:"30000" doc:"How often the list of a partition's remote segments is compared with its ledger, to find what a crash or a missed event left unconverted."`
	ScratchDir string        // where files are written before upload
}

// Validate returns all faults.
func (c Config) Validate() (faults []string) {
	if c.Workers < 1 || c.Workers > 64 {
		faults = append(faults, "tables.workers must be from 1 to 64")
	}
	if c.Linger < 0 || c.Linger > 15*time.Minute {
		faults = append(faults, "tables.linger.ms must be from 0 to 900000")
	}
	if c.ListEvery < time.Second || c.ListEvery > time.Hour {
		faults = append(faults, "tables.list.interval.ms must be from 1000 to 3600000")
	}
	return faults
}

// Table is what ingestion needs to know of a live table. It is replaced as a whole when the definition or the schema changes.
type Table struct {
	TopicID    catalog.TopicID
	Topic      string
	Generation uint64
	Converter  *convert.Converter
	Location   map[catalog.Role]string // store key of each table's location, without a slash at the end
}

// Deps are the collaborators of an Ingest.
type Deps struct {
	Segments Segments
	Commits  Commits
	Store    objectstore.Store
	Log      *slog.Logger
	Metrics  *telemetry.Set
}

// Ingest converts the closed segments of the partitions this broker leads.
type Ingest struct {
	cfg     Config
	deps    Deps
	tasks   *budget.Tasks
	slots   *budget.Bytes
	wake    chan struct{}
	metrics metrics

	mu          sync.Mutex
	partitions  map[key]*state
	targets     map[catalog.TopicID]*target
	ledgers     map[catalog.TopicID]catalog.Ledger // newest seen, of tables that this broker does not write too
	absent      map[[16]byte]bool                  // kept segments whose object is not there
	recalling   bool                               // a look at what is kept is under way
	recallAfter time.Time                          // none before
}

// target is a topic's table: live, or paused, when segments are gathered but not converted.
type target struct {
	table Table
	live  bool
}

// New makes an Ingest and starts its scheduler.
func New(cfg Config, deps Deps) *Ingest {
	in := &Ingest{
		cfg: cfg, deps: deps, tasks: budget.NewTasks("ingest", deps.Log),
		slots: budget.NewSlots("conversion slots", cfg.Workers), wake: make(chan struct{}, 1),
		metrics: newMetrics(deps.Metrics), partitions: map[key]*state{}, targets: map[catalog.TopicID]*target{},
		ledgers: map[catalog.TopicID]catalog.Ledger{}, absent: map[[16]byte]bool{},
	}
	in.tasks.Go("schedule", in.schedule)
	return in
}

// Close stops all work within d. Ranges in conversion are dropped: they are found again.
func (in *Ingest) Close(d time.Duration) bool { return in.tasks.Stop(d) }

// Lead sets which of the given partitions this broker leads (levels: repeats change nothing) and returns those it did not lead before.
func (in *Ingest) Lead(leaders, others []Partition) (fresh []Partition) {
	in.mu.Lock()
	for _, p := range leaders {
		if in.lead(p) {
			fresh = append(fresh, p)
		}
	}
	for _, p := range others {
		if s := in.partitions[p.key()]; s != nil {
			in.leave(s)
		}
	}
	in.mu.Unlock()
	in.nudge()
	return fresh
}

// Stopped takes partitions that left this broker: moved away, or their topic is deleted. What was tiered under this leader and is not
// in the table yet is still converted; the ledger decides between it and another leader's work.
func (in *Ingest) Stopped(partitions []Partition) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range partitions {
		s := in.partitions[p.key()]
		if s == nil {
			continue
		}
		if s.led && len(s.segments) > 0 {
			s.draining = true
			continue
		}
		in.leave(s)
	}
}

// Led are the topic incarnations of which this broker leads a partition, those that are still drained included.
func (in *Ingest) Led() map[catalog.TopicID][]Partition {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := map[catalog.TopicID][]Partition{}
	for _, s := range in.partitions {
		if s.led {
			out[s.partition.TopicID] = append(out[s.partition.TopicID], s.partition)
		}
	}
	return out
}

// SetTable starts or changes ingestion into a table, and ends a pause.
func (in *Ingest) SetTable(t Table) {
	in.mu.Lock()
	in.target(t.TopicID, &target{table: t, live: true})
	in.mu.Unlock()
	in.nudge()
}

// Pause stops ingestion into a table that stays: its segments are gathered on.
func (in *Ingest) Pause(topicID catalog.TopicID) {
	in.mu.Lock()
	in.target(topicID, &target{})
	in.mu.Unlock()
	in.nudge()
}

// DropTable stops ingestion into a table and forgets its segments; what it has converted stays.
func (in *Ingest) DropTable(topicID catalog.TopicID) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.targets, topicID)
	for k, s := range in.partitions {
		if k.topic != topicID {
			continue
		}
		if s.draining {
			in.leave(s)
			continue
		}
		in.forget(s)
	}
}

// ForgetTable drops the ledger of a table that is no more.
func (in *Ingest) ForgetTable(topicID catalog.TopicID) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.ledgers, topicID)
}

// ReleaseUnwanted gives up all holds of topics that have no table.
func (in *Ingest) ReleaseUnwanted(wanted func(catalog.TopicID) bool) {
	done := map[catalog.TopicID]bool{}
	for _, k := range in.deps.Segments.Kept() {
		if !k.Unlistable && !done[k.TopicID] && !wanted(k.TopicID) {
			done[k.TopicID] = true
			in.deps.Segments.Release(k.TopicID, -1, math.MaxInt64)
		}
	}
}

// Published takes the ledger of a load or commit. Holds below it are released. Loads and commits overtake each other: an older
// ledger than the newest seen changes nothing.
func (in *Ingest) Published(topicID catalog.TopicID, l catalog.Ledger) {
	in.mu.Lock()
	before, known := in.ledgers[topicID]
	if known && Older(l, before) {
		in.mu.Unlock()
		return
	}
	in.ledgers[topicID] = l
	for k, s := range in.partitions {
		if k.topic == topicID {
			in.advance(s, l.Progress(k.partition))
		}
	}
	in.mu.Unlock()
	for p, progress := range l.Partitions {
		if !known || before.Progress(p).Next != progress.Next {
			in.deps.Segments.Release(topicID, p, progress.Next)
		}
	}
	in.nudge()
}

// Older reports whether l is an earlier state of the same table than other.
func Older(l, other catalog.Ledger) bool {
	if l.TableUUID != other.TableUUID {
		return false
	}
	return l.Generation < other.Generation || l.Generation == other.Generation && l.Seq < other.Seq
}

// HandOver takes a segment that was just tiered by this broker. It never blocks. Segments of topics without a table are not
// kept: they are found again by the list once there is one.
func (in *Ingest) HandOver(seg Segment) {
	in.mu.Lock()
	s := in.partitions[seg.key()]
	covered := int64(-1)
	if l, known := in.ledgers[seg.TopicID]; known {
		if next := l.Progress(seg.Partition.Partition).Next; seg.End <= next {
			covered = next
		}
	}
	if covered < 0 && s != nil && s.led && in.targets[seg.TopicID] != nil {
		if _, known := s.segments[seg.ID]; !known {
			seg.unlisted = true
			s.segments[seg.ID] = seg
			s.changed, s.handed = true, time.Now()
		}
	}
	in.mu.Unlock()
	if covered >= 0 {
		in.deps.Segments.Release(seg.TopicID, seg.Partition.Partition, covered)
	}
	in.nudge()
}

// Status is what an operator sees of one partition.
type Status struct {
	Partition Partition
	Next      int64
	Waiting   int   // segments not covered yet
	Bytes     int64 // of those segments
	Reason    string
}

// Status returns the state of the led partitions of a topic, by partition.
func (in *Ingest) Status(topicID catalog.TopicID) []Status {
	list, submitting := in.status(topicID)
	for i := range list {
		p := list[i].Partition.Partition
		if !submitting[p] {
			continue
		}
		if why := in.deps.Commits.Waiting(topicID, p); why != "" {
			list[i].Reason = why
		}
	}
	return list
}

func (in *Ingest) status(topicID catalog.TopicID) (out []Status, submitting map[int32]bool) {
	submitting = map[int32]bool{}
	in.mu.Lock()
	defer in.mu.Unlock()
	for k, s := range in.partitions {
		if k.topic == topicID && s.led {
			st := Status{Partition: s.partition, Next: s.progress.Next, Waiting: len(s.segments), Reason: s.why()}
			for _, seg := range s.segments {
				st.Bytes += seg.Size
			}
			submitting[k.partition] = s.submitting
			out = append(out, st)
		}
	}
	slices.SortFunc(out, func(a, b Status) int { return cmp.Compare(a.Partition.Partition, b.Partition.Partition) })
	return out, submitting
}

func (in *Ingest) nudge() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}
