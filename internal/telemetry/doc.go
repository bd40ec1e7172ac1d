// Package telemetry is all an operator can see: the metric set, named events, values whose default print is safe.
//
// # Guarantees
//
// A [Set] belongs to one plugin instance: several instances in one process never share a series. Every series exists
// from the moment it is registered, with value zero. A [Secret] never prints its value.
//
// # Not its job
//
// Thresholds, and how series reach JMX or an HTTP client.
//
// # Concurrency
//
// Updates are lock-free and safe for concurrent use. Registration happens while an instance is assembled.
//
// # Entry points
//
// [NewSet], [Set.Counter], [Set.Gauge], [Set.Histogram], [Set.Snapshot], [Set.WriteText].
package telemetry
