package reclaim

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// journalTime is how long a caller waits for the journal's disk. A delete holds the broker's metadata thread.
const journalTime = 5 * time.Second

// mostQueued is how many entries may wait for a disk that hangs.
const mostQueued = 4096

// writer owns the journal from its start on: its task alone writes, replaces and closes the file. When the disk hangs, the task hangs in
// the system call, and callers get an error within journalTime; after the first, at once until the disk answers again.
type writer struct {
	tasks   *budget.Tasks
	journal *journal                      // of the task
	noted   func(k kind, ts ...Tombstone) // called by the task, in the order of the records, before their writer is answered
	live    func() []Tombstone            // what a rewrite keeps; called by the task
	wake    chan struct{}                 // capacity 1

	mu      sync.Mutex // held in no system call
	closed  bool
	hung    bool // somebody has waited in vain, and nothing has ended since
	queue   []*entry
	waiting map[[16]byte]*entry // entries of the queue, and the one being written, that want a segment gone
	file    file                // that of journal
	records int64               // those of journal
}

// entry is something for the journal.
type entry struct {
	kind       kind // 0: rewrite the journal
	tombstones []Tombstone
	done       chan struct{}
	err        error // valid when done is closed
}

func newWriter(j *journal, tasks *budget.Tasks, noted func(kind, ...Tombstone), live func() []Tombstone) *writer {
	w := &writer{tasks: tasks, journal: j, noted: noted, live: live, wake: make(chan struct{}, 1), waiting: map[[16]byte]*entry{}, file: j.f, records: j.records}
	tasks.Go("journal", w.run)
	return w
}

// append writes records of one kind. An error is Closed, or Transient: of a write that failed nothing counts; one that is late may
// still be made, and is then noted.
func (w *writer) append(k kind, ts ...Tombstone) error {
	return w.wait(&entry{kind: k, tombstones: ts, done: make(chan struct{})})
}

// rewrite drops the records that are not needed.
func (w *writer) rewrite() error { return w.wait(&entry{done: make(chan struct{})}) }

func (w *writer) wait(e *entry) error {
	e, limit, err := w.enqueue(e)
	if err != nil {
		return err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-e.done:
		return e.err
	case <-timer.C:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-e.done:
		return e.err
	default:
		w.hung = true
		return w.late()
	}
}

func (w *writer) late() error {
	return status.Errorf(status.Transient, "tombstone journal %s: its disk has not answered for %v or more: look at the disk of local.dir", w.journal.path(), journalTime)
}

// enqueue returns the entry to wait for, which is another if the segment's is under way, and how long.
func (w *writer) enqueue(e *entry) (*entry, time.Duration, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	limit := journalTime
	if w.hung {
		limit = 0
	}
	if w.closed {
		return nil, 0, status.Errorf(status.Closed, "delete: the instance is closed")
	}
	if e.kind == wantedGone {
		if same := w.waiting[e.tombstones[0].SegmentID]; same != nil {
			return same, limit, nil
		}
	}
	if len(w.queue) >= mostQueued {
		return nil, 0, w.late()
	}
	if e.kind == wantedGone {
		w.waiting[e.tombstones[0].SegmentID] = e
	}
	w.queue = append(w.queue, e)
	w.signal()
	return e, limit, nil
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run writes until the end of ctx, then what is still queued, and closes the journal.
func (w *writer) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-w.wake:
		}
		for w.step() {
		}
	}
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	for w.step() {
	}
	w.journal.close()
}

// step writes the first of the queue. It reports whether there was one.
func (w *writer) step() bool {
	w.mu.Lock()
	if len(w.queue) == 0 {
		w.mu.Unlock()
		return false
	}
	e := w.queue[0]
	w.queue = w.queue[1:]
	w.mu.Unlock()
	err := w.tasks.Guard("journal", func() error {
		if e.kind == 0 {
			return w.journal.rewrite(w.live())
		}
		if err := w.journal.append(e.kind, e.tombstones...); err != nil {
			return err
		}
		w.noted(e.kind, e.tombstones...)
		return nil
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.kind == wantedGone {
		delete(w.waiting, e.tombstones[0].SegmentID)
	}
	w.file, w.records, w.hung = w.journal.f, w.journal.records, false
	e.err = err
	close(e.done)
	return true
}

// size is how many records the journal has.
func (w *writer) size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.records
}

// sync makes all records so far durable, on the caller's thread: a file that a rewrite has replaced was synced by the rewrite.
func (w *writer) sync() error {
	w.mu.Lock()
	f := w.file
	w.mu.Unlock()
	if err := f.Sync(); err != nil && !errors.Is(err, os.ErrClosed) {
		return status.Errorf(status.Transient, "tombstone journal: sync: %w", err)
	}
	return nil
}
