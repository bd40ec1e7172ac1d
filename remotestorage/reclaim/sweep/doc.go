// Package sweep is the search for stored segments, and for unfinished uploads, that Kafka knows nothing of.
//
// # Guarantees
//
// A listing of the store only gives candidates. An object is removed only if all of this holds: its key is one that Tidemark
// writes; it is older than the grace time by the store's own clock; no copy of this broker is making it; no delete of it waits
// in the journal; no table still needs it; and Kafka's remote log metadata, asked a second time right before the delete, does not
// know its segment or has it in DELETE_SEGMENT_STARTED. A readable segment that ends above everything the metadata knows is kept: metadata that lost its end, or stands
// still, looks like that. So is every segment of a partition with more candidates than sweep.partition.max.
//
// A segment whose copy never ended (COPY_SEGMENT_STARTED) is not removed here: the metadata manager is asked to move it to
// DELETE_SEGMENT_STARTED, after which no late copy can finish it. Kafka has it deleted at its next expiration, but not in a topic without
// retention: there the next sweep removes it.
//
// A topic that the cluster does not have must be missing in two sweeps at least the grace time apart, and only one cluster may have
// left its mark in the prefix (docs/format/cluster-mark.md). That holds for its unfinished uploads too.
//
// Uploads that cannot be listed or aborted do not spoil a sweep: [Report.UploadsError] and the event sweep.uploads.failed say so.
//
// Memory is bounded by one page of a listing and by sweep.partition.max, deletes by sweep.rate; each request has a deadline. A
// sweep that ends half-way has done nothing that the next one has to know.
//
// # Not its job
//
// Deciding retention; objects of tables and of the catalog, except their unfinished uploads.
//
// # Concurrency
//
// A [Sweeper] runs one sweep at a time. Its task ends with [Sweeper.Close]. The functions of [Deps] are called from the goroutine of
// the sweep.
//
// # Entry points
//
// [New], [Sweeper.Start], [Sweeper.Run], [Decide].
package sweep
