// Package report is what a run of a suite says: ratios of two sides with their ranges, what was lost first.
//
// # Guarantees
//
// A row whose check failed has no number anywhere, neither in a line, nor in the page, nor in the CSV. A ratio is ours divided by theirs, of the
// medians over all rounds; its range is the smallest and largest ratio of the rounds, each of which ran both sides one after the
// other. A range that straddles 1 is "no difference". A lost comparison is printed like a won one, and before it.
//
// # Not its job
//
// Measuring, and deciding what is fair to compare.
//
// # Concurrency
//
// A [Results] belongs to one goroutine.
//
// # Entry points
//
// [New], [Results.Add], [Results.Fail], [Results.Rows], [Page.Markdown], [CSV].
package report
