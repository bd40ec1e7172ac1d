// Package listener is the one HTTP listener of a plugin instance.
//
// # Guarantees
//
// Nothing listens unless an address was given; one that is taken is said once and tried again until it is free. An address without a host is the loopback one. An address that other hosts can
// reach is refused unless that was allowed in words. A request has deadlines for its header, its body and its answer; a panic
// in a handler answers 500, is logged and goes no further. Stop lets running requests finish within its deadline and then
// closes their connections.
//
// # Not its job
//
// What a route answers; TLS and tokens (nothing that is mounted writes).
//
// # Concurrency
//
// A [Listener] is made and mounted by one goroutine, then safe for concurrent use.
//
// # Entry points
//
// [Config.Validate], [New], [Listener.Mount], [Listener.Start], [Listener.Stop], [Metrics].
package listener
