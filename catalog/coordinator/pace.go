package coordinator

import (
	"slices"
	"time"
)

// pace is how long the last commits took, without the time that was spent to find out what to commit. The zero value is fast.
type pace struct {
	last [5]time.Duration
	next int
}

// add takes the duration of one more commit.
func (p *pace) add(took time.Duration) {
	p.last[p.next%len(p.last)] = took
	p.next++
}

// median is what a commit takes: one that was slow by itself, for whatever reason, says nothing of the next.
func (p *pace) median() time.Duration {
	sorted := p.last
	slices.Sort(sorted[:])
	return sorted[len(sorted)/2]
}
