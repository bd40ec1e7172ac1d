// Package calls is the rows of the tiering suite that need no broker: a plugin is called in a JVM of its own, as a broker would call it.
//
// # Guarantees
//
// What a plugin returns is compared with the files that were copied before a number is kept. Peers of a row are measured in the same round, after
// each other. Faults and latencies come from the fault proxy, with a seed of the round. Servers, drivers and their files are gone when Round
// returns, but for the directory of a driver that failed.
//
// # Not its job
//
// Brokers, and which rows are wanted.
//
// # Concurrency
//
// A Run belongs to one goroutine.
//
// # Entry points
//
// [Run.Round], [Metrics], [Built].
package calls
