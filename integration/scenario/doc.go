// Package scenario is the product in stock brokers: what an operator does to it, and what must be true afterwards.
//
// # Guarantees
//
// Every scenario starts its own brokers in a directory of its own under build/scenario, which is kept when it fails or SCENARIO_KEEP is set, and compares with
// what was produced: the log byte for byte or record by record, the table row by row through an outside reader.
//
// # Not its job
//
// Speed (bench), faults of single parts (their own tests).
//
// # Concurrency
//
// Scenarios run one after another: each fills the machine.
//
// # Entry points
//
// The tests.
package scenario
