// Package faults is the plugin's object graph under every fault of a store, over a proxy before a real S3 server.
//
// # Guarantees
//
// Each row of package table is a subtest that says in build/faults.jsonl how it came out. The chain of stores, retries, limits and caches
// is the one that a broker gets.
//
// # Not its job
//
// Brokers, Java, and what kills processes: see integration/scenario. The page docs/faults.md is written by render.
//
// # Concurrency
//
// Rows run in parallel; each has a proxy, a prefix and an instance of its own and shares only the server.
//
// # Entry points
//
// make faults, make faults ROW=S7.
package faults
