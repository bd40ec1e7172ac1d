package assemble

import (
	"context"
	"log/slog"

	"tidemark/internal/objectstore"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage"
	"tidemark/remotestorage/reclaim/sweep"
	"tidemark/remotestorage/stored"
)

// newSweeper joins the sweep with the storage, the tables' holds and the metadata manager.
func (i *Instance) newSweeper(cfg sweep.Config, store objectstore.Store, set *telemetry.Set) *sweep.Sweeper {
	uploads, _ := objectstore.UploadsOf(i.raw)
	return sweep.New(cfg, sweep.Deps{
		Log: i.log, Metrics: sweep.NewMetrics(set), Store: store, Uploads: uploads, Truth: i.truth, Cluster: i.truth.clusterID,
		Copying: i.storage.Copying, Pending: i.storage.DeletePending, Held: holds{i}.Held,
		End: func(ctx context.Context, id stored.Identity) (int64, error) {
			seg, err := i.storage.Describe(ctx, remotestorage.Segment{TopicID: id.TopicID, Partition: id.Partition, ID: id.SegmentID, BaseOffset: id.BaseOffset})
			return seg.EndOffset + 1, err
		},
		Found: func(f sweep.Finding) {
			level := slog.LevelDebug
			if f.Done {
				level = slog.LevelInfo
			}
			i.log.Log(context.Background(), level, "sweep.found", "keys", f.Keys, "upload", f.Upload, "bytes", f.Bytes, "modified", f.Modified, "reason", string(f.Verdict.Reason), "done", f.Done)
		},
	})
}
