// Package measure is what one process costs and how long one request takes, read from outside the process.
//
// # Guarantees
//
// CPU time is what the kernel charged, in steps of the kernel's clock tick (10 ms on Linux). A latency is counted from the time at which
// the request was meant to be sent, so a sender that falls behind does not hide a stall (open loop). [DropCache] says how much it
// left in the page cache instead of supposing that it dropped everything.
//
// # Not its job
//
// Ratios and reports.
//
// # Concurrency
//
// [Latencies] is safe for concurrent use, everything else is a function.
//
// # Entry points
//
// [CPUOf], [ThreadsOf], [MemoryOf], [PausesOf], [OpenLoop], [Latencies], [DropCache], [ThisMachine].
package measure
