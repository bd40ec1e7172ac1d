package kafkaclient

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// TailCompacted reads the whole topic from its start, all partitions, and follows it until ctx ends. fn gets every record
// in the order of its partition, a nil value being a tombstone, and may keep the slices. caughtUp is called once, when the ends that
// the partitions had at the first contact are reached.
//
// It reconnects by itself, forever: a topic that is absent is waited for. If the topic is deleted and created again it is read
// from its start; records of the old one are not taken back.
func (c *Client) TailCompacted(ctx context.Context, topic string, fn func(key, value []byte, offset int64), caughtUp func()) {
	t := tail{c: c, fn: fn, caughtUp: caughtUp}
	t.f = fetcher{topic: topic, isolation: kgo.ReadCommitted(), level: committed}
	for failures := 0; ctx.Err() == nil; {
		err := t.round(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			if failures++; failures == 3 { // one lost connection or leader change is no event
				c.cfg.Log.Warn("tail.interrupted", "topic", topic, "error", err)
			}
			t.f.leaders = nil
			budget.Sleep(ctx, min(100*time.Millisecond<<min(failures, 6), 5*time.Second))
		default:
			if failures >= 3 {
				c.cfg.Log.Info("tail.resumed", "topic", topic)
			}
			failures = 0
		}
	}
	if t.f.cl != nil {
		t.f.cl.Close()
	}
}

type tail struct {
	c        *Client
	f        fetcher
	fn       func(key, value []byte, offset int64)
	caughtUp func() // nil once called

	at   map[int32]int64 // where to read on
	ends map[int32]int64 // to be reached for caughtUp; nil before the first contact and after caughtUp
}

// round reads what every leader has, waiting a moment if it is nothing.
func (t *tail) round(ctx context.Context) error {
	if t.f.leaders == nil {
		if err := t.contact(ctx); err != nil {
			return err
		}
	}
	byLeader := map[int32]map[int32]int64{}
	for p, leader := range t.f.leaders {
		if leader < 0 {
			return status.Errorf(status.Transient, "%s-%d has no leader", t.f.topic, p)
		}
		if byLeader[leader] == nil {
			byLeader[leader] = map[int32]int64{}
		}
		byLeader[leader][int32(p)] = t.at[int32(p)]
	}
	var first error
	for leader, at := range byLeader {
		got, err := t.f.fetch(ctx, leader, at, fetchWait/time.Duration(len(byLeader)))
		for p, one := range got {
			if one.err != nil {
				err = one.err
				if errors.Is(err, kerr.OffsetOutOfRange) {
					delete(t.at, p)
				}
				continue
			}
			for _, r := range one.records {
				t.fn(r.Key, r.Value, r.Offset)
			}
			t.at[p] = one.next
		}
		if err != nil && first == nil {
			first = err
		}
	}
	t.checkCaughtUp()
	return first
}

// contact learns the leaders, where unread partitions start and, the first time, where they end.
func (t *tail) contact(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if t.f.cl == nil {
		cl, err := t.c.connect() // its own connections: a fetch that waits would hold up the other calls
		if err != nil {
			return err
		}
		t.f.cl = cl
	}
	renewed, err := t.f.refresh(ctx)
	if err != nil {
		return err
	}
	if renewed {
		t.at, t.ends = map[int32]int64{}, nil
	}
	if err := t.bounds(ctx); err != nil {
		t.f.leaders = nil
		return err
	}
	t.checkCaughtUp()
	return nil
}

func (t *tail) bounds(ctx context.Context) error {
	for p := range t.f.leaders {
		p := int32(p)
		if _, ok := t.at[p]; !ok {
			start, err := listOffset(ctx, t.f.cl, t.f.topic, p, earliest, uncommitted)
			if err != nil {
				return err
			}
			t.at[p] = start
		}
	}
	if t.caughtUp == nil || t.ends != nil {
		return nil
	}
	ends := map[int32]int64{}
	for p := range t.f.leaders {
		end, err := listOffset(ctx, t.f.cl, t.f.topic, int32(p), latest, committed)
		if err != nil {
			return err
		}
		ends[int32(p)] = end
	}
	t.ends = ends
	return nil
}

func (t *tail) checkCaughtUp() {
	if t.caughtUp == nil || t.ends == nil {
		return
	}
	for p, end := range t.ends {
		if t.at[p] < end {
			return
		}
	}
	done := t.caughtUp
	t.caughtUp, t.ends = nil, nil
	done()
}
