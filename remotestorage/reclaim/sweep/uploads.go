package sweep

import (
	"context"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

const (
	uploadsAtOnce = 1000 // of one listing
	uploadRounds  = 20   // of listing and aborting in one sweep
)

// uploads aborts unfinished uploads that nobody goes on with. A copy whose upload is aborted fails and is made again, so nothing is lost
// even if one is wrong.
func (r *run) uploads(ctx context.Context) error {
	if r.deps.Uploads == nil {
		return nil
	}
	seen := map[string]bool{}
	for range uploadRounds {
		page, more, err := r.listUploads(ctx)
		if err != nil {
			return err
		}
		aborted := false
		for _, u := range page {
			if seen[u.ID] || !r.dangling(ctx, u) {
				continue
			}
			seen[u.ID] = true
			done, err := r.abort(ctx, u)
			if err != nil {
				return err
			}
			aborted = aborted || done
		}
		if !more || !aborted {
			return nil
		}
	}
	return nil
}

func (r *run) listUploads(ctx context.Context) ([]objectstore.Upload, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	page, more, err := r.deps.Uploads.ListUploads(ctx, "", uploadsAtOnce)
	return page, more, status.Wrapf(err, "list unfinished uploads")
}

// dangling reports whether an upload is to be aborted here: that of a segment by who judges its partition, any other by the broker that
// judges topics, of a topic that is gone as late as its segments.
func (r *run) dangling(ctx context.Context, u objectstore.Upload) bool {
	if !r.old(u.Started) {
		return false
	}
	topicID, partition, _, id, _, ok := key.ParseSegment(u.Key)
	if ok && r.deps.Truth.Knows(topicID, partition) {
		return r.deps.Copying == nil || !r.deps.Copying(id)
	}
	if ok {
		return r.topicOf(ctx, topicID) == Vanished
	}
	return r.elected && len(r.report.Foreign) == 0 && key.Known(u.Key)
}

func (r *run) abort(ctx context.Context, u objectstore.Upload) (done bool, err error) {
	r.report.OldUploads++
	f := Finding{Keys: []string{u.Key}, Upload: u.ID, Modified: u.Started, Verdict: Verdict{Remove, Orphan}}
	if topicID, partition, base, id, _, ok := key.ParseSegment(u.Key); ok {
		f.Identity = stored.Identity{TopicID: topicID, Partition: partition, SegmentID: id, BaseOffset: base}
	}
	if !r.cfg.DryRun {
		if err := r.abortUpload(ctx, u); err != nil {
			return false, err
		}
		r.report.Aborted++
		f.Done = true
		if !r.pace(ctx, 1) {
			return true, status.Wrapf(ctx.Err(), "sweep")
		}
	}
	r.found(f)
	return f.Done, nil
}

func (r *run) abortUpload(ctx context.Context, u objectstore.Upload) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return status.Wrapf(r.deps.Uploads.AbortUpload(ctx, u.Key, u.ID), "abort the upload of %s", u.Key)
}
