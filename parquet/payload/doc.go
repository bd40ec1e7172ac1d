// Package payload is the decoding of a record's value bytes into columns.
//
// # Guarantees
//
// A decoder appends exactly one row to every column, or returns a [BadValue] after which the caller truncates the columns
// back. The same bytes give the same row. What a decoder accepts is strict JSON (RFC 8259) in valid UTF-8: numbers such
// as NaN, 01 or +1, raw control characters, unknown escapes and lone surrogates are row errors. Of duplicate keys the
// last counts. Numbers go from their text to the column's type and never through a double on the way to an integer or
// a decimal. Properties that the schema does not name are kept as JSON text. Messages name fields and kinds, never values.
// Nothing that is appended aliases the value. Nesting and list lengths are bounded.
//
// # Not its job
//
// The Kafka envelope (keys, headers, offsets), where schemas come from, field ids, what happens to a bad value.
//
// # Concurrency
//
// A decoder has scratch memory and belongs to one goroutine at a time; [JSON.Fork] makes another one of the same schema.
//
// # Entry points
//
// [Decoder], [NewRaw], [CompileJSON].
package payload
