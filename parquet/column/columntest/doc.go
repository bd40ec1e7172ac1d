// Package columntest is vectors as plain Go values, for the tests of packages that fill or read them.
//
// A value is nil, bool, int32, int64, float32, float64, string (the bytes of a Bytes vector), or []any (a list, or the
// fields of a struct in order).
//
// # Guarantees
//
// What Append puts in, Read gives back, but for NaN: it comes back as the string "NaN", so that it equals itself.
//
// # Not its job
//
// Bad values: a value that does not fit the vector panics. It is linked into no product binary.
//
// # Concurrency
//
// As that of a vector: one goroutine at a time.
//
// # Entry points
//
// [Append], [Read].
package columntest
