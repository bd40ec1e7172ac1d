package assemble

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"tidemark/cgo/dispatch"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/status"
	"tidemark/remotestorage/reclaim/sweep"
)

// answerTime is how long the metadata manager may take for an answer: it polls once a second, and waits up to 20 s for a record of its
// own.
const answerTime = 45 * time.Second

// truth is what the metadata manager of this broker knows, asked over the boundary, and what the cluster says of its topics.
type truth struct {
	nodeID int32
	log    *slog.Logger

	mu        sync.Mutex
	led       map[ledKey]string // name of the topic
	asked     []dispatch.StatesWanted
	waiting   map[int64]chan dispatch.StatesRequest
	ticket    int64
	cluster   string
	bootstrap string // "" = none that can be spoken to
	client    *kafkaclient.Client
	closed    bool
}

type ledKey struct {
	topicID   [16]byte
	partition int32
}

func newTruth(nodeID int32, log *slog.Logger) *truth {
	return &truth{nodeID: nodeID, log: log, led: map[ledKey]string{}, waiting: map[int64]chan dispatch.StatesRequest{}}
}

// leadership takes levels.
func (t *truth) leadership(req dispatch.LeadershipRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range req.Leaders {
		t.led[ledKey{p.TopicID, p.Partition}] = p.Topic
	}
	for _, list := range [][]dispatch.TopicPartition{req.Followers, req.Stopped} {
		for _, p := range list {
			delete(t.led, ledKey{p.TopicID, p.Partition})
		}
	}
}

func (t *truth) facts(req dispatch.FactsRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cluster, t.bootstrap = req.ClusterID, req.Bootstrap
	if req.SecurityProtocol != "" && req.SecurityProtocol != "PLAINTEXT" {
		t.bootstrap = ""
	}
}

func (t *truth) clusterID() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cluster
}

// questions are those that were not handed out yet.
func (t *truth) questions() []dispatch.StatesWanted {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := t.asked
	t.asked = nil
	return asked
}

// answered takes an answer. One that nobody waits for any more is dropped.
func (t *truth) answered(req dispatch.StatesRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ch := t.waiting[req.Ticket]; ch != nil {
		delete(t.waiting, req.Ticket)
		ch <- req // has room for the one answer
	}
}

// Knows reports whether this broker leads the partition.
func (t *truth) Knows(topicID [16]byte, partition int32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.led[ledKey{topicID, partition}]
	return ok
}

func (t *truth) ask(ctx context.Context, topicID [16]byte, partition int32, ids [][16]byte, giveUp bool) (dispatch.StatesRequest, error) {
	t.mu.Lock()
	name, ok := t.led[ledKey{topicID, partition}]
	if !ok {
		t.mu.Unlock()
		return dispatch.StatesRequest{}, status.Errorf(status.Transient, "this broker does not lead the partition any more")
	}
	t.ticket++
	ticket, ch := t.ticket, make(chan dispatch.StatesRequest, 1)
	t.waiting[ticket] = ch
	t.asked = append(t.asked, dispatch.StatesWanted{Partition: dispatch.TopicPartition{TopicID: topicID, Topic: name, Partition: partition}, Ticket: ticket, Segments: ids, GiveUp: giveUp})
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	select {
	case answer := <-ch:
		if answer.Error != "" {
			return answer, status.Errorf(status.Transient, "remote log metadata of %s-%d: %s", name, partition, answer.Error)
		}
		return answer, nil
	case <-ctx.Done():
		t.mu.Lock()
		delete(t.waiting, ticket)
		// One that was not handed out yet must not be: by then other things may be true than those it was judged by.
		t.asked = slices.DeleteFunc(t.asked, func(w dispatch.StatesWanted) bool { return w.Ticket == ticket })
		t.mu.Unlock()
		return dispatch.StatesRequest{}, status.Errorf(status.Transient, "remote log metadata of %s-%d: no answer of the metadata manager: %w", name, partition, ctx.Err())
	}
}

// stateOf are the states by RemoteLogSegmentState id; DELETE_SEGMENT_FINISHED is as good as not known.
var stateOf = map[int8]sweep.State{-1: sweep.Absent, 0: sweep.Started, 1: sweep.Finished, 2: sweep.Deleting, 3: sweep.Absent}

// States asks the metadata manager.
func (t *truth) States(ctx context.Context, topicID [16]byte, partition int32, ids [][16]byte) (sweep.Answer, error) {
	answer, err := t.ask(ctx, topicID, partition, ids, false)
	if err != nil {
		return sweep.Answer{}, err
	}
	out := sweep.Answer{End: answer.End}
	for _, s := range answer.States {
		out.States = append(out.States, stateOf[s])
	}
	return out, nil
}

// GiveUp has the metadata manager publish it.
func (t *truth) GiveUp(ctx context.Context, topicID [16]byte, partition int32, ids [][16]byte) (int, error) {
	answer, err := t.ask(ctx, topicID, partition, ids, true)
	return answer.GivenUp, err
}

// cluster is a client of the own cluster; nil without a listener that this release speaks to.
func (t *truth) connect() (*kafkaclient.Client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, status.Errorf(status.Closed, "the instance is closed")
	}
	if t.client != nil || t.bootstrap == "" {
		return t.client, nil
	}
	c, err := kafkaclient.Open(kafkaclient.Config{Bootstrap: t.bootstrap, ClientID: "tidemark-sweep", Log: t.log})
	if err != nil {
		return nil, err
	}
	t.client = c
	return c, nil
}

// Responsible is true on the broker with the lowest id of those that are up.
func (t *truth) Responsible(ctx context.Context) (bool, error) {
	c, err := t.connect()
	if c == nil || err != nil {
		return false, err
	}
	brokers, err := c.Brokers(ctx)
	if err != nil {
		return false, err
	}
	for _, b := range brokers {
		if b.ID < t.nodeID {
			return false, nil
		}
	}
	return true, nil
}

// TopicExists asks by id: a topic that this client may not see is an error then, not missing.
func (t *truth) TopicExists(ctx context.Context, topicID [16]byte) (bool, error) {
	c, err := t.connect()
	if err != nil {
		return false, err
	}
	if c == nil {
		return false, status.Errorf(status.Unsupported, "no listener to ask the cluster")
	}
	_, err = c.TopicByID(ctx, topicID)
	if status.Is(err, status.NotFound) {
		return false, nil
	}
	return err == nil, err
}

func (t *truth) close() {
	t.mu.Lock()
	c := t.client
	t.client, t.closed = nil, true
	t.mu.Unlock()
	if c != nil {
		c.Close()
	}
}
