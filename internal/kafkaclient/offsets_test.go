package kafkaclient

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/status"
)

func TestOffsets(t *testing.T) {
	k, c := cluster(t, kfake.SeedTopics(1, "t"))
	ctx := testContext(t)
	for i := range 10 {
		if err := c.Produce(ctx, "t", nil, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.DeleteRecords("t", 0, 4); err != nil {
		t.Fatal(err)
	}
	start, high, stable, err := c.Offsets(ctx, "t", 0)
	if err != nil || start != 4 || high != 10 || stable != 10 {
		t.Errorf("offsets %d, %d, %d, %v", start, high, stable, err)
	}
	_, _, _, err = c.Offsets(ctx, "absent", 0)
	wantClass(t, err, status.NotFound, "absent-0")
}

// answerEpoch makes the leader answer LeaderEpochEnd with what is given.
func answerEpoch(k *kfake.Cluster, code int16, epoch int32, end int64) {
	k.ControlKey(int16(kmsg.OffsetForLeaderEpoch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req := kreq.(*kmsg.OffsetForLeaderEpochRequest)
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
		p.Partition, p.ErrorCode, p.LeaderEpoch, p.EndOffset = req.Topics[0].Partitions[0].Partition, code, epoch, end
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic, rt.Partitions = req.Topics[0].Topic, append(rt.Partitions, p)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
}

func TestLineage(t *testing.T) {
	k, c := cluster(t, kfake.SeedTopics(1, "t"))
	ctx := testContext(t)
	for name, tc := range map[string]struct {
		code           int16
		epoch          int32
		end            int64
		onChain, known bool
	}{
		"same epoch, end above":     {0, 5, 101, true, true},
		"same epoch, end exactly":   {0, 5, 100, true, true},
		"same epoch, end below":     {0, 5, 99, false, true},
		"an older epoch":            {0, 4, 200, false, true},
		"undefined":                 {0, -1, -1, false, false},
		"a leader that is not sure": {kerr.FencedLeaderEpoch.Code, -1, -1, false, false},
	} {
		answerEpoch(k, tc.code, tc.epoch, tc.end)
		onChain, known, err := c.Lineage(ctx, "t", 0, 100, 5)
		if err != nil || known != tc.known || known && onChain != tc.onChain {
			t.Errorf("%s: on chain %v, known %v, %v", name, onChain, known, err)
		}
	}
	if _, known, err := c.Lineage(ctx, "t", 0, 100, -1); known || err != nil {
		t.Errorf("a batch without an epoch: known %v, %v", known, err)
	}
	_, _, err := c.Lineage(ctx, "absent", 0, 100, 5)
	wantClass(t, err, status.NotFound)
}

func TestLeaderEpochEnd(t *testing.T) {
	k, c := cluster(t, kfake.SeedTopics(1, "t"))
	ctx := testContext(t)
	for range 3 {
		if err := c.Produce(ctx, "t", nil, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	epoch := k.PartitionInfo("t", 0).Epoch
	found, end, err := c.LeaderEpochEnd(ctx, "t", 0, -1, epoch)
	if err != nil || found != epoch || end != 3 {
		t.Errorf("epoch %d ends at %d, %v", found, end, err)
	}
	found, end, err = c.LeaderEpochEnd(ctx, "t", 0, -1, epoch+7)
	if err != nil || found != -1 || end != -1 {
		t.Errorf("an epoch to come: %d ends at %d, %v", found, end, err)
	}
}
