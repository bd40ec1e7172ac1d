// Package dispatch is the protocol between the broker's plugin classes and an instance of Tidemark.
//
// It holds what stands between the two: framed messages, handles, operations that can be cancelled, streams over a
// pool of slabs, and the recover that turns a panic into an error.
//
// # Guarantees
//
// A message is looked at only after its frame is right (docs/format/messages.md): magic, length, CRC32C, kind and
// version. Each kind has one decode function, which copies every field into a plain struct with all counts and sizes
// bounded; whatever is wrong with the bytes, the answer is Invalid. A handle that is stale or closed twice answers
// Closed, one that was never issued answers Invalid. Every call ends with its deadline as Transient and with a cancel
// as Cancelled; a result that was complete before the cancel wins. A panic is counted, logged with its stack and
// answered as Internal; an instance that panics more than [PanicLimit] times a minute answers Closed from then on. A
// stream never ends before the length it announced. No slab is ever lent twice at once, and all come back.
//
// # Not its job
//
// Any decision: what a request means is the [Instance]'s, how an instance is built is the [Opener]'s. Memory of slabs
// and the C side of the calls belong to the caller.
//
// # Concurrency
//
// Everything is safe for concurrent use. Lock order: stream, then instance, then table; no lock is held while an
// instance is called. The package starts no goroutine: calls run on the thread that makes them.
//
// # Entry points
//
// [New], [Process.Init], [Process.Open], [Process.OpNew], [Process.Copy], [Process.StreamOpen], [Process.LogPoll].
package dispatch
