// Package catalogtest is a scripted catalog in memory and a simulation of everybody who uses one. For tests only.
//
// # Guarantees
//
// [Catalog] applies a request exactly when its requirements (table UUID, main, progress tag) hold for all tables it names,
// and can be made to ignore one kind. A request is a value: a test sends it, delivers it late, twice or never, and gives
// any answer. Foreign appends and rewrites, rollbacks, expiry and removal of properties and tags are calls.
//
// [Run] is one seeded schedule of leaders that cut ranges differently, coordinators that stop between any two steps, lost,
// doubled and reordered offers and requests, elections that truncate the log, and an operator. It is single-threaded and
// a function of its [Config]: a seed replays. After each commit of ours and at the end an oracle compares the rows that a
// reader would see with the log: every visible record exactly once in the main table or the quarantine, nothing of a
// truncated branch mixed in, nothing below the ledger missing, no deleted file referenced, foreign rows kept. When faults
// stop, every partition that did not diverge is covered to its end within a bounded number of rounds.
//
// # Not its job
//
// Iceberg metadata bytes and the built-in catalog's swap: those packages test themselves.
//
// # Concurrency
//
// None: a value belongs to one goroutine.
//
// # Entry points
//
// [NewCatalog] for scripted cases, [Run] for schedules.
package catalogtest
