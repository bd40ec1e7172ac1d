package tables

import (
	"context"
	"sync"
	"time"

	"tidemark/catalog"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/status"
)

// nameTime is how long an answer to whose topic a name is serves the questions about its partitions: those of one commit.
const nameTime = 2 * time.Second

// name remembers whose topic a name is.
type name struct {
	mu sync.Mutex
	at time.Time // of the answer
	id catalog.TopicID
	ok bool // there is such a topic
}

// is reports whether the name is that of a topic, with one request for all who ask at the same time. A topic that is made anew
// meanwhile is no harm: of the one before every answer is that it is on the chain, and any other answer is asked for again.
func (n *name) is(ctx context.Context, kafka *kafkaclient.Client, topic string, id catalog.TopicID) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.at) >= nameTime {
		found, err := kafka.TopicID(ctx, topic)
		if err != nil && !status.Is(err, status.NotFound) {
			return false, err
		}
		n.at, n.id, n.ok = time.Now(), found, err == nil
	}
	return n.ok && n.id == id, nil
}

// Lineage answers whether an end of covered offsets is on the partition's leader-epoch chain. A topic that is gone has no
// leader to ask: what its last leader tiered is final.
func (t *Tables) Lineage(ctx context.Context, topicID catalog.TopicID, partition int32, offset int64, batchEpoch int32) catalog.Lineage {
	t.mu.Lock()
	kafka, e := t.kafka, t.entries[topicID]
	var topic string
	if e != nil {
		topic = e.def.Topic
	}
	t.mu.Unlock()
	if kafka == nil || e == nil {
		return catalog.NotKnown
	}
	there, err := e.name.is(ctx, kafka, topic, topicID)
	switch {
	case err != nil:
		return catalog.NotKnown
	case !there:
		return catalog.OnChain
	case offset == 0 || batchEpoch < 0:
		return catalog.OnChain // nothing is covered yet
	}
	on, known, err := kafka.Lineage(ctx, topic, partition, offset, batchEpoch)
	switch {
	case err != nil || !known:
		return catalog.NotKnown
	case on:
		return catalog.OnChain
	}
	return catalog.OffChain
}
