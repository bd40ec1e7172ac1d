// Package convert is the conversion of a run of record batches into the files of a topic's tables.
//
// # Guarantees
//
// A conversion is a pure function of the bytes of its segments, the transaction outcomes, the definition and the asked range: the same
// input gives the same rows, whatever broker runs it and whenever. Every offset of the converted range is accounted for once: as a
// row of the main table, as a row of the quarantine table, or as aborted, control or hole. A record that cannot be decoded never
// affects its neighbours. A limit (open partition values, memory, file size) ends the range early, at a batch boundary unless one
// batch alone is too much, and never drops a row. A file has at least one row.
//
// # Not its job
//
// Choosing the range, opening segments, uploading files, deciding whether the result counts.
//
// # Concurrency
//
// A [Converter] is immutable; one [Converter.Run] belongs to one goroutine.
//
// # Entry points
//
// [New], [Converter.Run].
package convert
