package dispatch

import (
	"context"
	"strings"
	"testing"
	"time"

	"tidemark/internal/status"
)

func TestPanicsPoison(t *testing.T) {
	p, h := open(t, 1, &fake{copy: func(context.Context, CopyRequest) ([]byte, error) {
		var m map[string]int
		m["x"] = 1 //lint:ignore SA5000 the panic is what is tested
		return nil, nil
	}})
	clock := time.Now()
	p.now = func() time.Time { return clock }
	copyOnce := func() error {
		op := p.OpNew(h)
		defer p.OpFree(op)
		_, err := p.Copy(op, buildCopy(testCopy))
		return err
	}
	for range 2 * PanicLimit { // ten in a minute at most: nothing happens
		wantClass(t, "panic", copyOnce(), status.Internal)
		clock = clock.Add(7 * time.Second)
	}
	for i := 0; i <= PanicLimit && status.Is(copyOnce(), status.Internal); i++ {
		clock = clock.Add(time.Second)
	}
	err := copyOnce()
	wantClass(t, "poisoned", err, status.Closed)
	health, _ := p.Health()
	if !strings.Contains(string(health), "poisoned=1\n") {
		t.Errorf("health:\n%s", health)
	}
	if _, err := p.Metrics(h); err != nil {
		t.Errorf("metrics of a poisoned instance: %v", err)
	}
	logged := string(p.LogPoll(maxPoll, 0))
	if strings.Count(logged, "instance.poisoned") != 1 || !strings.Contains(logged, "guard_test.go") {
		t.Error("the log does not hold one instance.poisoned and the stack of the panic")
	}
	wantClass(t, "close", p.Close(h, time.Second), status.OK)
}

func TestPanicLimitIsPerMinute(t *testing.T) {
	var m panicMeter
	now := time.Unix(1000, 0)
	for range PanicLimit {
		if m.add(now) {
			t.Fatal("poisoned too early")
		}
	}
	if !m.add(now.Add(59 * time.Second)) {
		t.Error("one more within the minute did not poison")
	}
	if m.add(now.Add(3 * time.Minute)) {
		t.Error("old panics count")
	}
}
