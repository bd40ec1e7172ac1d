// Package keyring is the ring of key-encryption keys that wrap the data keys of stored segments.
//
// # Guarantees
//
// A data key is wrapped with AES-256-GCM under a key of the ring, bound to that key's id and to what the caller names; it
// opens for the same id and the same name only. A ring is whole or refused: a file with a fault, or that others than its
// owner can read, changes nothing, and a key whose bytes changed under its id is such a fault. A file that was replaced is
// taken without a restart.
//
// No byte of a key is ever in an error, in a log or in a printed [Ring]. Faults of a file name lines and never quote one:
// a line that is wrong may be a key.
//
// # Not its job
//
// Data keys, what they encrypt, where wrapped keys are kept; key management services.
//
// # Concurrency
//
// A [Ring] is safe for concurrent use. The file is looked at by whoever calls, at most once in [lookEvery]; others go on
// with the ring as it is. There is no goroutine.
//
// # Entry points
//
// [Open], [Ring.Active], [Ring.Wrap], [Ring.Unwrap], [Ring.Reload]. The layouts are docs/format/keyring.md.
package keyring
