// Package iceberg is the Iceberg metadata of one table: metadata documents, manifests and manifest lists as bytes.
//
// # Guarantees
//
// A [Metadata] is one metadata document as stored and is never changed; [Metadata.Append] derives the next one. Nothing here
// decides whether a document becomes current: it is written beside the others, and a catalog swaps a pointer to it. A
// document is only ever derived from the one it was computed from; nothing is rebased and nothing is retried. The id of a new
// snapshot is known before anything is sent. A new snapshot is never older than the table: its time is the store's, or one
// millisecond after the last update, whichever is later (libraries refuse a snapshot a minute older than the last one).
//
// # Not its job
//
// Deciding what to commit (catalog), swapping pointers (catalog/builtin), removing files.
//
// # Concurrency
//
// Values are read-only after construction and safe to share.
//
// # Entry points
//
// [Create], [Load], [Metadata.View], [Metadata.Require], [Metadata.Append], [Metadata.LiveFiles].
package iceberg
