// Package logtest is a writer of Kafka's on-disk bytes, for the tests of packages that read them.
//
// # Guarantees
//
// What it writes is what a 4.x broker would have on disk for the same records: batches of magic 2 in every codec and
// framing, segments with their indexes, transaction index and producer snapshot. Equal input gives equal bytes.
//
// # Not its job
//
// Damage: tests change the bytes themselves. It is linked into no product binary.
//
// # Concurrency
//
// A [Segment] belongs to one goroutine; everything else is a value.
//
// # Entry points
//
// [Batch.Bytes], [NewSegment], [Values], [Marker].
package logtest
