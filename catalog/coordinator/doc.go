// Package coordinator runs the commit state machine of package catalog for the groups this broker writes.
//
// # Guarantees
//
// One commit at a time per group. It is computed from one load, its lineage is checked against that load, it is sent once, and
// what became of it is found out in a fresh load before anything else happens; an attempt of unknown fate is sent again
// unchanged or given up for a new one, never forgotten. Every usable ledger that is loaded is published. An event that
// forbids writing pauses the group and nothing else, until a load says otherwise. Nothing is ever deleted: the data files of
// an offer that lost are left where they are.
//
// # Not its job
//
// Deciding (catalog), metadata and pointers (catalog/iceberg, catalog/builtin), making offers (tables/ingest).
//
// # Concurrency
//
// A [Coordinator] is safe for concurrent use. Each group has a turn, held by whoever commits or loads for it, and a lock
// around its list of offers; neither is held while a callback runs but the turn.
//
// # Entry points
//
// [New], [Coordinator.Begin], [Coordinator.Submit], [Coordinator.Ledger], [Coordinator.Paused], [Coordinator.Close].
package coordinator
