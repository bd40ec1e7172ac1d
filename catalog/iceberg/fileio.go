package iceberg

import (
	"bytes"
	"context"
	"strconv"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// read fetches the whole object at a URI.
func read(ctx context.Context, store objectstore.Reader, uri string, limit int64) ([]byte, error) {
	key, ok := store.Key(uri)
	if !ok {
		return nil, status.Errorf(status.Invalid, "%s lies outside this store (%s): was the store moved or its address changed?", uri, store.URI(""))
	}
	data, _, err := store.Get(ctx, key, limit)
	return data, err
}

// write stores a new object at a URI. No name is ever used twice, so one that exists is Conflict and nothing changes.
func write(ctx context.Context, store objectstore.Store, uri string, data []byte) (objectstore.Info, error) {
	key, ok := store.Key(uri)
	if !ok {
		return objectstore.Info{}, status.Errorf(status.Invalid, "%s lies outside this store (%s): was the store moved or its address changed?", uri, store.URI(""))
	}
	return store.Put(ctx, key, bytes.NewReader(data), objectstore.Condition{Absent: true})
}
