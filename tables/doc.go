// Package tables is topics as tables: definitions, life cycle, holds.
//
// # Guarantees
//
// A definition is a record of the compacted topic __tidemark_tables; the absence of a record is never a drop. A table is live only
// if its topic exists, is tiered and is not compacted; otherwise it is refused with the reason and nothing of it runs. A tiered object
// is free only when it is known that no table still needs it: not knowing holds it. Trouble with a table never slows tiering or produce.
//
// # Not its job
//
// Bytes of records and files (convert), ranges (ingest), deciding progress (catalog).
//
// # Concurrency
//
// All methods of [Tables] are safe for concurrent use and return at once.
//
// # Entry points
//
// [Definition], [ParseDefinition], [Open], [Tables.Facts], [Tables.Leadership], [Tables.Published], [Tables.Held].
package tables
