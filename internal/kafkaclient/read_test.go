package kafkaclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/status"
)

// readOffsets are the offsets that ReadAll hands out.
func readOffsets(t *testing.T, c *Client, topic string, from, to int64) (offsets []int64) {
	t.Helper()
	err := c.ReadAll(testContext(t), topic, 0, from, to, func(r *Record) error {
		offsets = append(offsets, r.Offset)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return offsets
}

func TestReadAll(t *testing.T) {
	k, c := cluster(t, kfake.SeedTopics(1, "t"))
	ctx := testContext(t)
	var records []*kgo.Record
	for i := range 200 {
		records = append(records, &kgo.Record{Topic: "t", Key: fmt.Append(nil, i), Value: []byte(strings.Repeat("x", 100)),
			Headers: []kgo.RecordHeader{{Key: "h", Value: nil}}})
	}
	if err := c.cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if got := readOffsets(t, c, "t", 0, -1); len(got) != 200 {
		t.Errorf("%d of 200 records", len(got))
	}
	if got := readOffsets(t, c, "t", 17, 20); fmt.Sprint(got) != "[17 18 19]" {
		t.Errorf("17 to 20: %v", got)
	}
	boom := errors.New("boom")
	err := c.ReadAll(ctx, "t", 0, 5, -1, func(r *Record) error {
		if string(r.Key) != "5" || len(r.Value) != 100 || r.Timestamp == 0 || len(r.Headers) != 1 || r.Headers[0].Key != "h" || r.Headers[0].Value != nil {
			t.Errorf("record %+v", r)
		}
		return boom
	})
	if err != boom {
		t.Errorf("error of fn = %v", err)
	}
	k.ShufflePartitionLeaders()
	if got := readOffsets(t, c, "t", 150, -1); len(got) != 50 {
		t.Errorf("after a move: %d of 50 records", len(got))
	}
	if err := k.DeleteRecords("t", 0, 10); err != nil {
		t.Fatal(err)
	}
	wantClass(t, c.ReadAll(ctx, "t", 0, 0, -1, nil), status.Invalid, "t-0", "offset 0")
	wantClass(t, c.ReadAll(ctx, "absent", 0, 0, 5, nil), status.NotFound)
	wantClass(t, c.ReadAll(ctx, "t", 3, 0, 5, nil), status.NotFound, "partition 3")
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	wantClass(t, c.ReadAll(short, "t", 0, 200, 201, nil), status.Transient, "offset 200")
}

// TestReadAllCommitted: aborted records are not seen, and a range that ends with them ends.
func TestReadAllCommitted(t *testing.T) {
	k, c := cluster(t, kfake.SeedTopics(1, "t"))
	ctx := testContext(t)
	p, err := kgo.NewClient(kgo.SeedBrokers(k.ListenAddrs()...), kgo.TransactionalID("tx"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for i, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit, kgo.TryAbort} {
		if err := p.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := p.ProduceSync(ctx, &kgo.Record{Topic: "t", Value: fmt.Append(nil, i)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.EndTransaction(ctx, end); err != nil {
			t.Fatal(err)
		}
	}
	if got := readOffsets(t, c, "t", 0, -1); fmt.Sprint(got) != "[0 1 6 7]" {
		t.Errorf("committed offsets %v", got)
	}
	_, high, stable, err := c.Offsets(ctx, "t", 0)
	if err != nil || high != 12 || stable != 12 {
		t.Errorf("ends %d, %d, %v", high, stable, err)
	}
}
