package kafkaclient

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/status"
)

const (
	fetchBytes = 4 << 20                // of one partition in one answer; a larger batch comes alone
	fetchWait  = 500 * time.Millisecond // how long a leader holds a fetch that finds nothing
	fetchGrace = CallTimeout            // beyond fetchWait, for the network and for remote storage
)

// fetcher fetches from the leaders of one topic. It belongs to one goroutine.
type fetcher struct {
	cl        *kgo.Client
	topic     string
	isolation kgo.IsolationLevel
	level     int8
	id        [16]byte
	leaders   []int32 // by partition; -1 = none
}

// fetched is what one partition answered.
type fetched struct {
	records []*kgo.Record
	next    int64 // where to go on; unlike the records it moves over empty, control and aborted batches too
	err     error
}

// refresh learns id and leaders. It reports whether the topic is another than before.
func (f *fetcher) refresh(ctx context.Context) (renewed bool, err error) {
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(f.topic)
	found, err := topicMetadata(ctx, f.cl, []kmsg.MetadataRequestTopic{t}, "topic "+f.topic)
	if err != nil {
		return false, err
	}
	leaders := make([]int32, len(found[0].Partitions))
	for i := range leaders {
		leaders[i] = -1
	}
	for _, p := range found[0].Partitions {
		if int(p.Partition) >= len(leaders) || p.Partition < 0 {
			return false, status.Errorf(status.Transient, "metadata of topic %s lacks partitions", f.topic)
		}
		if p.ErrorCode == 0 || kerr.ErrorForCode(p.ErrorCode) == kerr.ReplicaNotAvailable {
			leaders[p.Partition] = p.Leader
		}
	}
	renewed = f.id != found[0].TopicID
	f.id, f.leaders = found[0].TopicID, leaders
	return renewed, nil
}

// fetch asks one leader for its partitions from the offsets of at. Errors of single partitions are in the result.
func (f *fetcher) fetch(ctx context.Context, leader int32, at map[int32]int64, wait time.Duration) (map[int32]fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+fetchGrace)
	defer cancel()
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes = -1, int32(wait.Milliseconds()), 1, fetchBytes
	req.IsolationLevel, req.SessionEpoch = f.level, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = f.topic, f.id
	for partition, offset := range at {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, fetchBytes
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	answer, err := f.cl.Broker(int(leader)).RetriableRequest(ctx, req)
	if err != nil {
		return nil, classify(err, "fetch from topic %s at broker %d", f.topic, leader)
	}
	resp, ok := answer.(*kmsg.FetchResponse)
	if !ok {
		return nil, status.Errorf(status.Internal, "fetch from topic %s: the answer is a %T", f.topic, answer)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, classify(err, "fetch from topic %s at broker %d", f.topic, leader)
	}
	out := make(map[int32]fetched, len(at))
	for _, rt := range resp.Topics {
		for i := range rt.Partitions {
			rp := &rt.Partitions[i]
			if offset, asked := at[rp.Partition]; asked {
				out[rp.Partition] = f.decode(rp, offset)
			}
		}
	}
	return out, nil
}

func (f *fetcher) decode(rp *kmsg.FetchResponseTopicPartition, offset int64) fetched {
	if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
		return fetched{next: offset, err: classify(err, "fetch from %s-%d at offset %d", f.topic, rp.Partition, offset)}
	}
	opts := kgo.ProcessFetchPartitionOpts{Offset: offset, IsolationLevel: f.isolation, Topic: f.topic, Partition: rp.Partition}
	fp, next := kgo.ProcessFetchPartition(opts, rp, kgo.DefaultDecompressor(), nil)
	if fp.Err != nil {
		return fetched{next: offset, err: status.Errorf(status.Corrupt, "records of %s-%d from offset %d: %w", f.topic, rp.Partition, offset, fp.Err)}
	}
	return fetched{records: fp.Records, next: next}
}
