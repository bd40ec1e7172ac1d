package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

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
type sets struct{ warm, bulk, steady *workload.Set }

const (
	steadyPartitions = 3 // one of each kind of data
	steadySkip       = 2 // seconds whose latencies are not counted
	settle           = 2 * time.Second
)

func newSets(o options) (s sets, err error) {
	if s.warm, err = workload.New(1, o.partitions, o.warm); err != nil {
		return s, err
	}
	if s.bulk, err = workload.New(2, o.partitions, o.size); err != nil {
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

// clock is a reading of both processes.
type clock struct {
	at             time.Time
	broker, client time.Duration
}

func (l *life) clock() (clock, error) {
	c, err := measure.CPUOf(l.node.PID())
	return clock{at: time.Now(), broker: c.Total(), client: measure.OwnCPU()}, err
}

// cost adds the costs of a row between two readings: bytes of keys and values, in GB of 10^9.
func cost(v values, row string, from, to clock, bytes int64) {
	gb := float64(bytes) / 1e9
	v.set(row, "broker.cpu", (to.broker-from.broker).Seconds()/gb)
	v.set(row, "client.cpu", (to.client-from.client).Seconds()/gb)
}

func rate(bytes int64, from, to clock) float64 {
	return float64(bytes) / 1e6 / to.at.Sub(from.at).Seconds()
}

// warmUp takes every path once, so that the JIT compiler has seen it: produce, copy, read locally, read what cold reads.
func (l *life) warmUp(ctx context.Context, s sets) (values, error) {
	if _, err := l.produce(ctx, warmTopic, s.warm, l.segment/4); err != nil {
		return nil, err
	}
	if _, err := l.consume(ctx, warmTopic, s.warm); err != nil {
		return nil, err
	}
	if l.tiered {
		if err := l.empty(ctx, warmTopic); err != nil {
			return nil, err
		}
	}
	_, err := l.consume(ctx, warmTopic, s.warm)
	return nil, err
}

// span is what lies between two readings.
type span struct{ from, acked, settled clock }

// produce creates a topic and fills it. settled is when its closed segments are in the store as well, and not before both sides have waited
// the same short while.
func (l *life) produce(ctx context.Context, topic string, set *workload.Set, segment int64) (s span, err error) {
	if err := l.topic(ctx, topic, set.Partitions(), segment); err != nil {
		return s, err
	}
	cl, err := open(ctx, l.cluster.Bootstrap(), kgo.ProducerBatchCompression(codecs[l.codec]), kgo.ProducerLinger(bulkLinger),
		kgo.MaxBufferedBytes(bufferedBytes), kgo.MaxBufferedRecords(1<<20))
	if err != nil {
		return s, err
	}
	defer cl.Close()
	if s.from, err = l.clock(); err != nil {
		return s, err
	}
	if err := produceAll(ctx, cl, topic, set); err != nil {
		return s, err
	}
	if s.acked, err = l.clock(); err != nil {
		return s, err
	}
	if l.tiered {
		if err := l.awaitTiered(ctx, topic); err != nil {
			return s, err
		}
	}
	s.settled, err = l.clock()
	if wait := settle - s.settled.at.Sub(s.acked.at); err == nil && wait > 0 {
		time.Sleep(wait)
		at := s.settled.at
		s.settled, err = l.clock()
		s.settled.at = at // the work was done by then, only CPU time is counted for longer
	}
	return s, err
}

// consume reads a topic back and compares it.
func (l *life) consume(ctx context.Context, topic string, set *workload.Set) (s span, err error) {
	cl, err := consumer(ctx, l.cluster.Bootstrap(), topic, set.Partitions(), l.perPartition)
	if err != nil {
		return s, err
	}
	defer cl.Close()
	if s.from, err = l.clock(); err != nil {
		return s, err
	}
	if err := consumeAll(ctx, cl, set); err != nil {
		return s, err
	}
	if s.acked, err = l.clock(); err != nil {
		return s, err
	}
	return s, l.ends(ctx, topic, set)
}

// bulk produces at full speed and reads back what is still on the broker's disk and in the page cache.
func (l *life) bulk(ctx context.Context, s sets) (values, error) {
	v := values{}
	p, err := l.produce(ctx, bulkTopic, s.bulk, l.segment)
	if err != nil {
		return nil, err
	}
	v.set("produce.rate", "rate", rate(s.bulk.Bytes(), p.from, p.acked))
	cost(v, "produce.rate", p.from, p.settled, s.bulk.Bytes())
	if l.tiered {
		v.set("produce.rate", "copy.lag", p.settled.at.Sub(p.acked.at).Seconds())
	}
	c, err := l.consume(ctx, bulkTopic, s.bulk)
	if err != nil {
		return nil, err
	}
	v.set("consume.hot", "rate", rate(s.bulk.Bytes(), c.from, c.acked))
	cost(v, "consume.hot", c.from, c.acked, s.bulk.Bytes())
	return v, nil
}

// steady produces at a fixed rate, open loop, while segments close and are copied.
func (l *life) steady(ctx context.Context, s sets) (values, error) {
	if err := l.topic(ctx, steadyTopic, s.steady.Partitions(), l.segment/4); err != nil {
		return nil, err
	}
	cl, err := open(ctx, l.cluster.Bootstrap(), kgo.ProducerBatchCompression(codecs[l.codec]), kgo.ProducerLinger(steadyLinger),
		kgo.MaxBufferedRecords(1<<20))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	from, err := l.clock()
	if err != nil {
		return nil, err
	}
	summary, err := produceSteadily(ctx, cl, steadyTopic, s.steady, l.rate, l.rate*steadySkip)
	if err != nil {
		return nil, err
	}
	to, err := l.clock()
	if err != nil {
		return nil, err
	}
	v := values{}
	for name, d := range map[string]time.Duration{"p50": summary.P50, "p99": summary.P99, "p99.9": summary.P999, "max": summary.High} {
		v.set("produce.p99", name, float64(d)/float64(time.Millisecond))
	}
	cost(v, "produce.p99", from, to, s.steady.Bytes())
	_, err = l.consume(ctx, steadyTopic, s.steady)
	return v, err
}

// cold reads the bulk topic from where it lies when it is old: the store on our side, the local disk on the other, both out of the page cache.
func (l *life) cold(ctx context.Context, s sets) (values, error) {
	if l.tiered {
		if err := l.empty(ctx, bulkTopic); err != nil {
			return nil, err
		}
	}
	dropped, err := l.dropCache(bulkTopic)
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
	c, err := l.consume(ctx, bulkTopic, s.bulk)
	if err != nil {
		return nil, err
	}
	v := values{}
	v.set("consume.cold", "rate", rate(s.bulk.Bytes(), c.from, c.acked))
	cost(v, "consume.cold", c.from, c.acked, s.bulk.Bytes())
	return v, nil
}

// memory reads what the load has left resident.
func (l *life) memory(context.Context, sets) (values, error) {
	m, err := measure.MemoryOf(l.node.PID())
	v := values{}
	v.set("rss", "after.load", float64(m.RSS)/(1<<20))
	v.set("rss", "peak", float64(m.Peak)/(1<<20))
	return v, err
}

// restart stops the broker cleanly, starts it and reads a record again.
func (l *life) restart(ctx context.Context, s sets) (values, error) {
	l.disconnect()
	from := time.Now()
	if !l.node.Stop(2 * time.Minute) {
		return nil, fmt.Errorf("the broker did not end within two minutes of SIGTERM:\n%s", l.node.LogTail(20))
	}
	stopped := time.Now()
	if err := l.node.Start(ctx); err != nil {
		return nil, err
	}
	started := time.Now()
	cpu, err := measure.CPUOf(l.node.PID())
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
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	return v, l.ends(ctx, bulkTopic, s.bulk)
}

// firstRecord reads until the record at offset 0 of partition 0 has come.
func (l *life) firstRecord(ctx context.Context, set *workload.Set) error {
	cl, err := consumer(ctx, l.cluster.Bootstrap(), bulkTopic, 1, l.perPartition)
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
