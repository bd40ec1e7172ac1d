package objectstore

import (
	"context"
	"time"
)

// Upload is a large object that was begun and neither completed nor aborted: its parts are stored and paid for, and no
// listing of objects shows them.
type Upload struct {
	Key     string
	ID      string // the store's name of the upload; several may be open for one key
	Started time.Time
}

// Uploads is a store that keeps parts of unfinished objects. Stores that write an object in one step are none.
type Uploads interface {
	// ListUploads returns up to max unfinished uploads whose keys start with prefix, in the store's order, and whether there
	// may be more. An upload that runs is among them: the time of its start is all that tells it from one that a crash left
	// behind. There is no mark to go on from, because stores disagree about it: abort what is old and list again.
	ListUploads(ctx context.Context, prefix string, max int) (uploads []Upload, more bool, err error)
	// AbortUpload removes the parts of one upload. One that does not exist any more is success; an object completed from it stays.
	AbortUpload(ctx context.Context, key, id string) error
}

// UploadsOf finds the Uploads of a store below its wrappers; ok is false for a store that has no unfinished objects.
// Its calls are not retried and not counted.
func UploadsOf(store Store) (uploads Uploads, ok bool) {
	for {
		if uploads, ok = store.(Uploads); ok {
			return uploads, true
		}
		wrapper, wraps := store.(interface{ Unwrap() Store })
		if !wraps {
			return nil, false
		}
		store = wrapper.Unwrap()
	}
}

// Unwrap is the store below.
func (r *retrying) Unwrap() Store { return r.Store }

// Unwrap is the store below.
func (i *instrumented) Unwrap() Store { return i.Store }
