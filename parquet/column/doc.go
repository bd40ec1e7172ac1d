// Package column is typed vectors and batches: columns of values with validity, the form rows have between a decoder and
// a Parquet file.
//
// # Guarantees
//
// A vector of length n has n values; appending keeps children of structs at the same length and list offsets
// monotone. Reset keeps the memory for reuse.
//
// # Not its job
//
// Names, field ids and what a column means: that is parquet/schema.
//
// # Concurrency
//
// A vector belongs to one goroutine at a time. Slices returned by accessors are valid until the next append or Reset.
//
// # Entry points
//
// [New], the Append methods of [Vector], [Batch].
package column
