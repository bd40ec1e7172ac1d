package coordinator

import (
	"testing"
	"time"
)

func TestPaceIsTheMedianOfTheLastCommits(t *testing.T) {
	var p pace
	for i, c := range []struct{ took, want time.Duration }{
		{10 * time.Second, 0}, // the first commit of a process may be slow
		{time.Second, 0},
		{time.Second, time.Second},
		{30 * time.Second, time.Second},
		{2 * time.Second, 2 * time.Second},
		{5 * time.Second, 2 * time.Second},
		{5 * time.Second, 5 * time.Second},
		{5 * time.Second, 5 * time.Second},
	} {
		p.add(c.took)
		if got := p.median(); got != c.want {
			t.Errorf("after commit %d: %v, want %v", i, got, c.want)
		}
	}
}
