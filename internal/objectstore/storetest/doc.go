// Package storetest is what tests need of an object store: one acceptance suite for all of them, a store in memory, and
// scripted faults.
//
// # Guarantees
//
// A store that passes [Acceptance] keeps the contract of objectstore.Store as far as a black box can tell. [Memory] passes
// it and is deterministic. A [Fault] strikes exactly the calls its script names.
//
// # Not its job
//
// Starting servers (package integration/objectserver). Product code never imports this package.
//
// # Concurrency
//
// Memory and Faults are safe for concurrent use; which of several concurrent calls is the n-th is up to the scheduler.
//
// # Entry points
//
// [Acceptance], [NewMemory], [Faulty].
package storetest
