// Package reclaim is removal of stored segments that are no longer wanted: tombstones now, objects later.
//
// # Guarantees
//
// A delete costs one append to a local journal and no request to the store, because the broker deletes topics on its
// metadata thread, and ends with an error within 5 s if the journal's disk hangs. It is idempotent. Tombstones survive a restart; they are on disk within 100 ms in groups and before
// the objects they name are removed. Of a segment the sidecar goes first, so what is left of a half-done removal can
// never be taken for a segment. A segment that is held is not touched. A store that is down is asked again, more and more
// seldom. Layout of the journal: docs/format/tombstones.md.
//
// # Not its job
//
// Deciding retention; knowing what is held ([Holds] says it).
//
// # Concurrency
//
// A [Collector] is safe for concurrent use. Its three tasks (removal, syncs, writes of the journal) end with [Collector.Close]; one
// that hangs in a system call ends with the call. Locks: Collector.mu and writer.mu, never both; no system call, no request to the store
// and no call of Holds is made under them.
//
// # Entry points
//
// [Open], [Collector.Delete].
package reclaim
