package kafkaclient

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// tailed collects what a tail hands out.
type tailed struct {
	mu      sync.Mutex
	state   map[string]string
	records int
	caught  int
	changed chan struct{}
	done    chan struct{}
	stop    context.CancelFunc
}

func startTail(t *testing.T, c *Client, topic string) *tailed {
	ctx, cancel := context.WithCancel(t.Context())
	d := &tailed{state: map[string]string{}, changed: make(chan struct{}, 1), done: make(chan struct{}), stop: cancel}
	note := func(change func()) {
		d.mu.Lock()
		change()
		d.mu.Unlock()
		select {
		case d.changed <- struct{}{}:
		default:
		}
	}
	go func() {
		defer close(d.done)
		c.TailCompacted(ctx, topic, func(key, value []byte, _ int64) {
			note(func() {
				d.records++
				if d.state[string(key)] = string(value); value == nil {
					delete(d.state, string(key))
				}
			})
		}, func() { note(func() { d.caught++ }) })
	}()
	t.Cleanup(func() { cancel(); <-d.done })
	return d
}

// until waits for a condition over state, number of records and calls of caughtUp.
func (d *tailed) until(t *testing.T, what string, cond func(state map[string]string, records, caught int) bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		d.mu.Lock()
		state, records, caught := maps.Clone(d.state), d.records, d.caught
		d.mu.Unlock()
		if cond(state, records, caught) {
			return
		}
		select {
		case <-d.changed:
		case <-deadline:
			t.Fatalf("%s: not within a minute; %d records, caught up %d times, state %v", what, records, caught, state)
		}
	}
}

func TestTailCompacted(t *testing.T) {
	k, c := cluster(t)
	ctx := testContext(t)
	if err := c.EnsureTopic(ctx, "tables", 3, 1, nil); err != nil {
		t.Fatal(err)
	}
	put := func(key, value string) {
		t.Helper()
		v := []byte(value)
		if value == "" {
			v = nil
		}
		if err := c.Produce(ctx, "tables", []byte(key), v); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		put(fmt.Sprintf("k%d", i%5), fmt.Sprintf("v%d", i))
	}
	put("k0", "")
	k.Compact() // makes gaps

	d := startTail(t, c, "tables")
	d.until(t, "caught up", func(s map[string]string, _, caught int) bool {
		return caught == 1 && len(s) == 4 && s["k4"] == "v19" && s["k1"] == "v16"
	})
	put("k0", "back")
	d.until(t, "following", func(s map[string]string, _, _ int) bool { return s["k0"] == "back" })

	// Leaders move: it goes on without repeating or losing.
	d.mu.Lock()
	before := d.records
	d.mu.Unlock()
	k.ShufflePartitionLeaders()
	for i := range 10 {
		put(fmt.Sprintf("moved%d", i), "x")
	}
	d.until(t, "after moving leaders", func(s map[string]string, records, caught int) bool {
		return s["moved9"] == "x" && len(s) == 15 && records == before+10 && caught == 1
	})
	d.stop()
	<-d.done
}

func TestTailOfAnEmptyTopic(t *testing.T) {
	_, c := cluster(t, kfake.SeedTopics(2, "empty"))
	startTail(t, c, "empty").until(t, "caught up", func(_ map[string]string, records, caught int) bool { return caught == 1 && records == 0 })
}

// TestTailWaitsAndStartsOver: the topic comes later, and comes again as another one.
func TestTailWaitsAndStartsOver(t *testing.T) {
	k, c := cluster(t)
	ctx := testContext(t)
	d := startTail(t, c, "late")
	if err := c.EnsureTopic(ctx, "late", 1, 1, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := c.Produce(ctx, "late", []byte("k"), []byte("first")); err != nil {
			t.Fatal(err)
		}
	}
	d.until(t, "first topic", func(s map[string]string, records, caught int) bool { return records == 3 && caught == 1 })
	if err := k.DeleteTopic("late"); err != nil {
		t.Fatal(err)
	}
	if err := k.CreateTopic("late", 1, nil); err != nil {
		t.Fatal(err)
	}
	other := clientOf(t, k.ListenAddrs()[0]) // a fresh producer, which does not know the old topic
	if err := other.Produce(ctx, "late", []byte("k"), []byte("second")); err != nil {
		t.Fatal(err)
	}
	d.until(t, "second topic", func(s map[string]string, records, caught int) bool { return s["k"] == "second" && caught == 1 })
}
