package fetch

import (
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage/stored"
)

// Disk keeps chunks of log objects, and sidecars as chunk 0 of theirs, beyond memory. It may forget any of them, and never blocks for longer than reading one
// takes.
type Disk interface {
	// Get fills dst with a chunk as it is stored, or reports false: then dst has any bytes.
	Get(object string, chunk int, dst []byte) bool
	// Has tells whether a chunk of n bytes is likely to be there.
	Has(object string, chunk, n int) bool
	// Put offers a chunk, whose bytes are copied.
	Put(object string, chunk int, data []byte)
}

// Deps is what a fetcher is given.
type Deps struct {
	Log     *slog.Logger
	Metrics *telemetry.Set
	Disk    Disk        // nil: chunks are kept in memory only. It must stay usable until Close has returned.
	Keys    stored.Keys // nil: encrypted segments cannot be read
}

// Ref is a stored segment as a caller knows it.
type Ref struct {
	stored.Identity
	Next   *Ref   // the segment after it, if the caller knows: it may be read ahead
	Size   int64  // of the log file, to be compared with what is stored; negative = not known
	Custom []byte // custom metadata, to be compared with what is stored; empty = none
}

// Fetcher reads stored segments.
type Fetcher struct {
	store    objectstore.Reader
	disk     Disk
	keys     stored.Keys
	frames   *stored.Decompressor
	decoding *budget.Bytes // slots: each decodes a chunk
	scratch  scratch
	pace     budget.Pace
	tasks    *budget.Tasks
	sidecars *cache[string, sidecar]
	chunks   *chunks
	hedging  bool
	count    counters // lookups of chunks
	served   telemetry.Counter
	seconds  telemetry.Histogram
	damaged  telemetry.Counter
	gets     telemetry.Counter
	hedges   telemetry.Counter
	log      *slog.Logger

	aheadBytes, wastedBytes telemetry.Counter

	sidecarLatency latency
}

type chunkKey struct {
	log   string // key of the log object
	chunk int
}

// maxHistory is how many chunks are remembered as read.
const maxHistory = 1 << 13

// String is how the chunk is called in errors.
func (k chunkKey) String() string { return fmt.Sprintf("chunk %d of %s", k.chunk, k.log) }

// New makes a fetcher over store, which should make its own retries. The configuration must be valid.
func New(cfg Config, store objectstore.Reader, deps Deps) *Fetcher {
	tasks := budget.NewTasks("fetch", deps.Log)
	count := func(what string) counters {
		m := deps.Metrics.Counters("fetch_"+what+"_lookups_total", "Lookups of "+what+"s in the cache: hit, join (was on its way), miss (read from the store; a chunk from the disk cache if there is one).",
			"result", "hit", "join", "miss")
		return counters{hits: m["hit"], joins: m["join"], misses: m["miss"]}
	}
	frames, err := stored.NewDecompressor(runtime.NumCPU())
	if err != nil {
		panic(err) // the options are constant
	}
	f := &Fetcher{
		store: store, disk: deps.Disk, keys: deps.Keys, frames: frames, decoding: budget.NewSlots("decoding", runtime.NumCPU()),
		pace: cfg.pace(), tasks: tasks, log: deps.Log, hedging: cfg.Hedge, count: count("chunk"),
		sidecars: newCache[string, sidecar]("fetch.sidecar.cache.bytes", cfg.SidecarBytes, cfg.pace(), tasks, count("sidecar")),
		served:   deps.Metrics.Counter("fetch_served_bytes_total", "Segment bytes handed out."),
		seconds:  deps.Metrics.Histogram("fetch_load_seconds", "Time to read one chunk or sidecar from the store.", telemetry.Seconds),
		damaged:  deps.Metrics.Counter("fetch_corrupt_objects_total", "Reads that found a stored object short or damaged."),
		gets:     deps.Metrics.Counter("fetch_gets_total", "Ranged GETs of log objects; one may bring many chunks."),
		hedges:   deps.Metrics.Counter("fetch_hedged_gets_total", "GETs made a second time because the first stood still for longer than most take."),

		aheadBytes:  deps.Metrics.Counter("fetch_read_ahead_bytes_total", "Bytes fetched before a consumer asked for them."),
		wastedBytes: deps.Metrics.Counter("fetch_read_ahead_wasted_bytes_total", "Bytes fetched ahead and dropped before a consumer came for them."),
	}
	f.chunks = &chunks{
		f: f, mem: newBuffers("fetch.cache.bytes", cfg.CacheBytes), gets: budget.NewSlots("fetch.parallel.gets", cfg.ParallelGets), pace: cfg.pace(),
		most: cfg.GetBytes, ahead: cfg.ReadAhead, entries: map[chunkKey]*chunk{}, history: newHistory(maxHistory), streams: newStreams(),
	}
	deps.Metrics.GaugeFunc("fetch_chunk_memory_bytes", "Memory of chunks, cached and on their way.", func() float64 { return float64(f.chunks.mem.used()) })
	deps.Metrics.GaugeFunc("fetch_sidecar_memory_bytes", "Memory of sidecars, cached and on their way.", func() float64 { return float64(f.sidecars.used()) })
	deps.Metrics.GaugeFunc("fetch_loads", "Loads of chunks and sidecars under way or waiting for memory or a GET.", func() float64 { return float64(tasks.Running()) })
	return f
}

// Close ends all loads and waits for them for at most d; it reports whether all have ended.
func (f *Fetcher) Close(d time.Duration) bool {
	ended := f.tasks.Stop(d)
	if ended {
		f.chunks.close()
	}
	return ended
}

func (f *Fetcher) took(start time.Time) { f.seconds.Observe(time.Since(start).Seconds()) }

// noted counts and logs a damaged object: an operator must act on it.
func (f *Fetcher) noted(err error) error {
	if status.Is(err, status.Corrupt) {
		f.damaged.Inc()
		f.log.Error("fetch.corrupt", "error", err.Error(), "effect", "consumers of these offsets get an error; all others are served")
	}
	return err
}
