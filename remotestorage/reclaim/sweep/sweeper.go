package sweep

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// Store is what a sweep needs of a store: it lists, removes, and keeps the mark of the cluster.
type Store interface {
	List(ctx context.Context, prefix, after string, max int) ([]objectstore.Info, bool, error)
	Delete(ctx context.Context, keys ...string) error
	Put(ctx context.Context, key string, src objectstore.Source, cond objectstore.Condition) (objectstore.Info, error)
	Head(ctx context.Context, key string) (objectstore.Info, error)
}

// Answer is what the metadata of a partition says.
type Answer struct {
	States []State // of the segments that were asked for, in their order
	End    int64   // offset after the last finished segment; 0: there is none
}

// Truth is what Kafka knows. An error of any call means: not known, and everything is kept.
type Truth interface {
	// Knows reports whether the metadata of a partition can be asked here: a broker's, that it leads it. It does no I/O.
	Knows(topicID [16]byte, partition int32) bool
	// States asks the metadata of a partition for at most MaxAsked segments. It fails if the metadata was not read to its end.
	States(ctx context.Context, topicID [16]byte, partition int32, ids [][16]byte) (Answer, error)
	// GiveUp moves those of the segments that are in COPY_SEGMENT_STARTED to DELETE_SEGMENT_STARTED, and returns how many. Unsupported:
	// this Truth only reads.
	GiveUp(ctx context.Context, topicID [16]byte, partition int32, ids [][16]byte) (int, error)
	// Responsible reports whether topics that the cluster may not have any more are to be judged here: one broker of a cluster does.
	Responsible(ctx context.Context) (bool, error)
	// TopicExists is false only if the cluster says that it has no topic of that id.
	TopicExists(ctx context.Context, topicID [16]byte) (bool, error)
}

// MaxAsked is how many segments one question names at most.
const MaxAsked = 500

// Deps is what a sweeper is given. Functions that are nil say no, and for End that it cannot be read.
type Deps struct {
	Log     *slog.Logger
	Metrics *Metrics
	Store   Store
	Uploads objectstore.Uploads // nil: the store has no unfinished objects
	Truth   Truth
	Cluster func() string // id; "" = not known yet, and no sweep runs

	Copying func(segmentID [16]byte) bool
	Pending func(segmentID [16]byte) bool
	Held    func(topicID [16]byte, partition int32, base, end int64) bool
	End     func(ctx context.Context, id stored.Identity) (int64, error) // offset after the last, from the sidecar

	Found func(Finding)    // each segment and upload that is not kept, and each that is kept although nothing needs it; nil: nobody listens
	Now   func() time.Time // instead of the store's clock; nil: the mark of the cluster is written, and tells the store's time
}

// Sweeper looks for orphans.
type Sweeper struct {
	cfg   Config
	deps  Deps
	tasks *budget.Tasks

	mu      sync.Mutex             // one sweep at a time
	missing map[[16]byte]time.Time // topics that the cluster does not have: since when, by the store's clock
}

// New makes a sweeper. It asks nothing of anybody.
func New(cfg Config, deps Deps) *Sweeper {
	return &Sweeper{cfg: cfg, deps: deps, tasks: budget.NewTasks("sweep", deps.Log), missing: map[[16]byte]time.Time{}}
}

// firstWithin bounds how long after the start the first sweep is: an operator who just set it waits for it.
const firstWithin = time.Hour

// markEvery is how often a broker that does not sweep tries to leave its cluster's mark until it did.
const markEvery = time.Minute

// Start runs sweeps until Close. Without an interval it only leaves the mark of the cluster.
func (s *Sweeper) Start() {
	s.tasks.Go("sweep", func(ctx context.Context) {
		if s.cfg.Interval == 0 {
			for s.mark(ctx) != nil && budget.Sleep(ctx, markEvery) {
			}
			return
		}
		first := min(s.cfg.Interval, firstWithin)
		wait := first/2 + rand.N(first/2+1) // brokers that start together do not list together
		off := false                        // said once
		for budget.Sleep(ctx, wait) {
			wait = s.cfg.Interval
			if s.deps.Cluster() == "" {
				if !off {
					off = true
					s.deps.Log.Warn("sweep.off", "reason", "the broker has not told its cluster: remote.log.metadata.manager.class.name is not TidemarkRemoteLogMetadataManager, or it is still loading",
						"effect", "nobody on this broker looks for objects that Kafka does not know")
				}
				wait = min(wait, markEvery)
				continue
			}
			off = false
			_, err := s.Run(ctx)
			if err != nil && ctx.Err() == nil {
				s.deps.Log.Warn("sweep.failed", "error", err.Error(), "class", status.Of(err).String(), "again_in", wait)
			}
		}
	})
}

// Close ends a sweep under way and reports whether it ended within d.
func (s *Sweeper) Close(d time.Duration) bool { return s.tasks.Stop(d) }

// Missing are the topics that were not in the cluster at the last sweep and since when, by the store's clock.
func (s *Sweeper) Missing() map[[16]byte]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[[16]byte]time.Time, len(s.missing))
	for id, since := range s.missing {
		out[id] = since
	}
	return out
}

// Remember takes what Missing of an earlier sweeper said.
func (s *Sweeper) Remember(missing map[[16]byte]time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, since := range missing {
		s.missing[id] = since
	}
}

// Run makes one sweep. A partition that cannot be judged is kept and counted; the error is that of the store, or that the cluster is
// not known. The report is right as far as it goes in every case.
func (s *Sweeper) Run(ctx context.Context) (Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := newRun(s)
	err := s.tasks.Guard("run", func() error { return r.sweep(ctx) })
	r.report.Took = time.Since(r.begun)
	s.deps.Metrics.take(r.report, err)
	level, event := slog.LevelInfo, "sweep.done"
	if err != nil {
		event = "sweep.ended"
	}
	s.deps.Log.Log(ctx, level, event, r.report.attrs(s.cfg.DryRun)...)
	return r.report, err
}
