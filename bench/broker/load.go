package broker

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/workload"
)

// Settle is the least time after the last acknowledgement for which CPU time is counted, on every side.
const Settle = 2 * time.Second

// Span is what lies between two readings. Settled is when closed segments are in the store as well, and not before all sides have
// waited the same short while.
type Span struct{ From, Acked, Settled Clock }

// Produce fills an existing topic at full speed. With tiered it ends when all closed segments are in the store.
func (b *Broker) Produce(ctx context.Context, topic string, set *workload.Set, tiered bool) (s Span, err error) {
	cl, err := Open(ctx, b.Cluster.Bootstrap(), kgo.ProducerBatchCompression(b.Codec), kgo.ProducerLinger(BulkLinger),
		kgo.MaxBufferedBytes(BufferedBytes), kgo.MaxBufferedRecords(1<<20))
	if err != nil {
		return s, err
	}
	defer cl.Close()
	if s.From, err = b.Clock(); err != nil {
		return s, err
	}
	if err := ProduceAll(ctx, cl, topic, set); err != nil {
		return s, err
	}
	if s.Acked, err = b.Clock(); err != nil {
		return s, err
	}
	if tiered && b.Plugin.Tiered {
		if err := b.AwaitTiered(ctx, topic); err != nil {
			return s, err
		}
	}
	s.Settled, err = b.Clock()
	if wait := Settle - s.Settled.At.Sub(s.Acked.At); err == nil && wait > 0 {
		time.Sleep(wait)
		at := s.Settled.At
		s.Settled, err = b.Clock()
		s.Settled.At = at // the work was done by then, only CPU time is counted for longer
	}
	return s, err
}

// Consume reads a topic back from offset 0 and compares every record.
func (b *Broker) Consume(ctx context.Context, topic string, set *workload.Set) (s Span, err error) {
	cl, err := Consumer(ctx, b.Cluster.Bootstrap(), topic, set.Partitions(), b.PerPartition)
	if err != nil {
		return s, err
	}
	defer cl.Close()
	if s.From, err = b.Clock(); err != nil {
		return s, err
	}
	if err := ConsumeAll(ctx, cl, set); err != nil {
		return s, err
	}
	if s.Acked, err = b.Clock(); err != nil {
		return s, err
	}
	return s, b.Ends(ctx, topic, set)
}
