package kafkaclient

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/status"
)

// TopicInfo is what the cluster says about a topic.
type TopicInfo struct {
	ID         [16]byte
	Name       string
	Partitions int
	Internal   bool              // Kafka's own
	Config     map[string]string // effective values, defaults included; nil from [Client.Topics]
}

// EnsureTopic creates the compacted topic name unless it exists. configs are topic configurations beside
// cleanup.policy, which is compact. partitions and the settings of an existing topic are left as they are.
//
// Errors: Invalid with fewer brokers than replicationFactor, and for an existing topic whose cleanup.policy is not compact;
// Transient when the cluster cannot be reached.
func (c *Client) EnsureTopic(ctx context.Context, name string, partitions, replicationFactor int, configs map[string]string) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	all := map[string]*string{}
	for k, v := range configs {
		all[k] = &v
	}
	compact := "compact"
	all["cleanup.policy"] = &compact
	resp, err := c.adm.CreateTopic(ctx, int32(partitions), int16(replicationFactor), all, name)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.TopicAlreadyExists):
		return c.checkCompacted(ctx, name)
	case errors.Is(err, kerr.InvalidReplicationFactor):
		return c.tooFewBrokers(ctx, name, replicationFactor)
	}
	if resp.ErrMessage != "" {
		return classify(err, "create topic %s (%s)", name, resp.ErrMessage)
	}
	return classify(err, "create topic %s", name)
}

func (c *Client) checkCompacted(ctx context.Context, name string) error {
	config, err := c.topicConfig(ctx, name)
	if err != nil {
		return err
	}
	if policy := config["cleanup.policy"]; policy != "compact" {
		return status.Errorf(status.Invalid, "topic %s exists with cleanup.policy=%s; its records would be lost: it must be compact", name, policy)
	}
	return nil
}

func (c *Client) tooFewBrokers(ctx context.Context, name string, replicationFactor int) error {
	brokers, err := c.adm.ListBrokers(ctx)
	if err != nil {
		return classify(err, "list the brokers to create topic %s", name)
	}
	return status.Errorf(status.Invalid, "topic %s cannot be created: replication factor %d needs as many brokers, the cluster has %d; "+
		"add brokers or set rsm.config.tables.topic.replication.factor", name, replicationFactor, len(brokers))
}

// DescribeTopic is NotFound when there is no topic of that name.
func (c *Client) DescribeTopic(ctx context.Context, name string) (TopicInfo, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(name)
	return c.describe(ctx, t, "topic "+name)
}

// TopicID is the id of the topic of that name, with one request and no configuration; NotFound when there is none.
func (c *Client) TopicID(ctx context.Context, name string) ([16]byte, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(name)
	found, err := topicMetadata(ctx, c.cl, []kmsg.MetadataRequestTopic{t}, "topic "+name)
	if err != nil {
		return [16]byte{}, err
	}
	return found[0].TopicID, nil
}

// TopicByID is [Client.DescribeTopic] by id: it cannot mistake a topic for its successor of the same name.
func (c *Client) TopicByID(ctx context.Context, id [16]byte) (TopicInfo, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	t := kmsg.NewMetadataRequestTopic()
	t.TopicID = id
	return c.describe(ctx, t, "topic with id "+idText(id))
}

func (c *Client) describe(ctx context.Context, t kmsg.MetadataRequestTopic, what string) (TopicInfo, error) {
	found, err := topicMetadata(ctx, c.cl, []kmsg.MetadataRequestTopic{t}, what)
	if err != nil {
		return TopicInfo{}, err
	}
	info := infoOf(found[0])
	info.Config, err = c.topicConfig(ctx, info.Name)
	return info, err
}

// Topics are all topics of the cluster by name, without their configuration.
func (c *Client) Topics(ctx context.Context) ([]TopicInfo, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	found, err := topicMetadata(ctx, c.cl, nil, "all topics")
	if err != nil {
		return nil, err
	}
	infos := make([]TopicInfo, 0, len(found))
	for _, t := range found {
		infos = append(infos, infoOf(t))
	}
	slices.SortFunc(infos, func(a, b TopicInfo) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

func infoOf(t kmsg.MetadataResponseTopic) TopicInfo {
	info := TopicInfo{ID: t.TopicID, Partitions: len(t.Partitions), Internal: t.IsInternal}
	if t.Topic != nil {
		info.Name = *t.Topic
	}
	return info
}

// topicMetadata asks for topics, or for all when wanted is nil. Topics that were asked for by name or id and are absent make
// it NotFound.
func topicMetadata(ctx context.Context, cl *kgo.Client, wanted []kmsg.MetadataRequestTopic, what string) ([]kmsg.MetadataResponseTopic, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = wanted
	req.AllowAutoTopicCreation = false
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return nil, classify(err, "metadata of %s", what)
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && wanted != nil {
			return nil, classify(err, "metadata of %s", what)
		}
	}
	if wanted != nil && len(resp.Topics) != len(wanted) {
		return nil, status.Errorf(status.Internal, "metadata of %s: %d topics in the answer", what, len(resp.Topics))
	}
	return resp.Topics, nil
}

// topicConfig is the effective configuration of a topic; values the broker hides are left out.
func (c *Client) topicConfig(ctx context.Context, name string) (map[string]string, error) {
	all, err := c.adm.DescribeTopicConfigs(ctx, name)
	if err != nil {
		return nil, classify(err, "configuration of topic %s", name)
	}
	rc, err := all.On(name, nil)
	if err == nil {
		err = rc.Err
	}
	if err != nil {
		return nil, classify(err, "configuration of topic %s", name)
	}
	return valuesOf(rc), nil
}

// valuesOf are the values of a configuration that are not hidden.
func valuesOf(rc kadm.ResourceConfig) map[string]string {
	config := make(map[string]string, len(rc.Configs))
	for _, kv := range rc.Configs {
		if kv.Value != nil {
			config[kv.Key] = *kv.Value
		}
	}
	return config
}
