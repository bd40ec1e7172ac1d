package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/broker"
	"tidemark/bench/measure"
	"tidemark/bench/workload"
)

// The topics of a life.
const (
	warmTopic   = "warm"
	bulkTopic   = "bulk"
	steadyTopic = "steady"
)

// sets are the records of a run, the same in every life.
type sets struct{ warm, bulk, steady, follower *workload.Set }

const (
	steadyPartitions = 3 // one of each kind of data
	steadySkip       = 2 // seconds whose latencies are not counted
)

func newSets(o options) (s sets, err error) {
	if s.warm, err = workload.New(1, o.partitions, o.warm); err != nil {
		return s, err
	}
	if s.bulk, err = workload.New(2, o.partitions, o.size); err != nil {
		return s, err
	}
	if s.follower, err = workload.New(8, followerParts, max(o.size/4, 3<<20)); err != nil {
		return s, err
	}
	s.steady, err = workload.NewEven(3, steadyPartitions, int64(o.rate*(o.seconds+steadySkip)/steadyPartitions))
	return s, err
}

// values are numbers of one life by row and metric.
type values map[[2]string]float64

func (v values) set(row, metric string, n float64) { v[[2]string{row, metric}] = n }

// step is a part of a life. Its numbers count only when it returns without an error, which means that every check in it passed.
type step struct {
	name      string
	rows      []string
	essential bool // the life ends when it fails
	limit     time.Duration
	do        func(*life, context.Context, sets) (values, error)
}

var steps = []step{
	{"warm-up", nil, true, 3 * time.Minute, (*life).warmUp},
	{"bulk", []string{"produce.rate", "consume.hot"}, true, 4 * time.Minute, (*life).bulk},
	{"steady", []string{"produce.p99"}, false, 3 * time.Minute, (*life).steady},
	{"cold", []string{"consume.cold"}, false, 4 * time.Minute, (*life).cold},
	{"memory", []string{"rss"}, false, time.Minute, (*life).memory},
	{"restart", []string{"restart"}, false, 3 * time.Minute, (*life).restart},
}

// cost adds the costs of a row between two readings: bytes of keys and values, in GB of 10^9.
func cost(v values, row string, from, to broker.Clock, bytes int64) {
	gb := float64(bytes) / 1e9
	v.set(row, "broker.cpu", (to.Broker-from.Broker).Seconds()/gb)
	v.set(row, "client.cpu", (to.Client-from.Client).Seconds()/gb)
}

func rate(bytes int64, from, to broker.Clock) float64 {
	return float64(bytes) / 1e6 / to.At.Sub(from.At).Seconds()
}

// warmUp takes every path once, so that the JIT compiler has seen it: produce, copy, read locally, read what cold reads.
func (l *life) warmUp(ctx context.Context, s sets) (values, error) {
	if _, err := l.produce(ctx, warmTopic, s.warm, l.segment/4); err != nil {
		return nil, err
	}
	if _, err := l.Consume(ctx, warmTopic, s.warm); err != nil {
		return nil, err
	}
	if l.tiered {
		if err := l.Empty(ctx, warmTopic); err != nil {
			return nil, err
		}
	}
	for range 3 {
		if _, err := l.Consume(ctx, warmTopic, s.warm); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// produce creates a topic and fills it, until its closed segments are in the store.
func (l *life) produce(ctx context.Context, topic string, set *workload.Set, segment int64) (broker.Span, error) {
	if err := l.Topic(ctx, topic, set.Partitions(), segment, true); err != nil {
		return broker.Span{}, err
	}
	return l.Produce(ctx, topic, set, true)
}

// bulk produces at full speed and reads back what is still on the broker's disk and in the page cache.
func (l *life) bulk(ctx context.Context, s sets) (values, error) {
	v := values{}
	p, err := l.produce(ctx, bulkTopic, s.bulk, l.segment)
	if err != nil {
		return nil, err
	}
	v.set("produce.rate", "rate", rate(s.bulk.Bytes(), p.From, p.Acked))
	cost(v, "produce.rate", p.From, p.Settled, s.bulk.Bytes())
	if l.tiered {
		v.set("produce.rate", "copy.lag", p.Settled.At.Sub(p.Acked.At).Seconds())
	}
	c, err := l.Consume(ctx, bulkTopic, s.bulk)
	if err != nil {
		return nil, err
	}
	v.set("consume.hot", "rate", rate(s.bulk.Bytes(), c.From, c.Acked))
	cost(v, "consume.hot", c.From, c.Acked, s.bulk.Bytes())
	return v, nil
}

// steady produces at a fixed rate, open loop, while segments close and are copied.
func (l *life) steady(ctx context.Context, s sets) (values, error) {
	if err := l.Topic(ctx, steadyTopic, s.steady.Partitions(), l.segment/4, true); err != nil {
		return nil, err
	}
	cl, err := broker.Open(ctx, l.Cluster.Bootstrap(), kgo.ProducerBatchCompression(codecs[l.codec]), kgo.ProducerLinger(broker.SteadyLinger),
		kgo.MaxBufferedRecords(1<<20))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	from, err := l.Clock()
	if err != nil {
		return nil, err
	}
	summary, err := broker.ProduceSteadily(ctx, cl, steadyTopic, s.steady, l.rate, l.rate*steadySkip)
	if err != nil {
		return nil, err
	}
	to, err := l.Clock()
	if err != nil {
		return nil, err
	}
	v := values{}
	for name, d := range map[string]time.Duration{"p50": summary.P50, "p99": summary.P99, "p99.9": summary.P999, "max": summary.High} {
		v.set("produce.p99", name, float64(d)/float64(time.Millisecond))
	}
	cost(v, "produce.p99", from, to, s.steady.Bytes())
	_, err = l.Consume(ctx, steadyTopic, s.steady)
	return v, err
}

// cold reads the bulk topic from where it lies when it is old: the store on our side, the local disk on the other, both out of the page cache.
func (l *life) cold(ctx context.Context, s sets) (values, error) {
	if l.tiered {
		if err := l.Empty(ctx, bulkTopic); err != nil {
			return nil, err
		}
	}
	dropped, err := l.DropCache(bulkTopic)
	if err != nil {
		return nil, err
	}
	if dropped.Files == 0 {
		return nil, fmt.Errorf("no file of the topic was found to drop from the page cache")
	}
	left := fmt.Sprintf("%.1f MB stayed cached", float64(dropped.Left)/1e6)
	if dropped.Left < 0 {
		left = "this kernel does not say how much stayed cached"
	}
	l.notes.cold = fmt.Sprintf("%d files, %.1f MB dropped from the page cache, %s", dropped.Files, float64(dropped.Bytes)/1e6, left)
	c, err := l.Consume(ctx, bulkTopic, s.bulk)
	if err != nil {
		return nil, err
	}
	v := values{}
	v.set("consume.cold", "rate", rate(s.bulk.Bytes(), c.From, c.Acked))
	cost(v, "consume.cold", c.From, c.Acked, s.bulk.Bytes())
	return v, nil
}

// memory reads what the load has left resident.
func (l *life) memory(context.Context, sets) (values, error) {
	m, err := measure.MemoryOf(l.Node.PID())
	v := values{}
	v.set("rss", "after.load", float64(m.RSS)/(1<<20))
	v.set("rss", "peak", float64(m.Peak)/(1<<20))
	return v, err
}

// restart stops the broker cleanly, starts it and reads a record again.
func (l *life) restart(ctx context.Context, s sets) (values, error) {
	l.Disconnect()
	from := time.Now()
	if !l.Node.Stop(2 * time.Minute) {
		return nil, fmt.Errorf("the broker did not end within two minutes of SIGTERM:\n%s", l.Node.LogTail(20))
	}
	stopped := time.Now()
	if err := l.Node.Start(ctx); err != nil {
		return nil, err
	}
	started := time.Now()
	cpu, err := measure.CPUOf(l.Node.PID())
	if err != nil {
		return nil, err
	}
	if err := l.firstRecord(ctx, s.bulk); err != nil {
		return nil, err
	}
	v := values{}
	v.set("restart", "total", started.Sub(from).Seconds())
	v.set("restart", "stop", stopped.Sub(from).Seconds())
	v.set("restart", "start", started.Sub(stopped).Seconds())
	v.set("restart", "start.cpu", cpu.Total().Seconds())
	v.set("restart", "first.record", time.Since(from).Seconds())
	if err := l.Connect(ctx); err != nil {
		return nil, err
	}
	return v, l.Ends(ctx, bulkTopic, s.bulk)
}

// firstRecord reads until the record at offset 0 of partition 0 has come.
func (l *life) firstRecord(ctx context.Context, set *workload.Set) error {
	cl, err := broker.Consumer(ctx, l.Cluster.Bootstrap(), bulkTopic, 1, l.PerPartition)
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		fetches := cl.PollRecords(ctx, 1)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("no record came after the restart: %w", err)
		}
		for _, r := range fetches.Records() {
			return set.Checker().Take(r.Partition, r.Offset, r.Key, r.Value)
		}
	}
}
