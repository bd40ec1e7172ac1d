// Package catalog is what progress is: ledger, offer, requirement, and the commit state machine over them.
//
// # Guarantees
//
// A row's identity is (cluster id, topic id, partition, offset). A group's main table carries a [Ledger]: per partition,
// the first offset it does not cover. The functions here decide so that the ledger moves only in the commit that adds
// exactly those ranges, pinned to the table UUID, the head and the progress tag of the one load it was computed from:
//
//   - [Read] finds the ledger in a loaded table, or says which event forbids writing to it. It never restarts from zero:
//     only a table that never had a snapshot reads as fresh.
//   - [Choose] takes per partition a contiguous run of offers that starts at the committed next offset and whose end the
//     partition's leader confirms. A hole waits, a straddling offer is refused, another generation is dropped.
//   - [Plan] makes the update: new ledger, summary, properties, requirements.
//   - [Next] says what follows an attempt. After anything but success it looks for success first, in a fresh load.
//
// Any offer may be lost, doubled, late or wrong, and any number of coordinators may run: that costs work, never rows.
// A ledger's text is checked by its own CRC32C; every changed byte is found (docs/format/ledger.md).
//
// # Not its job
//
// Loading, writing and sending (catalog/iceberg, catalog/builtin), running the steps (catalog/coordinator), cutting ranges
// and converting them (tables/ingest, tables/convert), the Parquet bytes around the footer entries named here. No clock: a
// snapshot's time is chosen at the edge, not before [Update.NotBeforeMs].
//
// # Concurrency
//
// Values are plain and functions are pure: no I/O, no goroutine, no global state. Nothing passed in is changed or kept;
// results share slices and maps with the arguments, which must therefore stay unchanged.
//
// # Entry points
//
// A commit is [Read], [Ledger.Begin] for partitions that are new, [Choose], [Plan] and [PlanSide], one attempt at the
// edge, then [Next] on a fresh load. [DataFileName] and [FileFooter] are what a table file says of itself; [Verify] compares
// such footers with a ledger.
package catalog
