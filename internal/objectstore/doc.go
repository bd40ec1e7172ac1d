// Package objectstore is objects by key: put, ranged get, conditional put, list, delete.
//
// # Guarantees
//
// An object becomes visible whole or not at all. A put with a condition is decided by the store in one atomic step. A
// ranged get returns exactly the bytes asked for or an error, never fewer. Errors carry a class of package status: NotFound,
// Conflict (a condition did not hold), Unknown (a write whose reply was lost), Throttled, Transient, Cancelled, Corrupt,
// Invalid. A store makes one attempt per call unless its documentation says otherwise; retries are the caller's.
//
// # Not its job
//
// Retries across objects, key layout, what the bytes mean.
//
// # Concurrency
//
// Every Store is safe for concurrent use.
//
// # Entry points
//
// [Store]; the wrappers [Instrument], [Adaptive] and [Retrying]; the file store is in this package, S3 in objectstore/s3, the acceptance suite and the memory store in
// objectstore/storetest.
package objectstore
