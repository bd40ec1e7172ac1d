package calls

import (
	"testing"
	"time"

	"tidemark/integration/faultproxy"
)

func TestChainCountsRequestsThatFollowEachOther(t *testing.T) {
	at := func(from, to int) faultproxy.Request {
		return faultproxy.Request{Start: time.UnixMilli(int64(from)), Took: time.Duration(to-from) * time.Millisecond}
	}
	for _, c := range []struct {
		name     string
		requests []faultproxy.Request
		serial   int
		waited   time.Duration
	}{
		{"none", nil, 0, 0},
		{"one after the other", []faultproxy.Request{at(40, 70), at(0, 30)}, 2, 60 * time.Millisecond},
		{"at the same time", []faultproxy.Request{at(0, 30), at(5, 32), at(8, 20)}, 1, 32 * time.Millisecond},
		{"two and two", []faultproxy.Request{at(0, 30), at(1, 31), at(31, 60), at(33, 50)}, 2, 60 * time.Millisecond},
	} {
		if serial, waited := chain(c.requests); serial != c.serial || waited != c.waited {
			t.Errorf("%s: %d, %v, want %d, %v", c.name, serial, waited, c.serial, c.waited)
		}
	}
}
