// Package versions is one jar on every supported Kafka: the main job on each, a rolling upgrade under load, replicas that are rebuilt from
// the store, leaders that move while they copy, brokers that stop while they copy and serve.
//
// # Guarantees
//
// Nothing is patched or substituted: the brokers are stock, one patch release of each supported minor version.
// Every scenario ends with the log byte for byte or record by record, and the table row by row.
//
// # Not its job
//
// What does not depend on Kafka's version (integration/scenario), Kafka's own tests, speed.
//
// # Concurrency
//
// Scenarios run one after another: each fills the machine.
//
// # Entry points
//
// make versions; make versions RUN=TestRollingUpgrade for one of them, RUN=TestDemo/4.1.2 for one version.
package versions
