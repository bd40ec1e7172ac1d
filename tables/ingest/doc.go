// Package ingest is which range of a partition is converted next, and from where.
//
// # Guarantees
//
// A range starts at the ledger's next offset and is taken from closed segments that tile it; no offset at or above the smallest first
// offset of a transaction still open at the end of the last segment is converted, so every outcome is known. Conversion, upload and
// commit never hold up tiering: they run on their own goroutines, within a budget of jobs and of scratch bytes. What a crash
// interrupts is found again from the list of remote segments against the ledger.
//
// # Not its job
//
// Decoding records (convert), deciding whether a range counts (catalog), leadership and definitions (tables).
//
// # Concurrency
//
// All methods of [Ingest] are safe for concurrent use and return at once; the work happens in tasks that [Ingest.Close] stops.
//
// # Entry points
//
// [New], [Ingest.Lead], [Ingest.SetTable], [Ingest.Listed], [Ingest.HandOver], [Ingest.Published].
package ingest
