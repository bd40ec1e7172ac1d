package kafkaclient

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"tidemark/internal/status"
)

func TestEnsureTopic(t *testing.T) {
	k, c := cluster(t)
	ctx := testContext(t)
	for range 2 { // the second time it exists
		if err := c.EnsureTopic(ctx, "__tidemark_tables", 1, 2, map[string]string{"min.insync.replicas": "1"}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := c.DescribeTopic(ctx, "__tidemark_tables")
	if err != nil {
		t.Fatal(err)
	}
	if info.Partitions != 1 || info.Config["cleanup.policy"] != "compact" || info.Config["min.insync.replicas"] != "1" {
		t.Errorf("created %+v", info)
	}
	if err := k.CreateTopic("deleting", 1, map[string]string{"cleanup.policy": "compact,delete"}); err != nil {
		t.Fatal(err)
	}
	wantClass(t, c.EnsureTopic(ctx, "deleting", 1, 1, nil), status.Invalid, "deleting", "cleanup.policy=compact,delete")
	wantClass(t, c.EnsureTopic(ctx, "three", 1, 3, nil), status.Invalid, "three", "replication factor 3", "cluster has 2",
		"rsm.config.tables.topic.replication.factor")
	if _, err := c.DescribeTopic(ctx, "three"); !status.Is(err, status.NotFound) {
		t.Errorf("a refused topic: %v", err)
	}
}

func TestDescribeTopic(t *testing.T) {
	k, c := cluster(t, kfake.SeedTopics(3, "a"))
	ctx := testContext(t)
	if err := k.CreateTopic("b", 2, map[string]string{"retention.ms": "1234"}); err != nil {
		t.Fatal(err)
	}
	b, err := c.DescribeTopic(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	if b.Name != "b" || b.Partitions != 2 || b.ID == ([16]byte{}) || b.Config["retention.ms"] != "1234" || b.Config["cleanup.policy"] != "delete" {
		t.Errorf("%+v", b)
	}
	byID, err := c.TopicByID(ctx, b.ID)
	if err != nil || byID.Name != "b" || byID.Partitions != 2 || byID.Config["retention.ms"] != "1234" {
		t.Errorf("by id: %+v, %v", byID, err)
	}
	all, err := c.Topics(ctx)
	if err != nil || len(all) != 2 || all[0].Name != "a" || all[0].Partitions != 3 || all[1].ID != b.ID {
		t.Errorf("all: %+v, %v", all, err)
	}
	_, err = c.DescribeTopic(ctx, "absent")
	wantClass(t, err, status.NotFound, "absent")
	_, err = c.TopicByID(ctx, [16]byte{1, 2, 3})
	wantClass(t, err, status.NotFound, idText([16]byte{1, 2, 3}))

	// The same name again is another topic.
	if err := k.DeleteTopic("b"); err != nil {
		t.Fatal(err)
	}
	if err := k.CreateTopic("b", 1, nil); err != nil {
		t.Fatal(err)
	}
	_, err = c.TopicByID(ctx, b.ID)
	wantClass(t, err, status.NotFound)
}

func TestTopicID(t *testing.T) {
	_, c := cluster(t, kfake.SeedTopics(1, "t"))
	ctx := testContext(t)
	info, err := c.DescribeTopic(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := c.TopicID(ctx, "t"); err != nil || id != info.ID {
		t.Errorf("%x, %v", id, err)
	}
	_, err = c.TopicID(ctx, "absent")
	wantClass(t, err, status.NotFound, "absent")
}
