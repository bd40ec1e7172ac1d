// Package builtin is the catalog without a server: one pointer per topic group, moved by conditional writes to the store.
//
// # Guarantees
//
// The pointer of a group names the metadata files of all its tables, so a commit to several of them is one step: it happens
// whole or not at all. A commit happens only on the exact state it was computed from. Whatever the store answers, the caller
// is told one of three things: applied (no error), not applied and never to be (Conflict), or not known (Unknown); what is not
// known is never reported as one of the others. A lost reply is resolved by looking for our own metadata file in the current
// document and its log. No object is ever overwritten but the pointer, none is deleted, and a drop is a tombstone, so no
// request that arrives late can bring back an old state. One name belongs to one topic.
//
// # Not its job
//
// Deciding what to commit (catalog), trying again (catalog/coordinator), metadata bytes (catalog/iceberg), removing files.
//
// # Concurrency
//
// A [Catalog] is safe for concurrent use, by any number of processes on one store. There is no lock, so a stopped process
// blocks nobody.
//
// # Entry points
//
// [Open], [Catalog.CreateGroup], [Catalog.LoadGroup], [Catalog.Prepare], [Catalog.Send], [Catalog.Drop], [Catalog.Groups],
// [Catalog.Handler]. The persistent form is docs/format/catalog-group.md.
package builtin
