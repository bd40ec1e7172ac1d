// Package assemble is properties -> typed structs -> object graph: the only place that constructs everything.
//
// # Guarantees
//
// One error lists every fault of a configuration: unknown keys with the nearest known name, missing and malformed values,
// contradictions. Opening an instance connects to nothing: a store that cannot be reached is found by use, and recovers by itself.
//
// # Not its job
//
// Logic of any part it joins.
//
// # Concurrency
//
// [Open] may be called for several instances in one process; an [Instance] is safe for concurrent use.
//
// # Entry points
//
// [Open], [Parse], [Reference].
package assemble
