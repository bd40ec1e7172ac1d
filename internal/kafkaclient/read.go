package kafkaclient

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// Record is one record as a consumer sees it. The caller may keep its slices.
type Record struct {
	Offset      int64
	Timestamp   int64  // ms since the epoch
	LeaderEpoch int32  // of its batch; -1 = not recorded
	Key, Value  []byte // nil = null
	Headers     []Header
}

// Header is one header of a record.
type Header struct {
	Key   string
	Value []byte // nil = null
}

// ReadAll calls fn for every committed record of the partition with from <= offset < to, in order. A to below 0 means the
// last stable offset of now. It comes through leader changes and waits for records that are not there yet, so the context
// should have a deadline: there is none otherwise.
// Errors: NotFound without the topic; Invalid when from is below the log start; Transient when the deadline passes; the error of
// fn as it is.
func (c *Client) ReadAll(ctx context.Context, topic string, partition int32, from, to int64, fn func(*Record) error) error {
	f := fetcher{cl: c.cl, topic: topic, isolation: kgo.ReadCommitted(), level: committed}
	if to < 0 {
		var err error
		if _, _, to, err = c.Offsets(ctx, topic, partition); err != nil {
			return err
		}
	}
	for failures := 0; from < to; {
		got, err := c.readOnce(ctx, &f, partition, from)
		if err == nil {
			err = got.err
		}
		if ctx.Err() != nil {
			return classify(ctx.Err(), "read %s-%d at offset %d", topic, partition, from)
		}
		if err != nil {
			if failures++; !status.Of(err).Retryable() || failures > 100 {
				return err
			}
			f.leaders = nil
			budget.Sleep(ctx, min(time.Duration(failures)*100*time.Millisecond, 2*time.Second))
			continue
		}
		failures = 0
		for _, r := range got.records {
			if r.Offset >= to {
				return nil
			}
			if err := fn(recordOf(r)); err != nil {
				return err
			}
		}
		from = got.next
	}
	return nil
}

func (c *Client) readOnce(ctx context.Context, f *fetcher, partition int32, from int64) (fetched, error) {
	if f.leaders == nil {
		before := f.id
		renewed, err := f.refresh(ctx)
		if err != nil {
			return fetched{}, err
		}
		if renewed && before != ([16]byte{}) {
			return fetched{}, status.Errorf(status.NotFound, "topic %s was deleted and created again while it was read", f.topic)
		}
	}
	if partition < 0 || int(partition) >= len(f.leaders) {
		return fetched{}, status.Errorf(status.NotFound, "topic %s has no partition %d", f.topic, partition)
	}
	leader := f.leaders[partition]
	if leader < 0 {
		return fetched{}, status.Errorf(status.Transient, "%s-%d has no leader", f.topic, partition)
	}
	got, err := f.fetch(ctx, leader, map[int32]int64{partition: from}, fetchWait)
	if err != nil {
		return fetched{}, err
	}
	one, ok := got[partition]
	if !ok {
		return fetched{}, status.Errorf(status.Transient, "broker %d left %s-%d out of its answer", leader, f.topic, partition)
	}
	return one, nil
}

func recordOf(r *kgo.Record) *Record {
	out := &Record{Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), LeaderEpoch: r.LeaderEpoch, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		out.Headers = append(out.Headers, Header{Key: h.Key, Value: h.Value})
	}
	return out
}
