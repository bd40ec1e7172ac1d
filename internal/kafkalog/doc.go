// Package kafkalog is Kafka's on-disk bytes: record batches, the records in them, and the small files beside a segment.
//
// # Guarantees
//
// [Walk] hands out whole batches whose length, magic number, structure and CRC32C have been checked, in strictly
// ascending offset order. Bytes after the last whole batch are Corrupt, never skipped. Two fields of a batch lie outside
// Kafka's CRC: the base offset, of which the order is checked, and the leader epoch, which nothing in a segment
// file can check; [Span.Check] compares both with what the broker says about the segment.
//
// Only magic 2 is read. A batch of magic 0 or 1 that is intact is Unsupported with its position: brokers of the 4.x line
// neither write nor accept them, so a segment that still holds one was written before 0.11.
//
// Every length is checked against the bytes at hand and against [Limits] before anything is allocated for it. What
// exceeds a limit is Unsupported, what contradicts itself is Corrupt. In steady state a [Walker] and a [Decoder]
// allocate nothing.
//
// # Not its job
//
// Where files lie, which segment follows which, and when a transaction is decided: the transaction index of a segment
// lists the transactions whose abort *marker* lies in it, so a [TxnView] is only as complete as the indexes it was given.
//
// # Concurrency
//
// Functions are pure. A [Walker] and a [Decoder] belong to one goroutine at a time; a [TxnView] is immutable.
//
// # Entry points
//
// [Walk], [Decoder.Records], [NewTxnView], [ParseProducerSnapshot], [ParseLeaderEpochs].
package kafkalog
