// Package fetch is ranges of stored segments served from a store through a bounded cache.
//
// # Guarantees
//
// Bytes handed out are those that were copied: every chunk is checked against its CRC32C before a byte of it leaves this
// package, and a stream delivers exactly the range it was opened for or fails; it never ends early. An object that is
// missing is NotFound; one that is short or damaged is Corrupt and the error names key, range, expected and actual. Bytes that
// do not match are fetched once more before they are called damaged.
//
// GETs are as large as the reading is sequential, whatever the size of a chunk: the window of a reader doubles with every chunk
// it reads in sequence, across streams and into the next segment of the partition, and falls back to one chunk after a
// jump. A chunk is handed out as soon as its own bytes have come. A GET that stands still while somebody waits is made a
// second time, within bounds.
//
// The first bytes of a stream are asked for beside the sidecar where the custom metadata says where they lie, and are handed out once
// the sidecar has confirmed them. A sidecar whose GET stands still is asked for a second time too.
//
// A chunk or sidecar that several readers want at once is read once. Failures are never kept: the next reader asks the
// store again. When a reader gives up, bytes that are already on their way still land in the cache, because the broker
// drops the result of a read that took too long and asks again for the same offset.
//
// Memory for chunks and sidecars comes from two budgets; that of chunks lies outside of Go's heap. When one is used up,
// what was read to its end goes first, then what was read longest ago; what was read ahead goes only for somebody who
// waits. When nothing can go, readers wait until their context ends.
//
// With a [Disk], a chunk or sidecar that is not in memory is looked for there before the store is asked, and what the store gave is
// offered to it. Bytes from it are checked like those of the store; damaged ones are asked of the store.
//
// # Not its job
//
// Retries (the store given to it makes them), Kafka semantics, deletion.
//
// # Concurrency
//
// A [Fetcher] and a [Segment] are safe for concurrent use, a [Stream] belongs to one goroutine at a time. Loads run in
// tasks of the fetcher, which [Fetcher.Close] ends. There is one lock per cache; nothing blocks while it is held.
//
// # Entry points
//
// [New], [Fetcher.Sidecar], [Fetcher.Open], [Fetcher.Segment].
package fetch
