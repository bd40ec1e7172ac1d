// Package assembletest is the broker around an assembled instance, for tests: what Kafka calls and answers, without Kafka.
//
// # Guarantees
//
// A [Broker] has a topic in a fake cluster, writes the files of closed segments as a broker does, copies them through the instance,
// and answers for which partitions segment lists are wanted. Equal calls give equal bytes.
//
// # Not its job
//
// Retention, replication, more than one partition. It is linked into no product binary.
//
// # Concurrency
//
// A [Broker] belongs to the goroutine of its test.
//
// # Entry points
//
// [New], [Broker.Open], [Broker.Roll], [Broker.Covered].
package assembletest
