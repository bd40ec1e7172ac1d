package assemble

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"tidemark/cgo/dispatch"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/status"

	"github.com/twmb/franz-go/pkg/kfake"
)

func TestTruthAsksTheCluster(t *testing.T) {
	k, err := kfake.NewCluster(kfake.NumBrokers(2))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if err := k.CreateTopic("there", 1, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := slog.New(slog.DiscardHandler)
	c, err := kafkaclient.Open(kafkaclient.Config{Bootstrap: k.ListenAddrs()[0], ClientID: "test", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	id, err := c.TopicID(ctx, "there")
	if err != nil {
		t.Fatal(err)
	}
	for node, want := range map[int32]bool{0: true, 1: false} {
		tr := newTruth(node, log)
		if yes, err := tr.Responsible(ctx); yes || err != nil {
			t.Errorf("without a listener: %v, %v", yes, err)
		}
		if _, err := tr.TopicExists(ctx, id); err == nil {
			t.Error("a topic of an unknown cluster is judged")
		}
		tr.facts(dispatch.FactsRequest{ClusterID: "c", Bootstrap: k.ListenAddrs()[0], SecurityProtocol: "PLAINTEXT"})
		if yes, err := tr.Responsible(ctx); yes != want || err != nil {
			t.Errorf("node %d: %v, %v", node, yes, err)
		}
		if yes, err := tr.TopicExists(ctx, id); !yes || err != nil {
			t.Errorf("a topic that is there: %v, %v", yes, err)
		}
		if yes, err := tr.TopicExists(ctx, [16]byte{1, 2, 3}); yes || err != nil {
			t.Errorf("a topic that is not there: %v, %v", yes, err)
		}
		tr.close()
		if _, err := tr.TopicExists(ctx, id); !status.Is(err, status.Closed) {
			t.Errorf("after close: %v", err)
		}
	}
}

// TestTruthDoesNotGuess: errors, late answers and lost leadership are errors.
func TestTruthDoesNotGuess(t *testing.T) {
	tr := newTruth(1, slog.New(slog.DiscardHandler))
	topicID, ids := [16]byte{1}, [][16]byte{{2}}
	if _, err := tr.States(t.Context(), topicID, 0, ids); err == nil {
		t.Error("a partition that is not led is judged")
	}
	tr.leadership(dispatch.LeadershipRequest{Leaders: []dispatch.TopicPartition{{TopicID: topicID, Topic: "t"}}})
	if !tr.Knows(topicID, 0) || tr.Knows(topicID, 1) {
		t.Error("what is led")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := tr.States(ended, topicID, 0, ids); err == nil {
		t.Error("no answer is an answer")
	}
	late := tr.questions()
	if len(late) != 1 || len(tr.questions()) != 0 || late[0].Partition.Topic != "t" {
		t.Fatalf("questions %+v", late)
	}
	tr.answered(dispatch.StatesRequest{Ticket: late[0].Ticket, States: []int8{-1}}) // nobody waits
	tr.leadership(dispatch.LeadershipRequest{Stopped: []dispatch.TopicPartition{{TopicID: topicID, Topic: "t"}}})
	if tr.Knows(topicID, 0) {
		t.Error("a stopped partition is led")
	}
}
