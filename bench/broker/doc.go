// Package broker is one stock broker that is measured, with or without a plugin for tiered storage, and the client that loads it.
//
// # Guarantees
//
// Brokers of one run differ in their plugin and in nothing else: the same jars, JVM flags and properties, each in a fresh directory.
// What a client reads back is compared record by record with what was produced, and end offsets with counts. A topic counts as tiered or
// emptied when the broker itself says so or the files are gone, not after a time.
//
// # Not its job
//
// Which rows there are, and reports.
//
// # Concurrency
//
// A Broker belongs to one goroutine; the functions of the client may run beside each other.
//
// # Entry points
//
// [Start], [Plugin], [ProduceAll], [ProduceSteadily], [ConsumeAll].
package broker
