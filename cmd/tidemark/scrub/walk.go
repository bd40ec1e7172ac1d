package scrub

import (
	"context"
	"strings"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
)

// page is how many objects one listing asks for.
const page = 1000

// uploadsWait bounds the listing of unfinished uploads, which stores do not bound themselves.
const uploadsWait = time.Minute

// each calls f with every object below a prefix that comes after a key.
func each(ctx context.Context, store objectstore.Reader, prefix, after string, f func(objectstore.Info) error) error {
	for more := true; more; {
		objects, next, err := store.List(ctx, prefix, after, page)
		if err != nil {
			return err
		}
		for _, o := range objects {
			if err := f(o); err != nil {
				return status.Wrapf(err, "listing of %s", prefix)
			}
			after = o.Key
		}
		more = next && len(objects) > 0
	}
	return nil
}

// Measure counts what Run will look at, by listings alone.
func Measure(ctx context.Context, store objectstore.Reader, prefix, after string) (objects, bytes int64, err error) {
	err = each(ctx, store, prefix, after, func(o objectstore.Info) error {
		objects, bytes = objects+1, bytes+o.Size
		return nil
	})
	return objects, bytes, err
}

// walk puts the objects of one segment together; their keys are neighbours.
func (r *run) walk(ctx context.Context, emit func(*item) error) error {
	var open *item
	var stem string
	flush := func() error {
		if open == nil {
			return nil
		}
		i := open
		open = nil
		return emit(i)
	}
	err := each(ctx, r.store, r.Prefix, r.After, func(o objectstore.Info) error {
		_, _, _, _, kind, ok := key.ParseSegment(o.Key)
		own := strings.TrimSuffix(o.Key, string(kind))
		if open != nil && (!ok || own != stem) {
			if err := flush(); err != nil {
				return err
			}
		}
		if open == nil {
			open, stem = &item{done: make(chan struct{})}, own
		}
		switch {
		case !ok:
			open.foreign = o
			return flush()
		case kind == key.Sidecar:
			open.sidecar = o
		default:
			open.log = o
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// uploads lists the uploads below the prefix that were begun and not ended. A listing has no mark to go on from, so only the first
// page is looked at.
func (r *run) uploads(ctx context.Context, t *Totals) error {
	store, ok := objectstore.UploadsOf(r.store)
	if !ok {
		return nil // objects are written in one step
	}
	ctx, cancel := context.WithTimeout(ctx, uploadsWait)
	defer cancel()
	open, more, err := store.ListUploads(ctx, r.Prefix, page)
	if err != nil {
		return status.Wrapf(err, "list the unfinished uploads below %s", r.Prefix)
	}
	var i item
	for _, u := range open {
		if age := r.Now.Sub(u.Started); age < r.Grace {
			t.Young++
		} else {
			i.add(UnfinishedUpload, u.Key, 0, 0, "upload %s was begun %s (%s ago) and neither completed nor aborted: its parts are paid for",
				u.ID, u.Started.UTC().Format(time.RFC3339), age.Round(time.Minute))
		}
	}
	if more {
		i.add(UnfinishedUpload, r.Prefix, 0, 0, "there are more than the first %d unfinished uploads: abort these and check again", len(open))
	}
	for _, f := range i.findings {
		t.Findings++
		r.Found(f)
	}
	return nil
}
