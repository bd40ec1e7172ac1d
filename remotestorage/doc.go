// Package remotestorage is the four verbs of Kafka's RemoteStorageManager: copy, fetch, index, delete.
//
// # Guarantees
//
// Copy stores a closed segment byte for byte. All files are opened first, because a topic delete renames the directory
// before it cancels the copy; then the batches are walked: sizes, offsets and every CRC must agree with what Kafka says.
// Where compression or encryption is set, the log object is made in a scratch file without a name on the way. The log object is written, then the sidecar; the sidecar's presence means that the segment is complete. After any error
// the objects of the attempt are deleted, at once if the store can be reached, else in the background; they were never
// readable. After the sidecar a segment of a topic with a table gets a hold file and is handed to the [Sink]; neither can
// fail the copy or delay it beyond a bound.
//
// Reads deliver the original bytes at the original positions, or an error that names the object; never fewer bytes. An
// absent transaction index is NotFound. Delete appends a tombstone to a local journal and returns.
//
// Every call ends: each has a deadline that follows the bytes it moves, beside that of its context; a copy ends even when a local disk hangs. A panic is an
// Internal error. Error classes are those of package status; [Manager] methods document which.
// A copy leaves the page cache as it found it, unless a table will read the segment next. It leaves one event with the time of each stage and what it cost; one that takes long says in which stage it is, and
// so does the error of one that failed.
//
// # Not its job
//
// Tables: what a segment means to one is behind [Sink], Deps.Wanted and Deps.Holds. Retries of store calls: the store
// given to it makes them.
//
// # Concurrency
//
// A [Manager] is safe for concurrent use; calls after Close are Closed, calls under way end early. A hold file may be
// opened while others are made and released. Locks: Manager.mu and holds.mu, never both; no store call under either.
//
// # Entry points
//
// [New], [Manager.Copy], [Manager.OpenSegment], [Manager.Index], [Manager.Delete]; for the table side [Manager.Held],
// [Manager.OpenHeld], [Manager.ReleaseHeld], [Manager.OpenStored].
package remotestorage
