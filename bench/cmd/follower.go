package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/bench/broker"
	"tidemark/bench/measure"
)

const (
	followerRow   = "follower"
	followerTopic = "moved"
	followerParts = 3
)

// followers measures a second broker that becomes a replica of a topic whose data is old: with two fresh brokers of a side.
func (r *run) followers(ctx context.Context, l *life) {
	if r.results.HasFailed(followerRow) {
		return
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 6*time.Minute)
	defer cancel()
	err := l.start(ctx, r.dir, 2)
	var v values
	if err == nil {
		v, err = l.bootstrap(ctx, r.sets)
	}
	l.Stop(err != nil)
	if err != nil {
		r.fail(l, []step{{rows: []string{followerRow}}}, err)
		return
	}
	r.take(l, step{rows: []string{followerRow}}, v)
	fmt.Printf("  round %d/%d %-14s follower took %.0f s\n", l.round, r.rounds, l.name(), time.Since(began).Seconds())
}

// bootstrap fills a topic on the first broker, lets the second become its replica, moves the topic there and reads it back.
func (l *life) bootstrap(ctx context.Context, s sets) (values, error) {
	set := s.follower
	if err := l.createOn(ctx, 1); err != nil {
		return nil, err
	}
	if _, err := l.Produce(ctx, followerTopic, set, true); err != nil {
		return nil, err
	}
	if l.tiered {
		if err := l.Empty(ctx, followerTopic); err != nil {
			return nil, err
		}
	}
	before, err := l.both()
	if err != nil {
		return nil, err
	}
	from := time.Now()
	if err := l.assign(ctx, 1, 2); err != nil {
		return nil, err
	}
	if err := l.awaitReplicas(ctx, 2, 0); err != nil {
		return nil, err
	}
	v := values{}
	v.set(followerRow, "in.sync", time.Since(from).Seconds())
	time.Sleep(broker.Settle)
	after, err := l.both()
	if err != nil {
		return nil, err
	}
	v.set(followerRow, "brokers.cpu", (after-before).Seconds()/(float64(set.Bytes())/1e9))
	v.set(followerRow, "disk", float64(l.onDisk(1))/(1<<20))
	if err := l.assign(ctx, 2); err != nil {
		return nil, err
	}
	if err := l.awaitReplicas(ctx, 1, 2); err != nil {
		return nil, err
	}
	_, err = l.Consume(ctx, followerTopic, set)
	return v, err
}

// createOn creates the topic with all partitions on one broker.
func (l *life) createOn(ctx context.Context, id int32) error {
	request := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = followerTopic, -1, -1
	for p := range int32(followerParts) {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = p, []int32{id}
		topic.ReplicaAssignment = append(topic.ReplicaAssignment, a)
	}
	for k, v := range broker.TopicConfigs(l.tiered, l.segment/4) {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = k, v
		topic.Configs = append(topic.Configs, c)
	}
	request.Topics = append(request.Topics, topic)
	cl, err := broker.Open(ctx, l.Cluster.Bootstrap())
	if err != nil {
		return err
	}
	defer cl.Close()
	reply, err := request.RequestWith(ctx, cl)
	if err == nil && len(reply.Topics) == 1 && reply.Topics[0].ErrorCode != 0 {
		err = fmt.Errorf("create %s: error %d %v", followerTopic, reply.Topics[0].ErrorCode, reply.Topics[0].ErrorMessage)
	}
	if err != nil {
		return err
	}
	return l.awaitReplicas(ctx, 1, id)
}

func (l *life) assign(ctx context.Context, replicas ...int32) error {
	var request kadm.AlterPartitionAssignmentsReq
	for p := range int32(followerParts) {
		request.Assign(followerTopic, p, replicas)
	}
	reply, err := l.Admin.AlterPartitionAssignments(ctx, request)
	if err == nil {
		err = reply.Error()
	}
	return err
}

// awaitReplicas waits until every partition has n replicas in sync and, unless it is 0, the given leader.
func (l *life) awaitReplicas(ctx context.Context, n int, leader int32) error {
	return broker.PollEvery(ctx, 50*time.Millisecond, func() error {
		topics, err := l.Admin.ListTopics(ctx, followerTopic)
		if err != nil {
			return err
		}
		partitions := topics[followerTopic].Partitions
		if len(partitions) != followerParts {
			return fmt.Errorf("%d of %d partitions are known", len(partitions), followerParts)
		}
		for p, d := range partitions {
			if len(d.ISR) != n || len(d.Replicas) != n || leader != 0 && d.Leader != leader {
				return fmt.Errorf("partition %d: replicas %v, in sync %v, leader %d", p, d.Replicas, d.ISR, d.Leader)
			}
		}
		return nil
	})
}

// both is the CPU time of the two brokers.
func (l *life) both() (sum time.Duration, err error) {
	for _, n := range l.Cluster.Nodes {
		c, err := measure.CPUOf(n.PID())
		if err != nil {
			return 0, err
		}
		sum += c.Total()
	}
	return sum, nil
}

// onDisk is the size of the topic's segments on a broker.
func (l *life) onDisk(node int) (sum int64) {
	files, _ := filepath.Glob(filepath.Join(l.Cluster.Nodes[node].LogDirs[0], followerTopic+"-*", "*.log"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			sum += info.Size()
		}
	}
	return sum
}
