// Package workload is the records that a benchmark produces, and the proof that exactly they came back.
//
// # Guarantees
//
// Everything follows from a seed: the same [New] call gives the same records in every process, so both sides of a comparison get
// the same bytes and a consumer can compare each record with what was produced without keeping it. The three kinds of data compress
// differently, as real data does: [Logs] well, [Events] moderately, [Random] not at all.
//
// # Not its job
//
// Producing and consuming.
//
// # Concurrency
//
// A [Set] is immutable and safe for concurrent use; a [Checker] belongs to one goroutine.
//
// # Entry points
//
// [New], [NewEven], [Set.Each], [Set.Checker].
package workload
