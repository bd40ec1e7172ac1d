package storetest

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// Memory is a store in memory with both conditions. As on S3, equal content has an equal ETag, and a key may be a prefix of
// another.
type Memory struct {
	mu      sync.Mutex
	objects map[string]object
	ticks   int64
}

// object is immutable once stored.
type object struct {
	data []byte
	info objectstore.Info
}

var _ objectstore.Store = (*Memory)(nil)

const memoryURI = "mem://store/"

// NewMemory makes an empty store.
func NewMemory() *Memory { return &Memory{objects: map[string]object{}} }

// Clone is the store as a crash at this moment would leave it. The clone and the original go separate ways.
func (m *Memory) Clone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Memory{objects: maps.Clone(m.objects), ticks: m.ticks}
}

// Keys are all keys in order.
func (m *Memory) Keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.objects))
}

// Damage replaces an object's content behind the store's back: a bit flip, a truncation. It reports whether there is one.
func (m *Memory) Damage(key string, change func(data []byte) []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	if ok {
		o.data = change(slices.Clone(o.data))
		o.info.Size = int64(len(o.data))
		m.objects[key] = o
	}
	return ok
}

func (m *Memory) find(ctx context.Context, key string) (object, error) {
	if err := objectstore.CheckKey(key); err != nil {
		return object{}, err
	}
	if err := ctx.Err(); err != nil {
		return object{}, status.Wrapf(err, "read %s", key)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.objects[key]
	if !ok {
		return object{}, status.Errorf(status.NotFound, "object %s does not exist", key)
	}
	return o, nil
}

// Get returns a copy of the object.
func (m *Memory) Get(ctx context.Context, key string, limit int64) ([]byte, objectstore.Info, error) {
	o, err := m.find(ctx, key)
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	if o.info.Size > limit {
		return nil, o.info, objectstore.TooLarge(key, o.info.Size, limit)
	}
	return slices.Clone(o.data), o.info, nil
}

// ReadRange fills dst from offset on.
func (m *Memory) ReadRange(ctx context.Context, key string, dst []byte, offset int64) error {
	if err := objectstore.CheckRange(key, offset); err != nil {
		return err
	}
	o, err := m.find(ctx, key)
	if err != nil {
		return err
	}
	if offset+int64(len(dst)) > o.info.Size {
		return objectstore.ShortRange(key, offset, len(dst), o.info.Size)
	}
	copy(dst, o.data[offset:])
	return nil
}

// ReadScatter fills one buffer after the other.
func (m *Memory) ReadScatter(ctx context.Context, key string, dsts [][]byte, offset int64, filled func(i int)) error {
	if err := objectstore.CheckRange(key, offset); err != nil {
		return err
	}
	o, err := m.find(ctx, key)
	if err != nil {
		return err
	}
	if n := objectstore.Length(dsts); offset+n > o.info.Size {
		return objectstore.ShortRange(key, offset, int(n), o.info.Size)
	}
	for i, dst := range dsts {
		offset += int64(copy(dst, o.data[offset:]))
		filled(i)
	}
	return nil
}

// Head returns the description of an object.
func (m *Memory) Head(ctx context.Context, key string) (objectstore.Info, error) {
	o, err := m.find(ctx, key)
	return o.info, err
}

// List pages through the keys.
func (m *Memory) List(ctx context.Context, prefix, after string, max int) ([]objectstore.Info, bool, error) {
	if err := objectstore.CheckList(prefix, max); err != nil {
		return nil, false, err
	}
	if err := ctx.Err(); err != nil {
		return nil, false, status.Wrapf(err, "list %s", prefix)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var page []objectstore.Info
	for _, key := range slices.Sorted(maps.Keys(m.objects)) {
		if !strings.HasPrefix(key, prefix) || key <= after {
			continue
		}
		if len(page) == max {
			return page, true, nil
		}
		page = append(page, m.objects[key].info)
	}
	return page, false, nil
}

// URI is mem://store/key.
func (m *Memory) URI(key string) string { return memoryURI + key }

// Key is the inverse of URI.
func (m *Memory) Key(uri string) (string, bool) {
	key, ok := strings.CutPrefix(uri, memoryURI)
	return key, ok && objectstore.CheckKey(key) == nil
}

// Put stores a copy of the source.
func (m *Memory) Put(ctx context.Context, key string, src objectstore.Source, cond objectstore.Condition) (objectstore.Info, error) {
	if err := objectstore.CheckPut(key, src, cond); err != nil {
		return objectstore.Info{}, err
	}
	data := make([]byte, src.Size())
	if err := objectstore.ReadSource(src, data, 0); err != nil {
		return objectstore.Info{}, status.Wrapf(err, "put %s", key)
	}
	if err := ctx.Err(); err != nil {
		return objectstore.Info{}, status.Wrapf(err, "put %s", key)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, exists := m.objects[key]
	if cond.Absent && exists {
		return objectstore.Info{}, status.Errorf(status.Conflict, "put %s: the object exists", key)
	}
	if cond.Match != "" && (!exists || old.info.ETag != cond.Match) {
		return objectstore.Info{}, status.Errorf(status.Conflict, "put %s: the object is not the one with ETag %s", key, cond.Match)
	}
	sum := md5.Sum(data)
	m.ticks++
	info := objectstore.Info{Key: key, Size: src.Size(), ETag: hex.EncodeToString(sum[:]), Modified: time.Unix(m.ticks, 0)}
	m.objects[key] = object{data, info}
	return info, nil
}

// Delete removes objects.
func (m *Memory) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := objectstore.CheckKey(key); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return status.Wrapf(err, "delete")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		delete(m.objects, key)
	}
	return nil
}
