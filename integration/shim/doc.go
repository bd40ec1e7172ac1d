// Package shim is the test that the plugin classes in the jar work in a JVM with Kafka's classes around them.
//
// It builds the native library with a scripted instance behind it (build tag boundarytest), packs the real jar around
// it and drives RemoteStorageManager from Java on the oldest and the newest supported Kafka and on every JDK found.
//
// # Guarantees
//
// What passes here holds for errors, cancellation by interrupt, streams, logs, metrics, and for two class loaders in one
// process, which is what a broker with a class path for plugins has.
//
// # Not its job
//
// Storage, brokers, and single native calls (integration/boundary).
//
// # Concurrency
//
// One JVM at a time.
//
// # Entry points
//
// go test ./integration/shim. It needs a JDK 17 or later, a C compiler, Gradle and Maven.
package shim
