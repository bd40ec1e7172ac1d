package kafkaclient

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
)

// Special timestamps of tiered storage in a ListOffsets request (KIP-405, KIP-1005).
const (
	earliestLocal = -4
	latestTiered  = -5
)

// Broker is a broker of the cluster.
type Broker struct {
	ID     int32
	Host   string
	Config map[string]string // effective; without values that brokers hide
}

// PartitionState is what the leader of a partition says about it. -1 is not known, or none.
type PartitionState struct {
	Start, LocalStart, End int64 // offsets; End is exclusive
	Tiered                 int64 // last offset in remote storage
	LocalBytes             int64 // of the largest replica
}

// TopicState is a topic with its partitions by number.
type TopicState struct {
	Name       string
	Replicas   int               // of the partition that has fewest
	Config     map[string]string // effective
	Partitions []PartitionState
}

// Brokers are the brokers of the cluster with their configuration.
func (c *Client) Brokers(ctx context.Context) ([]Broker, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	listed, err := c.adm.ListBrokers(ctx)
	if err != nil {
		return nil, classify(err, "list the brokers")
	}
	configs, err := c.adm.DescribeBrokerConfigs(ctx, listed.NodeIDs()...)
	if err != nil {
		return nil, classify(err, "configuration of the brokers")
	}
	brokers := make([]Broker, 0, len(listed))
	for _, b := range listed {
		broker := Broker{ID: b.NodeID, Host: b.Host, Config: map[string]string{}}
		for _, rc := range configs {
			if rc.Name == strconv.Itoa(int(b.NodeID)) {
				broker.Config = valuesOf(rc)
			}
		}
		brokers = append(brokers, broker)
	}
	return brokers, nil
}

// ClusterID is the id of the cluster.
func (c *Client) ClusterID(ctx context.Context) (string, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	m, err := c.adm.BrokerMetadata(ctx)
	if err != nil {
		return "", classify(err, "id of the cluster")
	}
	return m.Cluster, nil
}

// TopicStates are the topics of these names, or all topics, in the order of their names.
func (c *Client) TopicStates(ctx context.Context, names ...string) ([]TopicState, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	details, err := c.adm.ListTopicsWithInternal(ctx, names...)
	if err != nil {
		return nil, classify(err, "metadata of topics")
	}
	configs, err := c.adm.DescribeTopicConfigs(ctx, details.Names()...)
	if err != nil {
		return nil, classify(err, "configuration of topics")
	}
	var states []TopicState
	for _, d := range details.Sorted() {
		if d.Err != nil {
			continue // deleted meanwhile, or not allowed: not there for us
		}
		state := TopicState{Name: d.Topic, Replicas: d.Partitions.NumReplicas(), Partitions: make([]PartitionState, len(d.Partitions))}
		for i := range state.Partitions {
			state.Partitions[i] = PartitionState{-1, -1, -1, -1, -1}
		}
		for _, rc := range configs {
			if rc.Name == d.Topic {
				state.Config = valuesOf(rc)
			}
		}
		states = append(states, state)
	}
	return states, nil
}

// FillPartitions asks for the offsets and sizes of the partitions of states. What cannot be had stays unknown.
func (c *Client) FillPartitions(ctx context.Context, states []TopicState) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if len(states) == 0 {
		return nil
	}
	at := map[string]*TopicState{}
	var names []string
	topics := kadm.TopicsSet{}
	for i := range states {
		at[states[i].Name] = &states[i]
		names = append(names, states[i].Name)
		topics.Add(states[i].Name)
		for p := range states[i].Partitions {
			topics.Add(states[i].Name, int32(p))
		}
	}
	partition := func(topic string, p int32) *PartitionState {
		if s := at[topic]; s != nil && p >= 0 && int(p) < len(s.Partitions) {
			return &s.Partitions[p]
		}
		return &PartitionState{}
	}
	for which, set := range map[int64]func(*PartitionState, int64){
		earliest: func(p *PartitionState, o int64) { p.Start = o }, latest: func(p *PartitionState, o int64) { p.End = o },
		earliestLocal: func(p *PartitionState, o int64) { p.LocalStart = o }, latestTiered: func(p *PartitionState, o int64) { p.Tiered = o },
	} {
		listed, err := c.adm.ListOffsetsAfterMilli(ctx, which, names...)
		if err != nil {
			return classify(err, "offsets of tiered topics")
		}
		listed.Each(func(o kadm.ListedOffset) {
			if o.Err == nil {
				set(partition(o.Topic, o.Partition), o.Offset)
			}
		})
	}
	dirs, err := c.adm.DescribeAllLogDirs(ctx, topics)
	if err != nil {
		return classify(err, "log directories")
	}
	dirs.Each(func(d kadm.DescribedLogDir) {
		d.Topics.Each(func(p kadm.DescribedLogDirPartition) {
			s := partition(p.Topic, p.Partition)
			s.LocalBytes = max(s.LocalBytes, p.Size)
		})
	})
	return nil
}
