package fetch

import (
	"context"
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

// Disk keeps chunks of log objects beyond memory. It may forget any of them, and never blocks for longer than reading one
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
}

// sidecar is a checked sidecar with its own checksum.
type sidecar struct {
	*stored.Sidecar
	crc uint32
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

// Sidecar returns the checked sidecar of a segment, with one GET if it is not cached. The result may be kept; its indexes
// must not be changed. Errors: NotFound, Corrupt, Unsupported, and those of the store.
func (f *Fetcher) Sidecar(ctx context.Context, ref Ref) (*stored.Sidecar, error) {
	_, key := ref.Keys()
	var meta *stored.Metadata
	if len(ref.Custom) > 0 {
		m, err := stored.DecodeMetadata(ref.Custom)
		if err != nil {
			return nil, status.Wrapf(err, "segment of sidecar %s", key)
		}
		meta = &m
	}
	size, err := f.sidecarSize(ctx, key, meta)
	if err != nil {
		return nil, err
	}
	s, unpin, err := f.sidecars.get(ctx, key, size, func(ctx context.Context) (sidecar, error) {
		return f.loadSidecar(ctx, key, size)
	})
	if err != nil {
		return nil, err
	}
	// The budget counts what the cache keeps. What is handed out is in use for the length of a call.
	defer unpin()
	if err := s.matches(ref, meta); err != nil {
		f.damaged.Inc()
		return nil, status.Wrapf(err, "sidecar %s", key)
	}
	return s.Sidecar, nil
}

// sidecarSize is the size that the sidecar must have: that of the custom metadata, else that of the object.
func (f *Fetcher) sidecarSize(ctx context.Context, key string, meta *stored.Metadata) (int64, error) {
	size, ok := f.sidecars.size(key)
	if meta != nil {
		size, ok = int64(meta.SidecarSize), true
	}
	if !ok {
		ctx, cancel := f.pace.WithDeadline(ctx, 0)
		defer cancel()
		info, err := f.store.Head(ctx, key)
		if err != nil {
			return 0, err
		}
		size = info.Size
	}
	if size > stored.MaxSidecarSize {
		return 0, status.Errorf(status.Corrupt, "sidecar %s: %d bytes, more than the largest of %d", key, size, stored.MaxSidecarSize)
	}
	return size, nil
}

func (f *Fetcher) loadSidecar(ctx context.Context, key string, size int64) (sidecar, error) {
	defer f.took(time.Now())
	data := make([]byte, size)
	var s *stored.Sidecar
	var err error
	for range 2 { // once more: they may have been damaged on their way
		if err := f.store.ReadRange(ctx, key, data, 0); err != nil {
			return sidecar{}, f.noted(err)
		}
		if s, err = stored.DecodeSidecar(data); err == nil {
			break
		}
	}
	if err != nil {
		return sidecar{}, f.noted(status.Wrapf(err, "sidecar %s, first %d bytes", key, size))
	}
	if s, err = s.Open(f.keys); err != nil {
		return sidecar{}, f.noted(status.Wrapf(err, "sidecar %s", key))
	}
	return sidecar{s, s.CRC()}, nil
}

// matches compares a sidecar with what the caller knows about the segment.
func (s sidecar) matches(ref Ref, meta *stored.Metadata) error {
	m := s.Manifest
	if m.Identity != ref.Identity {
		return status.Errorf(status.Corrupt, "it is that of partition %d, base offset %d, topic id %x, segment id %x; wanted %d, %d, %x, %x",
			m.Partition, m.BaseOffset, m.TopicID, m.SegmentID, ref.Partition, ref.BaseOffset, ref.TopicID, ref.SegmentID)
	}
	if ref.Size >= 0 && m.Map.Size != ref.Size {
		return status.Errorf(status.Corrupt, "it describes a segment of %d bytes, Kafka's metadata says %d", m.Map.Size, ref.Size)
	}
	if meta == nil {
		return nil
	}
	if meta.Size != m.Map.StoredSize {
		return status.Errorf(status.Corrupt, "it describes a log object of %d bytes, the custom metadata says %d", m.Map.StoredSize, meta.Size)
	}
	if s.Size() != int64(meta.SidecarSize) || s.crc != meta.SidecarCRC {
		return status.Errorf(status.Corrupt, "%d bytes with CRC32C %08x, the custom metadata says %d with %08x",
			s.Size(), s.crc, meta.SidecarSize, meta.SidecarCRC)
	}
	return nil
}

// readNext starts to read the first bytes of a segment that is likely to be wanted next.
func (f *Fetcher) readNext(ref Ref, bytes int64) {
	f.tasks.Go("read ahead", func(ctx context.Context) {
		ctx, cancel := f.pace.WithDeadline(ctx, 0)
		defer cancel()
		if s, err := f.Segment(ctx, ref); err == nil { // else whoever wants it will be told
			f.chunks.readAhead(s, bytes)
		}
	})
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
