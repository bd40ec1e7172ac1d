package builtin

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"tidemark/catalog"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
)

// Mode is how the pointer of a group moves. One store is used in one mode for ever.
type Mode uint8

const (
	// CreateOnly: every version of the pointer is an object of its own, and the version that could be created is the commit.
	// For stores that can refuse to overwrite and cannot swap, the file store among them.
	CreateOnly Mode = iota
	// Swap: one pointer object, replaced on the condition that it has not changed (If-Match).
	Swap
)

// state is a pointer as it was read.
type state struct {
	group
	etag string // mode Swap
}

// pointer reads and moves the pointers of groups. Each write is one attempt.
type pointer interface {
	// load reads the current pointer: NotFound if the group was never created.
	load(ctx context.Context, topic catalog.TopicID) (state, error)
	// move writes next after base; a nil base means that the group was never created. Class Conflict: the store refused.
	move(ctx context.Context, topic catalog.TopicID, base *state, next group) error
	// exists reports whether the group has a pointer of this mode.
	exists(ctx context.Context, topic catalog.TopicID) (bool, error)
}

func newPointer(store objectstore.Store, mode Mode) (pointer, error) {
	switch mode {
	case CreateOnly:
		return &versions{store: store, latest: map[catalog.TopicID]int64{}}, nil
	case Swap:
		return &swapped{store: store}, nil
	}
	return nil, status.Errorf(status.Invalid, "catalog mode %d does not exist", mode)
}

// readPointer reads one pointer object.
func readPointer(ctx context.Context, store objectstore.Reader, k string, topic catalog.TopicID) (state, error) {
	data, info, err := store.Get(ctx, k, recordLimit)
	if err != nil {
		return state{}, err
	}
	s := state{etag: info.ETag}
	if err := decodeRecord(data, groupKind, k, &s.group); err != nil {
		return state{}, err
	}
	if s.TopicID != key.UUID(topic) {
		return state{}, status.Errorf(status.Corrupt, "%s is the group of topic id %s", k, s.TopicID)
	}
	return s, nil
}

func writePointer(ctx context.Context, store objectstore.Store, k string, next group, cond objectstore.Condition) error {
	data, err := encodeRecord(groupKind, next)
	if err != nil {
		return err
	}
	_, err = store.Put(ctx, k, bytes.NewReader(data), cond)
	return err
}

// swapped is mode Swap.
type swapped struct{ store objectstore.Store }

func (p *swapped) key(topic catalog.TopicID) string { return key.Group(topic) + "/pointer" }

func (p *swapped) load(ctx context.Context, topic catalog.TopicID) (state, error) {
	return readPointer(ctx, p.store, p.key(topic), topic)
}

func (p *swapped) move(ctx context.Context, topic catalog.TopicID, base *state, next group) error {
	cond := objectstore.Condition{Absent: true}
	if base != nil {
		cond = objectstore.Condition{Match: base.etag}
	}
	return writePointer(ctx, p.store, p.key(topic), next, cond)
}

func (p *swapped) exists(ctx context.Context, topic catalog.TopicID) (bool, error) {
	return present(ctx, p.store, p.key(topic))
}

// versions is mode CreateOnly. Versions count from 1 without holes, because a writer creates the one after the version it
// read, and none is ever deleted: so "version v exists" is monotone, and the current one can be found by doubling and halving.
// (If old versions were deleted, a writer that slept could create one of them again and believe that it had won.)
type versions struct {
	store objectstore.Store

	mu     sync.Mutex
	latest map[catalog.TopicID]int64 // a version that is known to exist: where to begin, never an answer
}

// perDirectory is how many versions share a directory of a file store.
const perDirectory = 1000

func (p *versions) key(topic catalog.TopicID, version int64) string {
	return fmt.Sprintf("%s/claims/%07d/%010d", key.Group(topic), version/perDirectory, version)
}

func (p *versions) load(ctx context.Context, topic catalog.TopicID) (state, error) {
	version, err := p.current(ctx, topic)
	if err != nil {
		return state{}, err
	}
	if version == 0 {
		return state{}, status.Errorf(status.NotFound, "%s does not exist", p.key(topic, 1))
	}
	s, err := readPointer(ctx, p.store, p.key(topic, version), topic)
	if err == nil && s.Version != version {
		err = status.Errorf(status.Corrupt, "%s says it is version %d", p.key(topic, version), s.Version)
	}
	return s, err
}

// current is the newest version, 0 if there is none.
func (p *versions) current(ctx context.Context, topic catalog.TopicID) (int64, error) {
	p.mu.Lock()
	low := p.latest[topic]
	p.mu.Unlock()
	step := int64(1)
	high := low + step // not known to exist
	for {
		ok, err := present(ctx, p.store, p.key(topic, high))
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		low, step = high, step*2
		high = low + step
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		ok, err := present(ctx, p.store, p.key(topic, middle))
		if err != nil {
			return 0, err
		}
		if ok {
			low = middle
		} else {
			high = middle
		}
	}
	p.mu.Lock()
	p.latest[topic] = max(p.latest[topic], low)
	p.mu.Unlock()
	return low, nil
}

func (p *versions) move(ctx context.Context, topic catalog.TopicID, base *state, next group) error {
	if want := versionOf(base) + 1; next.Version != want {
		return status.Errorf(status.Internal, "group %s: version %d cannot follow %d", next.TopicID, next.Version, want-1)
	}
	return writePointer(ctx, p.store, p.key(topic, next.Version), next, objectstore.Condition{Absent: true})
}

func (p *versions) exists(ctx context.Context, topic catalog.TopicID) (bool, error) {
	return present(ctx, p.store, p.key(topic, 1))
}

func versionOf(base *state) int64 {
	if base == nil {
		return 0
	}
	return base.Version
}

func present(ctx context.Context, store objectstore.Reader, k string) (bool, error) {
	_, err := store.Head(ctx, k)
	if status.Is(err, status.NotFound) {
		return false, nil
	}
	return err == nil, err
}
