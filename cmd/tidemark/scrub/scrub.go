package scrub

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

// Kind is what is wrong. The values are what operators see.
type Kind string

// The kinds of findings.
const (
	DamagedSidecar   Kind = "damaged-sidecar"   // its checksums or its structure, or it belongs to another segment
	NewerFormat      Kind = "newer-format"      // written by a later release: not checked
	MissingLog       Kind = "missing-log"       // a sidecar whose log object is not there
	WrongSize        Kind = "wrong-size"        // a log object of another size than its manifest says
	DamagedLog       Kind = "damaged-log"       // stored bytes that differ from their checksum
	OrphanLog        Kind = "orphan-log"        // a log object without a sidecar, older than the grace
	ForeignObject    Kind = "foreign-object"    // a key that no segment has
	UnfinishedUpload Kind = "unfinished-upload" // older than the grace
	Unreadable       Kind = "unreadable"        // the store failed whenever it was asked: not checked
)

// Finding is one thing that is wrong. Start and End are stored bytes of the object, both 0 if it is about the whole object.
type Finding struct {
	Kind  Kind   `json:"kind"`
	Key   string `json:"key"`
	Start int64  `json:"start"`
	End   int64  `json:"end"`
	Text  string `json:"text"`
}

// Config says what is checked and how hard.
type Config struct {
	Prefix  string        // of keys; "" is everything
	After   string        // only keys greater than this one: Totals.Through of a check that was interrupted
	Quick   bool          // log objects are not read; their sizes are compared
	Grace   time.Duration // a log object without a sidecar, or an upload, that is younger may be a copy under way
	Now     time.Time     // ages are counted to it
	Workers int           // segments checked at once, at least 1
	Rate    *budget.Rate  // of bytes read; nil: no limit
	Log     *slog.Logger

	Found    func(Finding)
	Progress func(Totals) // called every Every; nil: never
	Every    time.Duration
}

// Totals is how far a check has come.
type Totals struct {
	Segments int64 `json:"segments"` // sidecars looked at
	Objects  int64 `json:"objects"`
	Stored   int64 `json:"storedBytes"` // of the objects looked at
	Read     int64 `json:"readBytes"`   // how many of them were read
	Young    int64 `json:"underWay"`    // log objects and uploads within the grace
	Gone     int64 `json:"deletedMeanwhile"`
	Repeated int64 `json:"readsRepeated"` // ranges whose checksum was right when they were read again
	Findings int64 `json:"findings"`
	// Keys counts the encrypted segments by the id of the key that each needs.
	Keys    map[string]int64 `json:"keys,omitempty"`
	Through string           `json:"through"` // every key up to this one has been looked at
}

const (
	// window is the most that one read of several chunks asks for; a single chunk may be larger.
	window = 8 << 20
	// giveUp is how many segments in a row the store may fail to serve before the check ends: then it is not about them.
	giveUp = 5
	// stopping is how long Run waits for its goroutines, whose calls end with its context.
	stopping = time.Minute
)

// run is one check.
type run struct {
	Config
	store    objectstore.Store
	sidecars *budget.Bytes
	read     atomic.Int64 // bytes, live for progress
	repeated atomic.Int64
}

// item is what lies under one stem of a key: a sidecar, a log object, or a foreign object alone.
type item struct {
	sidecar, log objectstore.Info // no key: not listed
	foreign      objectstore.Info
	done         chan struct{}

	// The outcome, valid once done is closed.
	findings []Finding
	keyID    string // of an encrypted segment
	gone     bool
	young    bool
	err      error
}

// last is the greatest key of an item.
func (i *item) last() string { return max(i.sidecar.Key, i.log.Key, i.foreign.Key) }

func (i *item) add(kind Kind, key string, start, end int64, format string, args ...any) {
	i.findings = append(i.findings, Finding{kind, key, start, end, fmt.Sprintf(format, args...)})
}

// Run checks everything below a prefix. After an error the totals say how far it came; the class is that of the store, or Cancelled.
func Run(ctx context.Context, store objectstore.Store, c Config) (Totals, error) {
	r := &run{Config: c, store: store, sidecars: budget.NewBytes("sidecars in memory", stored.MaxSidecarSize)}
	ctx, cancel := context.WithCancel(ctx)
	tasks := budget.NewTasks("scrub", c.Log)
	defer tasks.Stop(stopping)
	defer cancel()
	work, queue := make(chan *item), make(chan *item, 2*c.Workers)
	var listing error // valid once queue is closed
	tasks.Go("list", func(context.Context) {
		defer close(queue)
		defer close(work)
		listing = r.walk(ctx, func(i *item) error {
			for _, to := range []chan *item{queue, work} {
				select {
				case to <- i:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	for range c.Workers {
		tasks.Go("check", func(context.Context) {
			var buf []byte
			for i := range work {
				if err := tasks.Guard("segment", func() error { r.check(ctx, i, &buf); return nil }); err != nil {
					i.err = err
				}
				close(i.done)
			}
		})
	}
	t, err := r.collect(ctx, queue)
	if err == nil {
		err = listing
	}
	if err == nil {
		err = r.uploads(ctx, &t)
	}
	t.Read, t.Repeated = r.read.Load(), r.repeated.Load()
	return t, err
}

// collect takes the outcomes in the order of keys. Outcomes of a row of failures wait until one succeeds: if none does, the store
// is what failed, and the check can go on before them.
func (r *run) collect(ctx context.Context, queue <-chan *item) (t Totals, err error) {
	var tick <-chan time.Time
	if r.Progress != nil {
		ticker := time.NewTicker(r.Every)
		defer ticker.Stop()
		tick = ticker.C
	}
	var failed []*item
	for {
		i, err := r.next(ctx, queue, tick, &t)
		if err != nil {
			return t, err
		}
		if i != nil && i.err != nil {
			failed = append(failed, i)
			if !status.Of(i.err).Retryable() || len(failed) == giveUp {
				return t, status.Wrapf(i.err, "the check stopped at %s", i.last())
			}
			continue
		}
		for _, f := range failed {
			r.count(&t, f)
		}
		if failed = failed[:0]; i == nil {
			return t, nil
		}
		r.count(&t, i)
	}
}

// next waits for the next outcome, nil at the end, and reports progress meanwhile.
func (r *run) next(ctx context.Context, queue <-chan *item, tick <-chan time.Time, t *Totals) (i *item, err error) {
	var done chan struct{}
	for {
		select {
		case got, ok := <-queue:
			if !ok {
				return nil, nil
			}
			i, queue, done = got, nil, got.done
		case <-done:
			return i, nil
		case <-tick:
			now := *t
			now.Read, now.Repeated = r.read.Load(), r.repeated.Load()
			r.Progress(now)
		case <-ctx.Done():
			return nil, status.Wrapf(ctx.Err(), "check of stored segments")
		}
	}
}

// count adds an outcome to the totals and hands its findings on.
func (r *run) count(t *Totals, i *item) {
	for _, o := range []objectstore.Info{i.sidecar, i.log, i.foreign} {
		if o.Key != "" {
			t.Objects++
			t.Stored += o.Size
		}
	}
	if i.sidecar.Key != "" {
		t.Segments++
	}
	if i.keyID != "" {
		if t.Keys == nil {
			t.Keys = map[string]int64{}
		}
		t.Keys[i.keyID]++
	}
	if i.gone {
		t.Gone++
	}
	if i.young {
		t.Young++
	}
	if i.err != nil {
		i.add(Unreadable, i.last(), 0, 0, "%s: %v", status.Of(i.err), i.err)
	}
	for _, f := range i.findings {
		t.Findings++
		r.Found(f)
	}
	t.Through = i.last()
}
