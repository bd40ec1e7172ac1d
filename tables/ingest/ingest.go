package ingest

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"tidemark/catalog"
	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
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
	// Open gives a segment's original bytes: the hold file if there is one and its length still agrees, else the tiered object.
	Open(ctx context.Context, s Segment) (Source, error)
	// Index returns a whole index, NotFound if the segment has none of this kind.
	Index(ctx context.Context, s Segment, kind Index) ([]byte, error)
	// Release gives up the holds of a partition that end at or below upTo.
	Release(topicID catalog.TopicID, partition int32, upTo int64)
}

// Commits takes converted ranges to the catalog.
type Commits interface {
	// Submit returns once the offer is in the table, has been refused (Conflict: convert again from the ledger's next offset), or ctx
	// ends. Whatever it returns, only the ledger that is published tells what the table covers.
	Submit(ctx context.Context, topicID catalog.TopicID, offer catalog.Offer) error
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

	mu         sync.Mutex
	partitions map[key]*state
	tables     map[catalog.TopicID]Table
}

// state is what is known of one partition.
type state struct {
	partition Partition
	led       bool
	draining  bool                 // led when the partition left this broker; its list of segments is final
	segments  map[[16]byte]Segment // by segment id: listed, or handed over and not listed yet
	handed    map[[16]byte]time.Time
	listed    time.Time // of the last list; zero: never
	asked     time.Time // when the list was last asked for
	progress  catalog.Progress
	known     bool // progress is from a ledger
	busy      bool
	since     time.Time // when there was first something to convert
	notBefore time.Time // after a failure
	failures  int
	reason    string // why nothing is converted although something waits; "" if nothing waits
}

// New makes an Ingest and starts its scheduler.
func New(cfg Config, deps Deps) *Ingest {
	in := &Ingest{
		cfg: cfg, deps: deps, tasks: budget.NewTasks("ingest", deps.Log),
		slots: budget.NewSlots("conversion slots", cfg.Workers), wake: make(chan struct{}, 1),
		metrics: newMetrics(deps.Metrics), partitions: map[key]*state{}, tables: map[catalog.TopicID]Table{},
	}
	in.tasks.Go("schedule", in.schedule)
	return in
}

// Close stops all work within d. Ranges in conversion are dropped: they are found again.
func (in *Ingest) Close(d time.Duration) bool { return in.tasks.Stop(d) }

// Lead sets which of the given partitions this broker leads (levels: repeats change nothing).
func (in *Ingest) Lead(leaders, others []Partition) {
	in.mu.Lock()
	for _, p := range leaders {
		s := in.state(p)
		s.draining = false
		if !s.led {
			s.led, s.listed, s.asked, s.failures, s.notBefore = true, time.Time{}, time.Time{}, 0, time.Time{}
		}
	}
	for _, p := range others {
		if s := in.partitions[p.key()]; s != nil {
			s.led = false
		}
	}
	in.mu.Unlock()
	in.nudge()
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
		delete(in.partitions, p.key())
	}
}

// Led are the topic incarnations of which this broker leads a partition.
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

// SetTable starts or changes ingestion into a table.
func (in *Ingest) SetTable(t Table) {
	in.mu.Lock()
	in.tables[t.TopicID] = t
	in.mu.Unlock()
	in.nudge()
}

// DropTable stops ingestion into a table; what it has converted stays.
func (in *Ingest) DropTable(topicID catalog.TopicID) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.tables, topicID)
}

// Published takes the ledger of a load or commit. Holds below it are released.
func (in *Ingest) Published(topicID catalog.TopicID, l catalog.Ledger) {
	in.mu.Lock()
	release := map[int32]int64{}
	for k, s := range in.partitions {
		if k.topic != topicID {
			continue
		}
		s.progress, s.known = l.Progress(k.partition), true
		release[k.partition] = s.progress.Next
		for id, seg := range s.segments {
			if seg.End <= s.progress.Next {
				delete(s.segments, id)
				delete(s.handed, id)
			}
		}
		if s.draining && len(s.segments) == 0 && !s.busy {
			delete(in.partitions, k)
		}
	}
	for p, progress := range l.Partitions {
		release[p] = progress.Next
	}
	in.mu.Unlock()
	for p, next := range release {
		in.deps.Segments.Release(topicID, p, next)
	}
	in.nudge()
}

// HandOver takes a segment that was just tiered by this broker. It never blocks.
func (in *Ingest) HandOver(seg Segment) {
	in.mu.Lock()
	s := in.state(seg.Partition)
	if !s.known || seg.End > s.progress.Next {
		s.segments[seg.ID] = seg
		s.handed[seg.ID] = time.Now()
	}
	in.mu.Unlock()
	in.nudge()
}

// handedGrace is how long a segment that was handed over may be missing from the list of remote segments: its metadata is
// published after the copy returns.
const handedGrace = 2 * time.Minute

// Listed takes the complete list of a partition's remote segments, or why it could not be read.
func (in *Ingest) Listed(p Partition, segments []Segment, err error) {
	in.mu.Lock()
	defer in.nudge()
	defer in.mu.Unlock()
	s := in.state(p)
	if s.draining {
		return
	}
	if err != nil {
		s.reason = "the list of remote segments could not be read: " + err.Error()
		return
	}
	now := time.Now()
	s.listed = now
	fresh := map[[16]byte]Segment{}
	for id, at := range s.handed {
		if now.Sub(at) < handedGrace {
			fresh[id] = s.segments[id]
		} else {
			delete(s.handed, id)
		}
	}
	for _, seg := range segments {
		if !s.known || seg.End > s.progress.Next {
			fresh[seg.ID] = seg
		}
		delete(s.handed, seg.ID)
	}
	s.segments = fresh
}

// Wanted are the partitions whose list of remote segments should be read now.
func (in *Ingest) Wanted() []Partition {
	in.mu.Lock()
	defer in.mu.Unlock()
	now := time.Now()
	var wanted []Partition
	for k, s := range in.partitions {
		if _, ok := in.tables[k.topic]; !ok || !s.led || s.draining {
			continue
		}
		if now.Sub(s.listed) >= in.cfg.ListEvery && now.Sub(s.asked) >= min(in.cfg.ListEvery, 5*time.Second) {
			s.asked = now
			wanted = append(wanted, s.partition)
		}
	}
	return wanted
}

// Status is what an operator sees of one partition.
type Status struct {
	Partition Partition
	Next      int64
	Waiting   int   // segments not covered yet
	Bytes     int64 // of those segments
	Reason    string
}

// Status returns the state of the led partitions of a topic.
func (in *Ingest) Status(topicID catalog.TopicID) []Status {
	in.mu.Lock()
	defer in.mu.Unlock()
	var out []Status
	for k, s := range in.partitions {
		if k.topic == topicID && s.led {
			st := Status{Partition: s.partition, Next: s.progress.Next, Waiting: len(s.segments), Reason: s.reason}
			for _, seg := range s.segments {
				st.Bytes += seg.Size
			}
			out = append(out, st)
		}
	}
	return out
}

// state returns a partition's state, making it if need be. in.mu is held.
func (in *Ingest) state(p Partition) *state {
	s := in.partitions[p.key()]
	if s == nil {
		s = &state{partition: p, segments: map[[16]byte]Segment{}, handed: map[[16]byte]time.Time{}}
		in.partitions[p.key()] = s
	}
	return s
}

func (in *Ingest) nudge() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// failed records a failed job: the partition waits, longer each time, up to a minute.
func (in *Ingest) failed(s *state, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	s.busy = false
	if status.Is(err, status.Cancelled) {
		return
	}
	s.failures++
	pause := min(time.Second<<min(s.failures-1, 6), time.Minute)
	s.notBefore = time.Now().Add(pause)
	s.reason = err.Error()
	in.metrics.errors[status.Of(err).String()].Inc()
	in.deps.Log.Warn("table.convert.failed", "partition", s.partition.String(), "class", status.Of(err).String(),
		"error", err.Error(), "retry_in", pause)
}
