package keyring

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/internal/status"
)

const (
	lookEvery = 10 * time.Second // how long a replaced file may go unseen
	missEvery = time.Second      // the least time between two reads because of an id that is not there
)

// Ring holds the key-encryption keys of one file and follows the file. Printing one shows its file and no key.
type Ring struct {
	path    string
	log     *slog.Logger
	clock   func() time.Duration // monotonic
	current atomic.Pointer[keys]
	next    atomic.Int64 // time of the clock from which on the file is looked at again

	mu       sync.Mutex // one reader of the file; guards what follows
	seen     os.FileInfo
	settled  bool          // seen was the same in two reads: a timestamp may be too coarse to tell a change right after the first
	refused  string        // why the file as it is now is not taken; empty when it is
	nextMiss time.Duration // time of the clock from which on an id that is not there reads the file again
}

// Open reads the key ring at path. Errors are Invalid: they name the file, the line, and what to do.
func Open(path string, logger *slog.Logger) (*Ring, error) {
	began := time.Now()
	return open(path, logger, func() time.Duration { return time.Since(began) })
}

func open(path string, logger *slog.Logger, clock func() time.Duration) (*Ring, error) {
	r := &Ring{path: path, log: logger, clock: clock}
	first, info, err := read(path)
	if err != nil {
		return nil, status.Wrapf(err, "key ring %s", path)
	}
	r.seen = info
	r.current.Store(first)
	r.next.Store(int64(clock() + lookEvery))
	r.log.Info("keyring.open", "file", path, "active", first.active, "keys", len(first.byID))
	return r, nil
}

// Active is the id of the key that new data keys are wrapped under.
func (r *Ring) Active() string {
	r.look()
	return r.current.Load().active
}

// Reload reads the file now. A file with a fault is refused: the error says why, the event keyring.refused is logged, and
// the ring stays as it is.
func (r *Ring) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = ""
	return r.load()
}

// Refused is why the file as it is now is not taken, "" if it is. A broker that restarts with such a file does not start.
func (r *Ring) Refused() string {
	r.look()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

// look takes a replaced file, at most once in lookEvery. It waits for nobody.
func (r *Ring) look() {
	now := r.clock()
	if int64(now) < r.next.Load() || !r.mu.TryLock() {
		return
	}
	defer r.mu.Unlock()
	r.next.Store(int64(now + lookEvery))
	info, err := os.Stat(r.path)
	if err == nil && r.settled && r.refused == "" && same(info, r.seen) {
		return
	}
	_ = r.load() // logged; the ring stays as it is
}

// find returns the key with an id. An id that is not there makes it read the file again, at most once in missEvery.
func (r *Ring) find(id string) (*key, error) {
	r.look()
	if k := r.current.Load().byID[id]; k != nil {
		return k, nil
	}
	r.mu.Lock()
	if now := r.clock(); now >= r.nextMiss {
		r.nextMiss = now + missEvery
		_ = r.load() // logged, and told below
	}
	refused := r.refused
	r.mu.Unlock()
	if k := r.current.Load().byID[id]; k != nil {
		return k, nil
	}
	if refused != "" {
		return nil, status.Errorf(status.Invalid, "key %q is not in the ring, and the present file %s is refused: %s; put that right and add the key if it is missing", id, r.path, refused)
	}
	return nil, status.Errorf(status.Invalid, "key %q is not in %s: add its line again, from where retired keys are kept; it is taken without a restart. "+
		"What was stored under a key that is lost cannot be read", id, r.path)
}

// load reads the file and takes it, or logs why not, once for each reason. The caller holds mu.
func (r *Ring) load() error {
	old := r.current.Load()
	fresh, info, err := read(r.path)
	if err == nil {
		err = compatible(old, fresh)
	}
	if err != nil {
		if r.refused != err.Error() {
			r.refused = err.Error()
			r.log.Error("keyring.refused", "file", r.path, "error", r.refused, "active", old.active, "keys", len(old.byID))
		}
		return status.Wrapf(err, "key ring %s", r.path)
	}
	r.refused = ""
	r.settled = same(info, r.seen)
	r.seen = info
	if added, removed := missing(fresh, old), missing(old, fresh); added+removed > 0 || fresh.active != old.active {
		r.current.Store(fresh)
		r.log.Info("keyring.reloaded", "file", r.path, "active", fresh.active, "keys", len(fresh.byID), "added", added, "removed", removed)
	}
	return nil
}

// compatible refuses other bytes under a known id: what was wrapped under one of the two would be lost.
func compatible(old, fresh *keys) error {
	var first *key
	for id, k := range fresh.byID {
		if o := old.byID[id]; o != nil && o.sum != k.sum && (first == nil || k.line < first.line) {
			first = k
		}
	}
	if first == nil {
		return nil
	}
	return fault(first.line, "another key under the id %q than this process has: a new key needs a new id. If the earlier one was wrong, restart the broker", first.id)
}

// missing counts the keys of a that b does not have.
func missing(a, b *keys) (n int) {
	for id := range a.byID {
		if b.byID[id] == nil {
			n++
		}
	}
	return n
}

// Format prints the file and no key, for every verb.
func (r *Ring) Format(f fmt.State, _ rune) { io.WriteString(f, r.String()) }

// String names the file and no key.
func (r *Ring) String() string { return "key ring " + r.path }

// LogValue names the file and no key.
func (r *Ring) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalText names the file and no key; JSON uses it too.
func (r *Ring) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
