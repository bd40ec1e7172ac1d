package kafkaclient

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/status"
)

// Produce writes one record, a nil value being a tombstone, to the partition its key hashes to, and waits until all in-sync
// replicas have it. Retries inside cannot write it twice.
// Errors: Unknown when the deadline passed and the record may or may not be there; NotFound without the topic; Invalid when it is
// too large.
func (c *Client) Produce(ctx context.Context, topic string, key, value []byte) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	err := c.cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Key: key, Value: value}).FirstErr()
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, kgo.ErrRecordTimeout) || errors.Is(err, kgo.ErrRecordRetries) {
		return status.Errorf(status.Unknown, "produce to topic %s: no answer in time: %w", topic, err)
	}
	return classify(err, "produce to topic %s", topic)
}
