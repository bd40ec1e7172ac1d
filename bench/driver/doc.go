// Package driver runs any RemoteStorageManager in a JVM of its own, without a broker, and hands it segments as a broker would.
//
// # Guarantees
//
// Plugins are driven through Kafka's interface only, with the jars of a Kafka version on the class path and the plugin in a class loader
// beside them. Times are taken inside the JVM around the one call they are about. What a fetch returns is compared by its checksum with the
// file that was copied. The process is gone when Close returns.
//
// # Not its job
//
// What is measured with it.
//
// # Concurrency
//
// A Driver may be used by several goroutines; how many calls run at the same time is set by Threads.
//
// # Entry points
//
// [Start], [Driver.Copy], [Driver.Fetch], [WriteSegments].
package driver
