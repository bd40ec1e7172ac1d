// Package budget is permission to use something bounded: bytes, slots, time and goroutines.
//
// # Guarantees
//
// A grant is given in order of asking and never exceeds the capacity; waiting ends with the context. A retry ends
// with its attempts or its context, whichever is first, and draws from a rate that all calls share. A deadline is a minimum rate plus a floor, so that a starved
// host is slow and not broken; time spent waiting for a limit does not count. A task that panics is counted, logged and recovered, never fatal.
//
// # Not its job
//
// What is retried and what a class of error means: that is the caller's and package status'.
//
// # Concurrency
//
// All types are safe for concurrent use.
//
// # Entry points
//
// [Bytes], [Rate], [Limit], [Pace.WithDeadline], [Retry.Do], [Tasks.Go].
package budget
