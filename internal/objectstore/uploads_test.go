package objectstore_test

import (
	"context"
	"testing"

	"tidemark/internal/budget"
	"tidemark/internal/objectstore"
	"tidemark/internal/telemetry"
)

// parted is a store that has uploads.
type parted struct{ objectstore.Store }

func (parted) ListUploads(context.Context, string, int) ([]objectstore.Upload, bool, error) {
	return nil, false, nil
}

func (parted) AbortUpload(context.Context, string, string) error { return nil }

func TestUploadsAreFoundBelowWrappers(t *testing.T) {
	wrap := func(s objectstore.Store) objectstore.Store {
		return objectstore.Retrying(objectstore.Instrument(s, telemetry.NewSet()), budget.Retry{Attempts: 1})
	}
	plain := open(t, t.TempDir())
	if _, ok := objectstore.UploadsOf(wrap(plain)); ok {
		t.Error("a file store has no uploads")
	}
	if u, ok := objectstore.UploadsOf(wrap(parted{plain})); !ok || u == nil {
		t.Error("the uploads are not found")
	}
}
