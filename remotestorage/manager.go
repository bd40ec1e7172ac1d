package remotestorage

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/kafkalog"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage/fetch"
	"tidemark/remotestorage/fetch/diskcache"
	"tidemark/remotestorage/reclaim"
	"tidemark/remotestorage/stored"
)

// Epoch is the first offset of a leader epoch.
type Epoch = kafkalog.EpochStart

// IndexKind is which index of a segment is asked for.
type IndexKind = stored.IndexKind

// Stream is a range of a stored segment, read from front to back.
type Stream = fetch.Stream

// Segment is what Kafka says about one segment (RemoteLogSegmentMetadata). Uuids are in Kafka's byte order.
type Segment struct {
	TopicID       [16]byte
	Topic         string
	Partition     int32
	ID            [16]byte // fresh on every attempt to copy
	BaseOffset    int64
	EndOffset     int64 // inclusive
	MaxTimestamp  int64 // ms since 1970
	Size          int64 // bytes of the log file
	Epochs        []Epoch
	Custom        []byte // what Copy returned; empty if Kafka does not have it
	BrokerID      int32
	TxnIndexEmpty bool
}

func (s Segment) identity() stored.Identity {
	return stored.Identity{TopicID: s.TopicID, Partition: s.Partition, SegmentID: s.ID, BaseOffset: s.BaseOffset}
}

func (s Segment) ref() fetch.Ref {
	return fetch.Ref{Identity: s.identity(), Size: s.Size, Custom: s.Custom}
}

// epoch is that of the last batch; ok is false if Kafka named none.
func (s Segment) epoch() (epoch int32, ok bool) {
	for _, e := range s.Epochs {
		if e.Start <= s.EndOffset && (!ok || e.Epoch > epoch) {
			epoch, ok = e.Epoch, true
		}
	}
	return epoch, ok
}

// Paths are the files of a closed segment; all but TxnIndex are mandatory.
type Paths struct {
	Log, OffsetIndex, TimeIndex, ProducerSnapshot string
	TxnIndex                                      string // "" = absent
	LeaderEpochs                                  []byte // the checkpoint's text, not a path
}

// Sink takes segments that were copied. HandOver returns at once; it is called from a task after the hold file was made
// and may be called again for the same offsets.
type Sink interface{ HandOver(Segment) }

// Deps is what a manager is given.
type Deps struct {
	Log     *slog.Logger
	Metrics *telemetry.Set
	Sink    Sink          // nil: nobody wants segments
	Holds   reclaim.Holds // nil: nothing is held
	// Wanted says whether a topic's segments get hold files, and the generation of its table's ledger (0: not known). nil: none.
	Wanted  func(topicID [16]byte) (generation uint64, wanted bool)
	LogDirs func() []string // log directories to look for hold files in; nil: those of copied segments only
	Version string          // of Tidemark, for manifests
}

// Manager stores and serves segments.
type Manager struct {
	cfg     Config
	store   objectstore.Store
	deps    Deps
	log     *slog.Logger
	tasks   *budget.Tasks
	slots   *budget.Bytes // copies
	sends   *budget.Limit // bytes of copies to the store; nil: none
	reads   *budget.Limit // bytes of local segments that are checked; nil: none
	forms   *transforms
	passing *budget.Bytes // hand-overs under way
	fetch   *fetch.Fetcher
	disk    *diskcache.Cache // nil: none
	reclaim *reclaim.Collector
	holds   *holds
	metrics *metrics

	lateWrite time.Duration // constant but for tests
	grace     time.Duration // how much longer than its deadline a copy may take to clean up and to hand over

	ctx context.Context // ends at Close
	end context.CancelFunc

	mu      sync.Mutex
	closed  bool
	copying map[[16]byte]int // segments whose copies are under way
	calls   sync.WaitGroup
}

// New makes a manager over a store that makes its own retries. It opens the local journal and asks nothing of the store.
// Errors: Invalid with all faults of the configuration, and those of reclaim.Open.
func New(cfg Config, store objectstore.Store, deps Deps) (*Manager, error) {
	if err := cfg.Validate(); err != nil {
		return nil, status.Errorf(status.Invalid, "%w", err)
	}
	c, err := reclaim.Open(cfg.Reclaim, store, reclaim.Deps{Log: deps.Log, Metrics: deps.Metrics, Holds: deps.Holds})
	if err != nil {
		return nil, err
	}
	forms, err := newTransforms(cfg, deps.Log) // after local.dir was locked: it clears scratch files
	if err != nil {
		c.Close()
		return nil, err
	}
	reading := fetch.Deps{Log: deps.Log, Metrics: deps.Metrics, Keys: forms.keys()}
	var disk *diskcache.Cache
	if cfg.DiskCache.Dir != "" {
		if disk, err = diskcache.Open(cfg.DiskCache, diskcache.Deps{Log: deps.Log, Metrics: deps.Metrics}); err != nil {
			c.Close()
			return nil, err
		}
		reading.Disk = disk
	}
	m := &Manager{
		cfg: cfg, store: store, deps: deps, log: deps.Log,
		tasks: budget.NewTasks("remotestorage", deps.Log), forms: forms,
		slots: budget.NewSlots("copy.parallel", cfg.CopyParallel), passing: budget.NewSlots("hand-overs", maxHandOvers),
		fetch: fetch.New(cfg.Fetch, store, reading), disk: disk, reclaim: c,
		metrics: newMetrics(deps.Metrics), lateWrite: lateWrite, grace: cfg.CleanupDeadline + cfg.HandOverTimeout + 5*time.Second,
	}
	deps.Metrics.GaugeFunc("keyring_refused", "1 while the key ring file, as it is now, has a fault: the broker goes on with the keys it has, and does not start again with that file.", forms.ringRefused)
	m.holds = newHolds(cfg.HoldMaxBytes, filepath.Join(cfg.Reclaim.Dir, logDirsName), deps.LogDirs, deps.Log, deps.Metrics)
	if cfg.CopyMaxRate > 0 {
		m.sends = budget.NewLimit("copy.max.bytes.per.second", cfg.CopyMaxRate, m.metrics.limited.AddSeconds)
		m.reads = budget.NewLimit("copy.max.bytes.per.second", cfg.CopyMaxRate, m.metrics.limited.AddSeconds)
	}
	m.ctx, m.end = context.WithCancel(context.Background())
	return m, nil
}

// enter bounds a call by the life of the manager. leave must be called at its end.
func (m *Manager) enter(ctx context.Context, what string) (bounded context.Context, leave func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, nil, status.Errorf(status.Closed, "%s: the instance is closed", what)
	}
	m.calls.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(m.ctx, cancel)
	return ctx, func() { stop(); cancel(); m.calls.Done() }, nil
}

// noteCopy notes that a copy is under way until done is called.
func (m *Manager) noteCopy(segmentID [16]byte) (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.copying == nil {
		m.copying = map[[16]byte]int{}
	}
	m.copying[segmentID]++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.copying[segmentID]--; m.copying[segmentID] == 0 {
			delete(m.copying, segmentID)
		}
	}
}

// Copying reports whether a copy of the segment is under way.
func (m *Manager) Copying(segmentID [16]byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.copying[segmentID] > 0
}

// DeletePending reports whether the segment was deleted and its objects may still be there.
func (m *Manager) DeletePending(segmentID [16]byte) bool { return m.reclaim.IsPending(segmentID) }

// OpenSegment prepares to read the original bytes [start, end) of a segment; end -1 is its end. It returns the number of
// bytes that the stream will deliver. next is the segment after it, which may be read ahead; nil is not known. Errors: NotFound, Corrupt, Unsupported, Invalid (start outside the segment),
// Closed, and those of the store.
func (m *Manager) OpenSegment(ctx context.Context, seg Segment, next *Segment, start, end int64) (*Stream, int64, error) {
	ctx, leave, err := m.enter(ctx, "open segment")
	if err != nil {
		return nil, 0, err
	}
	defer leave()
	ref := seg.ref()
	if next != nil {
		after := next.ref()
		ref.Next = &after
	}
	return m.fetch.Open(ctx, ref, start, end)
}

// OpenStored is a whole stored segment by position, whose reads end with ctx. Errors as those of OpenSegment.
func (m *Manager) OpenStored(ctx context.Context, seg Segment) (io.ReaderAt, int64, error) {
	bounded, leave, err := m.enter(ctx, "open segment")
	if err != nil {
		return nil, 0, err
	}
	defer leave()
	s, err := m.fetch.Segment(bounded, seg.ref())
	if err != nil {
		return nil, 0, err
	}
	return s.ReaderAt(ctx), s.Size(), nil
}

// Index returns a copy of an index, which belongs to the caller. NotFound: the segment is not there, or it has no
// transaction index. Other errors: Corrupt, Unsupported, Invalid (no such kind), Closed, and those of the store.
func (m *Manager) Index(ctx context.Context, seg Segment, kind IndexKind) ([]byte, error) {
	if kind < stored.OffsetIndex || kind > stored.LeaderEpochs {
		return nil, status.Errorf(status.Invalid, "index kind %d is not known", kind)
	}
	ctx, leave, err := m.enter(ctx, "index")
	if err != nil {
		return nil, err
	}
	defer leave()
	s, err := m.fetch.Sidecar(ctx, seg.ref())
	if err != nil {
		return nil, err
	}
	p, ok := s.Index(kind)
	if !ok {
		_, key := seg.identity().Keys()
		return nil, status.Errorf(status.NotFound, "sidecar %s has no %s", key, kind)
	}
	return append(make([]byte, 0, len(p)), p...), nil
}

// Delete records that a segment is not wanted any more and returns; its objects go in the background, when nothing holds
// them. A segment that does not exist is success. Errors: Closed; Transient if the local journal cannot be written.
func (m *Manager) Delete(_ context.Context, seg Segment) error {
	if err := m.reclaim.Delete(seg.identity(), seg.EndOffset+1); err != nil {
		return err
	}
	if m.disk != nil {
		log, sidecar := seg.identity().Keys()
		m.disk.Drop(log, sidecar)
	}
	return nil
}

// Close ends the calls under way and waits for them until ctx ends, at most a minute. Objects of deleted segments that are
// still there are removed by the next instance with the same local.dir.
func (m *Manager) Close(ctx context.Context) {
	m.mu.Lock()
	closed := m.closed
	m.closed = true
	m.mu.Unlock()
	if closed {
		return
	}
	m.end()
	left := time.Minute
	if t, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(t))
	}
	end := time.Now().Add(left)
	if !m.wait(left) {
		m.log.Warn("close.slow", "waited", left)
	}
	m.tasks.Stop(time.Until(end))
	m.fetch.Close(time.Until(end))
	if m.disk != nil {
		m.disk.Close(time.Until(end))
	}
	m.reclaim.Close()
}

// wait waits for the calls under way for at most d.
func (m *Manager) wait(d time.Duration) bool {
	done := make(chan struct{})
	m.tasks.Go("wait", func(context.Context) { m.calls.Wait(); close(done) })
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
