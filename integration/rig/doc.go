// Package rig is one cluster under test and what a test does to it and asks of it: topics, producers, raw fetches, the operator's command,
// outside readers, leader moves.
//
// # Guarantees
//
// Every rig has brokers in a directory of its own under build/scenario, which is kept when the test fails or SCENARIO_KEEP is set. What it
// reads it compares with what was produced: the log byte for byte or record by record, the table row by row through an outside reader. A
// failure ends the test with what was waited for and what the brokers said.
//
// # Not its job
//
// What is tested: integration/scenario, integration/versions.
//
// # Concurrency
//
// A Rig belongs to the goroutine of its test; a [Background] producer runs beside it.
//
// # Entry points
//
// [Start], [Prepare], [Rig.Topic], [Rig.ProduceBeside], [Rig.TierAll], [Rig.SameRows].
package rig
