package versions

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/integration/cluster"
	"tidemark/integration/faultproxy"
	"tidemark/integration/rig"
)

// TestOffsetsByTime: while a consumer catches up on a hundred partitions from a store that takes its time, every question for the offset of a
// time in a tiered segment is answered, with the right offset. How long the answers took is in the table.
func TestOffsetsByTime(t *testing.T) {
	each(t, "offsets by time while partitions catch up", ends, func(t *testing.T, version string) string {
		a := newTimes(t, version)
		read, done := a.catchUp()
		took := a.ask(400, read)
		done()
		slices.Sort(took)
		at := func(share float64) float64 { return took[int(share*float64(len(took)-1))].Seconds() * 1000 }
		return fmt.Sprintf("%d offsets by time right, p50 %.0f ms, p99 %.0f ms, slowest %.0f ms, while a consumer read %d records of %d partitions from the store",
			len(took), at(0.5), at(0.99), at(1), read.Load(), timesPartitions)
	})
}

const (
	times, timesPartitions = "times", 100
	timesRecords           = 80 // of a partition: more than a segment
	timesApart             = 10 // milliseconds
)

type offsetsByTime struct {
	*slowStore
	base int64 // time of the first record of each partition, in milliseconds
}

func newTimes(t *testing.T, version string) *offsetsByTime {
	a := &offsetsByTime{slowStore: newSlowStore(t, cluster.Options{Version: version, Heap: "768m",
		Properties: map[string]string{"rsm.config.fetch.cache.bytes": fmt.Sprint(48 << 20), "remote.fetch.max.wait.ms": "2000"}}, 10*time.Minute)}
	a.Topic(times, timesPartitions, nil)
	a.base = time.Now().Add(-time.Minute).UnixMilli()
	cl, s := a.Client(kgo.ProducerBatchCompression(kgo.NoCompression())), rig.NewSeeded(14)
	for p := range int32(timesPartitions) {
		var records []*kgo.Record
		for i := range timesRecords {
			records = append(records, &kgo.Record{Topic: times, Partition: p, Timestamp: time.UnixMilli(a.base + int64(i)*timesApart),
				Value: s.Value(16<<10, "partition %d record %d ", p, i)})
		}
		a.Produce(cl, records...)
	}
	a.TierAll(times)
	a.script(faultproxy.Rule{Name: "far", Ops: []faultproxy.Op{faultproxy.GetObject, faultproxy.GetRange}, Key: `^segments/`, Fault: faultproxy.Fault{Latency: 40 * time.Millisecond, Jitter: 20 * time.Millisecond}})
	return a
}

// catchUp reads the topic from its start, and again, until stop is called, and counts the records.
func (a *offsetsByTime) catchUp() (read *atomic.Int64, stop func()) {
	ctx, cancel := context.WithCancel(a.Ctx)
	read = &atomic.Int64{}
	from := map[int32]kgo.Offset{}
	for p := range int32(timesPartitions) {
		from[p] = kgo.NewOffset().AtStart()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			cl := a.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{times: from}))
			for pass := 0; pass < timesPartitions*timesRecords && ctx.Err() == nil; {
				n := len(cl.PollFetches(ctx).Records())
				read.Add(int64(n))
				pass += n
			}
			cl.Close()
		}
	})
	a.Eventually(time.Minute, func() error {
		if read.Load() == 0 {
			return fmt.Errorf("the consumer has read nothing from the store")
		}
		return nil
	})
	return read, func() { cancel(); wg.Wait() }
}

// ask asks for the offsets of times one after the other, at least so often and until the consumer has read the whole topic, and returns
// how long each answer took.
func (a *offsetsByTime) ask(least int, read *atomic.Int64) (took []time.Duration) {
	a.Helper()
	cl := a.Client()
	r := rand.New(rand.NewPCG(1, 2))
	for len(took) < least || read.Load() < timesPartitions*timesRecords {
		partition, want := r.Int32N(timesPartitions), r.Int64N(timesRecords)
		from := time.Now()
		got, err := a.offsetAt(cl, partition, a.base+want*timesApart)
		if err != nil || got != want {
			a.Fatalf("the offset of %d ms in partition %d is %d (%v) after %s, right is %d", want*timesApart, partition, got, err, time.Since(from), want)
		}
		took = append(took, time.Since(from))
	}
	return took
}

func (a *offsetsByTime) offsetAt(cl *kgo.Client, partition int32, at int64) (int64, error) {
	ctx, cancel := context.WithTimeout(a.Ctx, 30*time.Second) // the request timeout of Kafka's own clients
	defer cancel()
	req := kmsg.NewPtrListOffsetsRequest()
	req.TimeoutMillis = 30000
	topic, p := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, at
	topic.Topic, topic.Partitions = times, append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	answer, err := cl.Broker(1).Request(ctx, req)
	if err != nil {
		return -1, err
	}
	resp := answer.(*kmsg.ListOffsetsResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return -1, fmt.Errorf("an answer about %d topics", len(resp.Topics))
	}
	got := resp.Topics[0].Partitions[0]
	return got.Offset, kerr.ErrorForCode(got.ErrorCode)
}
