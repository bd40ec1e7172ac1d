// Package parquet is one Parquet object, written from column batches and read back into them.
//
// # Guarantees
//
// A written file carries the field ids of the schema it was given, columns in schema order, three-level lists, a page
// index and no statistic that a reader could misuse: no bounds of decimals wider than 18 digits (the library orders them
// without sign), no NaN, no unbounded copy of a long value in the footer. [Facts] describe exactly the bytes that were
// written. The same batches and options give the same bytes. A file that does not decode is Corrupt, with its name.
//
// # Not its job
//
// What rows mean, where objects lie, when a file is complete enough to be committed.
//
// # Concurrency
//
// A [Writer] or [Reader] belongs to one goroutine at a time. Parallelism is several files.
//
// # Entry points
//
// [NewWriter], [ReadFooter], [NewReader].
package parquet
