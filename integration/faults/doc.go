// Package faults is the plugin under every fault of a store, and a broker killed at every point of a copy, a removal and a read.
//
// # Guarantees
//
// Each row of package table is a subtest that says in build/faults.jsonl how it came out. The rows of the store (S) run the object graph that
// a broker gets over a proxy before a real S3 server. The rows of crashes (C, E, F) kill a stock broker before the same proxy: the
// request that marks the point is held there, or what marks it is seen on the broker's disk, and what Kafka's metadata says then is read
// from its log before the row goes on. A row that cannot tell its point fails.
//
// # Not its job
//
// Tables under crashes, clusters of several brokers: see integration/scenario and integration/versions. The page docs/faults.md is written
// by render.
//
// # Concurrency
//
// Rows of the store run in parallel; each has a proxy, a prefix and an instance of its own and shares only the server. Rows of crashes use one
// broker, one after the other, each with its topic.
//
// # Entry points
//
// make faults, make faults ROW=S7, make faults ROW=C4.
package faults
