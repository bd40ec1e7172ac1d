// Package diskcache is a cache of chunks and sidecars of stored segments in a few large files, which survives a restart.
//
// # Guarantees
//
// [Cache.Get] fills the caller's buffer with exactly the bytes that were put under the key, checked against their CRC32C, or
// reports a miss; a block that does not match is dropped and counted. What a crash left half written, or a power failure
// lost, is a miss. A reader never sees bytes of another block: a file that readers use stays open until the last of them is
// done, and no byte of a file is ever written twice while it has a name.
//
// [Cache.Put] never waits for the disk: it copies into one of two buffers of fixed size, and drops the block when both are
// full. Written pages are handed to the disk and dropped from the page cache.
//
// Files are kept in the order of their making and the oldest goes first; blocks of it that were read since they were
// written are taken along into the newest file, as far as they fill no more than a quarter of it.
//
// [Cache.Drop] gives the disk of an object's blocks back at once where the file system has holes, and with the file when nothing else in
// it is needed. A restart does not bring them back.
//
// The cache never keeps its owner from working. A disk that is full, read-only, failing, in use by another instance or
// deleted is one event; lookups miss and puts are dropped until a later try succeeds. A full disk gets the oldest file back.
//
// # Not its job
//
// What is worth keeping, failures of the store, memory of chunks.
//
// # Concurrency
//
// A [Cache] is safe for concurrent use. Files are made, written, removed and scanned by one task. The lock of the stage is
// never held together with that of the index; neither is held during input or output.
//
// # Entry points
//
// [Open], [Cache.Get], [Cache.Put], [Cache.Drop]. The layout is docs/format/disk-cache.md.
package diskcache
