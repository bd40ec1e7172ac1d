// Package s3 is the object store over Amazon S3 and stores that speak its protocol.
//
// # Guarantees
//
// Everything of objectstore.Store. One request per call: no retries below this package (a lost reply to a conditional put
// would come back as a conflict with itself), except the parts of a large object, which are idempotent and retried by reading
// the source again, and its completion: that is sent again, and when the store does not know the upload any more the object is looked
// at. These repeats draw from the budget of all retries. An upload that failed is given up beside its call, never within the call's time.
// No part is held in memory. Each body carries a checksum in a header, of a kind the store takes, and is never
// sent in the aws-chunked form. A put with a condition whose reply was lost is Unknown; so is one of a large object whose completions were
// all lost; another put without one is Transient then, and may have happened. Redirects are not followed, so credentials go to the
// configured endpoint only. No helper program is run for credentials. Errors say what to check and hold no credential; nothing is printed.
//
// # Not its job
//
// Key layout, retries of whole calls, bucket policy, lifecycle of buckets.
//
// # Concurrency
//
// A Store is safe for concurrent use. Close ends running uploads of parts and waits for uploads to be given up.
//
// # Entry points
//
// [Config], [Open], [Store.Probe].
package s3
