// Package objectserver is a real S3 server on this machine, for tests and the demo.
//
// # Guarantees
//
// Every port is on 127.0.0.1 and was free a moment ago; the server sends nothing elsewhere. When a start function returns, an
// object has been written and removed through the store's own client, so bucket and credentials work. The process is gone when Stop
// returns, and it is killed if the one that started it dies. What it printed is in Log, and its end is in every error.
//
// # Not its job
//
// Installing the server: `make tools` puts SeaweedFS (weed) into the Python environment of the cache. versitygw is optional.
//
// # Concurrency
//
// A Server belongs to one goroutine; its endpoint may be used by all.
//
// # Entry points
//
// [Start], [StartVersity], [Server.Stop].
package objectserver
