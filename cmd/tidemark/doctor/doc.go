// Package doctor is the known misconfigurations of a cluster with tiered storage, as rules over what a cluster says of itself.
//
// # Guarantees
//
// A finding names where it is, what is set, why it matters and what to set instead. What the cluster does not tell (values that
// brokers hide, a version without a request) makes a rule silent, never wrong.
//
// # Not its job
//
// Asking the cluster, printing.
//
// # Concurrency
//
// Pure functions.
//
// # Entry points
//
// [Facts], [Examine].
package doctor
