// Package ingest is which range of a partition is converted next, and from where.
//
// # Guarantees
//
// A range starts at the ledger's next offset and is taken from closed segments that tile it; no offset at or above the smallest
// first offset of a transaction whose outcome no tile tells is converted. Conversion, upload and commit never hold up tiering:
// they run on their own goroutines, a bounded number at once, each with scratch files of about one range. What a crash
// interrupts is found again: the ledger against the list of remote segments and against what this broker keeps, which no list may
// name any more. A converted range whose submission failed
// is submitted again, not converted again, as long as it fits. Trouble in one partition stops that partition only, with a reason that
// [Ingest.Status] tells.
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
// [New], [Ingest.Lead], [Ingest.SetTable], [Ingest.Pause], [Ingest.Listed], [Ingest.HandOver], [Ingest.Published].
package ingest
