// Package kafkaclient is the Kafka protocol towards the cluster that Tidemark runs in.
//
// # Guarantees
//
// It speaks to a PLAINTEXT listener. Every call ends with its context, or after [CallTimeout] when the context has no
// deadline. Nothing is created or produced behind the caller's back: topics are never made by asking for them. An answer
// that a leader does not give is reported as not known, never guessed.
//
// # Not its job
//
// Kafka's bytes on disk, and what records mean. It keeps no state that a restart would miss.
//
// # Concurrency
//
// A [Client] is safe for concurrent use. [Client.TailCompacted] calls its functions from the goroutine that called it.
//
// # Entry points
//
// [Open], [Client.EnsureTopic], [Client.TailCompacted], [Client.Produce], [Client.DescribeTopic], [Client.Lineage],
// [Client.ReadAll].
package kafkaclient
