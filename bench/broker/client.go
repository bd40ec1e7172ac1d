package broker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/measure"
	"tidemark/bench/workload"
)

// Client settings that the report names.
const (
	BulkLinger    = 5 * time.Millisecond
	SteadyLinger  = time.Millisecond
	BufferedBytes = 64 << 20
	FetchBytes    = 50 << 20 // fetch.max.bytes of Kafka's consumer
)

// Open connects a client, so that connecting is not measured.
func Open(ctx context.Context, bootstrap string, opts ...kgo.Opt) (*kgo.Client, error) {
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		return nil, err
	}
	if err := cl.Ping(ctx); err != nil {
		cl.Close()
		return nil, err
	}
	runtime.GC() // the garbage of the phase before is not this one's
	return cl, nil
}

// first keeps the first error of many callbacks.
type first struct {
	mu  sync.Mutex
	err error
}

func (f *first) set(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	if f.err == nil {
		f.err = err
	}
	f.mu.Unlock()
}

func (f *first) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// ProduceAll sends a set as fast as the broker takes it and returns when all of it is acknowledged.
func ProduceAll(ctx context.Context, cl *kgo.Client, topic string, set *workload.Set) error {
	var failed first
	promise := func(_ *kgo.Record, err error) { failed.set(err) }
	err := set.Each(func(partition int32, key, value []byte) error {
		cl.Produce(ctx, &kgo.Record{Topic: topic, Partition: partition, Key: key, Value: value}, promise)
		return failed.get()
	})
	if err == nil {
		err = cl.Flush(ctx)
	}
	return errors.Join(err, failed.get())
}

// ProduceSteadily sends an even set at a fixed rate. Latencies are from the time at which a record was due to its acknowledgement, without the
// first skip records.
func ProduceSteadily(ctx context.Context, cl *kgo.Client, topic string, set *workload.Set, rate, skip int) (measure.Summary, error) {
	var failed first
	partitions, n := set.Partitions(), int(set.Records())
	latencies := measure.NewLatencies(n)
	err := measure.OpenLoop(ctx, float64(rate), n, func(i int, intended time.Time) error {
		partition := int32(i % partitions)
		key, value := set.Record(partition, int64(i/partitions))
		cl.Produce(ctx, &kgo.Record{Topic: topic, Partition: partition, Key: key, Value: value}, func(_ *kgo.Record, err error) {
			failed.set(err)
			if i >= skip {
				latencies.Add(time.Since(intended))
			}
		})
		return failed.get()
	})
	if err == nil {
		err = cl.Flush(ctx)
	}
	return latencies.Summary(), errors.Join(err, failed.get())
}

// Consumer opens a client that reads all partitions of a topic from offset 0, perPartition bytes of each at a time.
func Consumer(ctx context.Context, bootstrap, topic string, partitions int, perPartition int32) (*kgo.Client, error) {
	from := map[int32]kgo.Offset{}
	for p := range partitions {
		from[int32(p)] = kgo.NewOffset().At(0)
	}
	return Open(ctx, bootstrap, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchMaxBytes(FetchBytes), kgo.FetchMaxPartitionBytes(perPartition))
}

// ConsumeAll reads until every record of the set has come back and compares each one.
func ConsumeAll(ctx context.Context, cl *kgo.Client, set *workload.Set) error {
	check := set.Checker()
	for check.Left() > 0 {
		fetches := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%w: %s", err, check.Missing())
		}
		for _, e := range fetches.Errors() {
			return fmt.Errorf("partition %d: %w", e.Partition, e.Err)
		}
		var differs error
		fetches.EachRecord(func(r *kgo.Record) {
			if differs == nil {
				differs = check.Take(r.Partition, r.Offset, r.Key, r.Value)
			}
		})
		if differs != nil {
			return fmt.Errorf("what came back is not what was produced: %w", differs)
		}
	}
	return nil
}
