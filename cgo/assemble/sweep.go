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

// graceOfCopies is how many times copy.deadline.ms the grace time should last: a copy and its clean-up, and Kafka's record of it.
const graceOfCopies = 2

// warnOfShortGrace tells of a grace time that a copy of another broker may outlast: its objects then look like an orphan, and only
// Kafka's metadata keeps the sweep from them.
func warnOfShortGrace(c *Config, log *slog.Logger) {
	if c.Sweep.Interval == 0 || c.Sweep.DryRun || c.Sweep.Grace >= graceOfCopies*c.Storage.CopyDeadline {
		return
	}
	log.Warn("sweep.grace.short", "sweep.grace.ms", c.Sweep.Grace.Milliseconds(), "copy.deadline.ms", c.Storage.CopyDeadline.Milliseconds(),
		"effect", "a copy that is still under way at a broker that has lost the leadership may be given up and its upload aborted: it fails and is made again",
		"do", "set sweep.grace.ms to at least twice copy.deadline.ms; a day, the default, costs little")
}
