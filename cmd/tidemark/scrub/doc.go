// Package scrub is the check of every stored segment against its manifest, from the store alone.
//
// # Guarantees
//
// Every object below the prefix is looked at once: a sidecar is read whole and every checksum in it is compared, its log object must
// have the size the manifest says, and every stored byte of it is read and compared with the CRC32C of its chunk, unless the check is
// quick. No key is needed for encrypted segments: the checksums are those of stored bytes. What does not agree twice is a [Finding]
// that names object and range; findings come in the order of keys. Nothing is written or removed. What is deleted or copied meanwhile
// is no finding. Memory is bounded: a window per worker, and the sidecars in hand by one budget. [Totals].Through is where an
// interrupted check goes on.
//
// # Not its job
//
// Mending, removing; what Kafka's metadata says of a segment; tables.
//
// # Concurrency
//
// A call of [Run] owns its goroutines and ends them. Its callbacks are called by the goroutine that called it.
//
// # Entry points
//
// [Run], [Measure].
package scrub
