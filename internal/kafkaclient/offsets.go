package kafkaclient

import (
	"context"
	"encoding/base64"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/status"
)

// Special timestamps of a ListOffsets request, and its isolation levels.
const (
	latest      = -1
	earliest    = -2
	uncommitted = int8(0)
	committed   = int8(1)
)

// Offsets are the bounds of a partition as its leader sees them: the first offset (tiered ones included), the high watermark
// and the last stable offset, both exclusive. They are asked for one after the other: each is right at its own time.
func (c *Client) Offsets(ctx context.Context, topic string, partition int32) (logStart, highWatermark, lastStable int64, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if logStart, err = listOffset(ctx, c.cl, topic, partition, earliest, uncommitted); err != nil {
		return 0, 0, 0, err
	}
	if lastStable, err = listOffset(ctx, c.cl, topic, partition, latest, committed); err != nil {
		return 0, 0, 0, err
	}
	highWatermark, err = listOffset(ctx, c.cl, topic, partition, latest, uncommitted)
	return logStart, highWatermark, lastStable, err
}

func listOffset(ctx context.Context, cl *kgo.Client, topic string, partition int32, at int64, isolation int8) (int64, error) {
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = partition, at
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel, req.Topics = -1, isolation, append(req.Topics, t)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return 0, classify(err, "offsets of %s-%d", topic, partition)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, status.Errorf(status.Internal, "offsets of %s-%d: the answer is not about one partition", topic, partition)
	}
	answer := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return 0, classify(err, "offsets of %s-%d", topic, partition)
	}
	return answer.Offset, nil
}

// LeaderEpochEnd asks the leader of the partition for the end of epoch: the largest epoch it knows that is not above the one
// asked for, and the exclusive end offset of that epoch in its log; -1 and -1 when it knows none (KIP-101, KIP-320).
// currentLeaderEpoch -1 means whoever leads; another value makes a leader of another epoch refuse as Transient.
func (c *Client) LeaderEpochEnd(ctx context.Context, topic string, partition, currentLeaderEpoch, epoch int32) (epochFound int32, endOffset int64, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = partition, currentLeaderEpoch, epoch
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, p)
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID, req.Topics = -1, append(req.Topics, t)
	resp, err := req.RequestWith(ctx, c.cl)
	if err != nil {
		return 0, 0, classify(err, "end of leader epoch %d of %s-%d", epoch, topic, partition)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, 0, status.Errorf(status.Internal, "end of leader epoch of %s-%d: the answer is not about one partition", topic, partition)
	}
	answer := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return 0, 0, classify(err, "end of leader epoch %d of %s-%d", epoch, topic, partition)
	}
	return answer.LeaderEpoch, answer.EndOffset, nil
}

// Lineage tells whether records up to offset (exclusive), the last of which carries batchEpoch, are on the leader-epoch
// chain of the partition: they are iff the leader has that epoch and its end is not below offset. known is false when no leader
// answered or it does not know the epoch, whatever the reason; onChain then means nothing.
// Errors: NotFound when the topic is gone, Cancelled, Closed, and what no retry cures.
func (c *Client) Lineage(ctx context.Context, topic string, partition int32, offset int64, batchEpoch int32) (onChain, known bool, err error) {
	if batchEpoch < 0 {
		return false, false, nil
	}
	found, end, err := c.LeaderEpochEnd(ctx, topic, partition, -1, batchEpoch)
	if err != nil {
		if status.Of(err).Retryable() {
			c.cfg.Log.Debug("lineage.unknown", "topic", topic, "partition", partition, "epoch", batchEpoch, "error", err)
			return false, false, nil
		}
		return false, false, err
	}
	if found < 0 || end < 0 {
		return false, false, nil
	}
	return found == batchEpoch && end >= offset, true, nil
}

// idText is a topic id as Kafka prints it.
func idText(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }
