// Package archtest is the architecture as tests: who may import what, package documentation, size limits, banned calls.
//
// # Guarantees
//
// A package that is not in the table of rules.go fails the test: every room has an owner and a list of what it may use.
//
// # Not its job
//
// Formatting and vetting, which are lint's.
//
// # Concurrency
//
// Tests only.
//
// # Entry points
//
// The table in rules.go.
package archtest
