// Package faultproxy is a reverse proxy before an S3 server that counts every request and does to it what a script says.
//
// # Guarantees
//
// Without a matching rule a request and its reply pass unchanged, with path, query and Host as they came, so that signatures hold.
// A fault happens where its name says: a reset is an RST, a lost reply is one to a request that the server has applied, and what is
// answered by the proxy never reached the server. With one seed and one order of requests the same requests are hit. Every request is
// recorded, also one whose client has gone away. When Close returns, no connection and no goroutine of the proxy is left.
//
// # Not its job
//
// TLS, and signing: a rule cannot change what a signature covers. Keys are understood in path style only.
//
// # Concurrency
//
// A Proxy is safe for concurrent use. Which of several concurrent requests is the n-th is decided by their arrival.
//
// # Entry points
//
// [Start], [Proxy.Script], [Rule], [Proxy.Totals], [Proxy.Requests].
package faultproxy
