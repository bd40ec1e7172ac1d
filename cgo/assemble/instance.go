package assemble

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"tidemark/catalog"
	"tidemark/catalog/builtin"
	"tidemark/catalog/coordinator"
	"tidemark/cgo/dispatch"
	"tidemark/internal/budget"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/listener"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage"
	"tidemark/remotestorage/reclaim/sweep"
	"tidemark/tables"
	"tidemark/tables/ingest"
)

// closeTime is how long closing may take when the caller sets no deadline.
const closeTime = 10 * time.Second

// Instance is one configured plugin: everything behind one broker's RemoteStorageManager.
type Instance struct {
	log         *slog.Logger
	metrics     *telemetry.Set
	raw         objectstore.Store
	store       *watched
	storage     *remotestorage.Manager
	ingest      *ingest.Ingest
	tables      atomic.Pointer[tables.Tables] // the parts before it run and ask for it while it is made
	coordinator *coordinator.Coordinator
	truth       *truth
	sweeper     *sweep.Sweeper
	listener    *listener.Listener
	logDir      atomic.Value // string: the broker's first log directory
}

// Open builds an instance. It connects to nothing: a store that cannot be reached is found by use. Errors: Invalid and Unsupported with
// words for the operator.
func Open(ctx context.Context, req dispatch.OpenRequest, log *slog.Logger) (dispatch.Instance, error) {
	c, err := Parse(req.Properties)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.Storage.Reclaim.Dir, 0o755); err != nil {
		return nil, status.Errorf(status.Invalid, "%slocal.dir: %w", Prefix, err)
	}
	set := telemetry.NewSet()
	raw, err := openStore(ctx, c, false, log)
	if err != nil {
		return nil, err
	}
	budget.Report(set)
	repeats := sharedRetry(c.Store, set)
	if s, ok := raw.(*s3.Store); ok {
		s.ShareRetries(repeats)
		s.LeastRate(c.Storage.Fetch.MinRate)
	}
	seen := watch(objectstore.Limited(objectstore.Adaptive(objectstore.Instrument(raw, set), c.Store.MaxCalls, set), ioLimit(c, set)), c.where(), log)
	store := objectstore.Retrying(seen, repeats)
	cat, err := openCatalog(c, store, log)
	if err != nil {
		return nil, errors.Join(err, closeStore(raw))
	}
	i := &Instance{log: log, metrics: set, raw: raw, store: seen, truth: newTruth(req.NodeID, log)}
	i.logDir.Store("")
	i.storage, err = remotestorage.New(c.Storage, store, remotestorage.Deps{
		Log: log, Metrics: set, Sink: sink{i}, Holds: holds{i}, Wanted: i.wantsHold, LogDirs: i.logDirs, Version: req.Version,
	})
	if err != nil {
		return nil, errors.Join(err, closeStore(raw))
	}
	if err := clearScratch(&c); err != nil { // after the storage, which locked local.dir
		return nil, errors.Join(err, i.Close(ctx))
	}
	i.coordinator = coordinator.New(coordinator.Config{}, cat, coordinator.Deps{Lineage: i.lineage, Published: i.published, Log: log, Metrics: set})
	i.ingest = ingest.New(c.Ingest, ingest.Deps{Segments: segments{i.storage}, Commits: i.coordinator, Store: store, Log: log, Metrics: set})
	proved := watchConditions(raw, c.where(), seen.tasks, log)
	i.tables.Store(tables.Open(c.Tables, tables.Deps{
		Catalog: groups{cat, store, proved}, Commits: i.coordinator, Ingest: i.ingest, Log: log, Metrics: set,
		Connect: func(bootstrap string) (*kafkaclient.Client, error) {
			client, err := kafkaclient.Open(kafkaclient.Config{Bootstrap: bootstrap, ClientID: "tidemark", Log: log})
			if err == nil {
				seen.tasks.Go("settings", func(ctx context.Context) { lookAtSettings(ctx, client.Brokers, req.NodeID, log) })
			}
			return client, err
		},
	}))
	if err := i.listen(c, cat); err != nil {
		return nil, errors.Join(err, i.Close(ctx))
	}
	warnOfShortGrace(&c, log)
	i.sweeper = i.newSweeper(c.Sweep, store, set)
	i.sweeper.Start()
	seen.look()
	checkKafka(req.KafkaVersion, set, log)
	log.Info("plugin.open", "version", req.Version, "node", req.NodeID, "kafka", req.KafkaVersion, "java", req.JavaVersion, "config", effective(&c))
	return i, nil
}

// clearScratch removes what conversions of an earlier life left. local.dir must be locked: another instance may be at work there.
func clearScratch(c *Config) error {
	dir := c.Storage.Reclaim.Dir
	scratch := filepath.Join(dir, "scratch")
	if err := os.RemoveAll(scratch); err != nil {
		return status.Errorf(status.Invalid, "%slocal.dir: cannot clear %s: %w", Prefix, scratch, err)
	}
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return status.Errorf(status.Invalid, "%slocal.dir: cannot make %s: %w", Prefix, scratch, err)
	}
	c.Ingest.ScratchDir, c.Tables.StateDir = scratch, dir
	return nil
}

// listen starts the HTTP listener, if one is configured.
func (i *Instance) listen(c Config, cat *builtin.Catalog) error {
	cfg := listener.Config{Address: c.HTTP.Listener, AllowRemote: c.HTTP.AllowRemote}
	if cfg.Address == "" {
		return nil
	}
	l, err := listener.New(cfg, i.log)
	if err != nil {
		return err
	}
	l.Mount("/metrics", listener.Metrics(i.metrics))
	l.Mount("/iceberg", cat.Handler())
	l.Mount(tablesPath, tablesHandler(func() []TableStatus { return tableStatus(i.tables.Load().Status(), i.coordinator.State) }))
	l.Start()
	i.listener = l
	return nil
}

// Close ends everything within ctx. The parts above the storage get three fifths of the time together, so that the storage always has
// some to end its calls and to write its journal; each of them gets half of what the ones before it left.
func (i *Instance) Close(ctx context.Context) error {
	left := closeTime
	if t, ok := ctx.Deadline(); ok {
		left = time.Until(t)
	}
	end := time.Now().Add(left * 3 / 5)
	share := func() time.Duration { return max(time.Until(end)/2, 0) }
	if i.listener != nil {
		i.listener.Stop(share())
	}
	ended := true
	if i.sweeper != nil {
		ended = i.sweeper.Close(share())
	}
	i.truth.close()
	if t := i.tables.Load(); t != nil {
		ended = t.Close(share()) && ended
	}
	if i.ingest != nil {
		ended = i.ingest.Close(share()) && ended
	}
	if i.coordinator != nil {
		ended = i.coordinator.Close(share()) && ended
	}
	ended = i.store.close(share()) && ended
	rest, cancel := context.WithDeadline(ctx, time.Now().Add(max(time.Until(end), 0)+left*3/10))
	defer cancel()
	i.storage.Close(rest)
	last, cancelLast := context.WithTimeout(ctx, max(time.Until(end), 0)+left/10)
	defer cancelLast()
	if s, ok := i.raw.(interface{ CloseWithin(context.Context) }); ok {
		s.CloseWithin(last)
	}
	if !ended {
		return status.Errorf(status.Transient, "some work of the plugin has not ended in time; it is found again at the next start")
	}
	return closeStore(i.raw)
}

// Samples are all series.
func (i *Instance) Samples() ([]telemetry.Sample, error) { return i.metrics.Snapshot() }

// Metrics are descriptions of all series of an instance.
func (i *Instance) Metrics() []telemetry.Description { return i.metrics.Descriptions() }

// Copy stores a segment.
func (i *Instance) Copy(ctx context.Context, req dispatch.CopyRequest) ([]byte, error) {
	p := req.Paths
	return i.storage.Copy(ctx, segment(req.Segment), remotestorage.Paths{Log: p.Log, OffsetIndex: p.OffsetIndex, TimeIndex: p.TimeIndex,
		ProducerSnapshot: p.ProducerSnapshot, TxnIndex: p.TxnIndex, LeaderEpochs: p.LeaderEpochs})
}

// Delete makes a segment unwanted.
func (i *Instance) Delete(ctx context.Context, seg dispatch.Segment) error {
	return i.storage.Delete(ctx, segment(seg))
}

// Leadership takes levels from the metadata manager.
func (i *Instance) Leadership(req dispatch.LeadershipRequest) {
	i.truth.leadership(req)
	i.tables.Load().Leadership(partitions(req.Leaders), partitions(req.Followers), partitions(req.Stopped))
}

// Facts takes what only the metadata manager is told.
func (i *Instance) Facts(req dispatch.FactsRequest) {
	i.logDir.Store(req.LogDir)
	i.truth.facts(req)
	i.tables.Load().Facts(tables.Facts{ClusterID: req.ClusterID, Bootstrap: req.Bootstrap, SecurityProtocol: req.SecurityProtocol})
}

// Wanted are the partitions whose segment lists should be read.
func (i *Instance) Wanted() []dispatch.TopicPartition {
	var out []dispatch.TopicPartition
	for _, w := range i.ingest.Wanted() {
		p := w.Partition
		out = append(out, dispatch.TopicPartition{TopicID: p.TopicID, Topic: p.Topic, Partition: p.Partition, From: w.From})
	}
	return out
}

// StatesWanted are the questions of the sweep.
func (i *Instance) StatesWanted() []dispatch.StatesWanted { return i.truth.questions() }

// States takes an answer to one of them.
func (i *Instance) States(req dispatch.StatesRequest) { i.truth.answered(req) }

// Segments takes a partition's list, or a part of it.
func (i *Instance) Segments(req dispatch.SegmentsRequest) {
	var err error
	if req.Error != "" {
		err = status.Errorf(status.Transient, "%s", req.Error)
	}
	list := make([]ingest.Segment, len(req.Segments))
	for n, s := range req.Segments {
		list[n] = ingestSegment(segment(s))
	}
	i.ingest.Listed(partition(req.Partition), ingest.List{From: req.Partition.From, Segments: list, More: req.More}, err)
}

func (i *Instance) wantsHold(topicID [16]byte) (uint64, bool) {
	return i.tables.Load().WantsHold(topicID)
}

// logDirs are the log directories known before the first copy.
func (i *Instance) logDirs() []string {
	if dir := i.logDir.Load().(string); dir != "" {
		return []string{dir}
	}
	return nil
}

// lineage asks the partition's leader.
func (i *Instance) lineage(ctx context.Context, topicID catalog.TopicID, partition int32, offset int64, batchEpoch int32) catalog.Lineage {
	t := i.tables.Load()
	if t == nil {
		return catalog.NotKnown
	}
	return t.Lineage(ctx, topicID, partition, offset, batchEpoch)
}

func (i *Instance) published(topicID catalog.TopicID, l catalog.Ledger) {
	if t := i.tables.Load(); t != nil {
		t.Published(topicID, l)
	}
}
