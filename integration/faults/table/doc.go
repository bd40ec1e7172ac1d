// Package table is the list of faults that Tidemark is judged under, and the table of how it came out.
//
// # Guarantees
//
// docs/faults.md has exactly the rows of [Rows], in their order; a test compares them. A row without an outcome of its own fails.
//
// # Not its job
//
// Making the faults: that is package faults, whose tests are named by the rows.
//
// # Concurrency
//
// Everything here is immutable or belongs to one goroutine.
//
// # Entry points
//
// [Rows], [Read], [Render], [Parse].
package table
