// Package tiering is the suite that judges tiered storage: what copying and reading cost beside what others pay and beside floors.
//
// # Guarantees
//
// A row has a number only when every byte it is about was compared with what was produced. Sides differ in the plugin and nothing else and
// take turns within each round. A side that fails loses its own numbers, with the reason in the report, and nobody else's.
//
// # Not its job
//
// Starting brokers and drivers, reading costs of processes, ratios.
//
// # Concurrency
//
// [Run] belongs to one goroutine.
//
// # Entry points
//
// [Run], [Rows].
package tiering
