// Package cluster is stock Kafka brokers on this machine, with the Tidemark jar lying in their libs/ folder.
//
// # Guarantees
//
// Every process listens on 127.0.0.1 only, on ports of its own, and is gone when Stop returns. The jars are those that Maven
// serves; nothing of Kafka is patched or configured beyond what Properties shows. Logs are kept until the caller removes the directory.
//
// # Not its job
//
// Producing, consuming, checking.
//
// # Concurrency
//
// A Cluster belongs to one goroutine; its nodes may be killed and started from others.
//
// # Entry points
//
// [Start], [Cluster.Bootstrap], [Node.Kill], [Node.Start].
package cluster
