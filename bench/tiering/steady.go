package tiering

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/broker"
	"tidemark/bench/workload"
)

// Sizes of the latency row.
const (
	steadyPartitions = 3
	steadySkip       = 2     // seconds whose latencies do not count
	steadyShare      = 0.3   // of what a vanilla broker takes
	steadyMost       = 40000 // records per second
	readers          = 4
)

// interference produces at a fixed rate, open loop: once while segments close and are copied, once with consumers that catch up besides.
func (l *life) interference(ctx context.Context) error {
	if l.run.limit == 0 {
		return errors.New("it is not known how much a vanilla broker takes, because its run failed")
	}
	perSecond := int(min(steadyShare*l.run.limit, steadyMost))
	l.run.steadyRate = perSecond
	set, err := workload.NewEven(3, steadyPartitions, int64(perSecond*(l.run.seconds()+steadySkip)/steadyPartitions))
	if err != nil {
		return err
	}
	if err := l.steady(ctx, "copying", perSecond, set); err != nil {
		return err
	}
	if err := l.drop(bulkTopic); err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	done := make(chan error, readers)
	for range readers {
		go func() { done <- l.catchUp(reading) }()
	}
	err = l.steady(ctx, "readers", perSecond, set)
	stop()
	for range readers {
		err = errors.Join(err, <-done)
	}
	return err
}

func (r *run) seconds() int {
	if r.Full {
		return 30
	}
	return 6
}

// catchUp reads the bulk topic again and again until it is stopped; every record is compared.
func (l *life) catchUp(ctx context.Context) error {
	for {
		cl, err := broker.Consumer(ctx, l.Cluster.Bootstrap(), bulkTopic, 1, l.PerPartition)
		if err == nil {
			err = broker.ConsumeAll(ctx, cl, l.run.sets.bulk)
			cl.Close()
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("a consumer that catches up: %w", err)
		}
	}
}

func (l *life) steady(ctx context.Context, phase string, perSecond int, set *workload.Set) error {
	topic := "steady-" + phase
	if err := l.Topic(ctx, topic, steadyPartitions, 8<<20, true); err != nil {
		return err
	}
	cl, err := broker.Open(ctx, l.Cluster.Bootstrap(), kgo.ProducerLinger(broker.SteadyLinger), kgo.MaxBufferedRecords(1<<20),
		kgo.ProducerBatchCompression(l.Codec))
	if err != nil {
		return err
	}
	defer cl.Close()
	from, err := l.Clock()
	if err != nil {
		return err
	}
	summary, err := broker.ProduceSteadily(ctx, cl, topic, set, perSecond, perSecond*steadySkip)
	if err != nil {
		return err
	}
	to, err := l.Clock()
	if err != nil {
		return err
	}
	const row = "10.produce.interference"
	for name, d := range map[string]time.Duration{"p50": summary.P50, "p99": summary.P99, "p99.9": summary.P999, "max": summary.High} {
		l.set(row, phase+"."+name, float64(d)/float64(time.Millisecond))
	}
	l.cost(row, phase+".", from, to, set.Bytes())
	if phase == "readers" {
		return l.Ends(ctx, topic, set) // reading all of it back would be a fifth consumer
	}
	_, err = l.Consume(ctx, topic, set)
	return err
}
