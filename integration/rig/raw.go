package rig

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
)

// Sequenced is an idempotent producer whose every batch the test makes itself, sequence numbers included, so that it can send one twice
// or leave one out.
type Sequenced struct {
	w         *Rig
	cl        *kgo.Client
	topic     string
	partition int32
	producer  logtest.Producer // of the next batch
	last      []byte           // the batch that was acknowledged last
}

const perBatch = 4 // records

// Sequenced makes such a producer.
func (w *Rig) Sequenced(topic string, partition int32) *Sequenced {
	w.Helper()
	s := &Sequenced{w: w, cl: w.Client(), topic: topic, partition: partition}
	w.Eventually(time.Minute, func() error {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionTimeoutMillis = 60000
		answer, err := req.RequestWith(w.Ctx, s.cl)
		if err != nil {
			return err
		}
		s.producer = logtest.Producer{ID: answer.ProducerID, Epoch: answer.ProducerEpoch}
		return kerr.ErrorForCode(answer.ErrorCode)
	})
	return s
}

// Send appends a batch of about size bytes and returns its base offset.
func (s *Sequenced) Send(size int) int64 {
	s.w.Helper()
	var records []kafkalog.Record
	now, values := time.Now().UnixMilli(), NewSeeded(byte(s.producer.Sequence))
	for i := range int64(perBatch) {
		value := values.Value(size/perBatch, "sequenced %d/%d|", s.producer.ID, int64(s.producer.Sequence)+i)
		records = append(records, kafkalog.Record{Offset: i, Timestamp: now, Value: value})
	}
	producer := s.producer
	batch := logtest.Batch{Producer: &producer, Records: records}.Bytes()
	base, err := s.send(batch)
	if err != nil {
		s.w.Fatalf("sequence %d of producer %d: %v", s.producer.Sequence, s.producer.ID, err)
	}
	s.last = batch
	s.producer.Sequence += perBatch
	return base
}

// Again sends the last batch a second time, as a producer does that has not seen the acknowledgement, and returns its base offset.
func (s *Sequenced) Again() (int64, error) { return s.send(s.last) }

// Skip sends a batch as if the one before had been lost.
func (s *Sequenced) Skip() error {
	producer := s.producer
	producer.Sequence += perBatch
	_, err := s.send(logtest.Batch{Producer: &producer, Records: []kafkalog.Record{{Timestamp: time.Now().UnixMilli(), Value: []byte("skip")}}}.Bytes())
	return err
}

// send gives a batch to the leader; it repeats when the leader has moved or the connection was lost, which sequence numbers make safe.
func (s *Sequenced) send(batch []byte) (int64, error) {
	deadline := time.Now().Add(time.Minute)
	for {
		base, err := s.once(batch)
		var answered *kerr.Error
		lost := err != nil && !errors.As(err, &answered)
		if !lost && !kerr.IsRetriable(err) || time.Now().After(deadline) {
			return base, err
		}
		time.Sleep(100 * time.Millisecond) // between attempts
	}
}

func (s *Sequenced) once(batch []byte) (int64, error) {
	topics, err := s.w.Admin().ListTopics(s.w.Ctx, s.topic)
	if err != nil {
		return 0, err
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 30000
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.TopicID = s.topic, topics[s.topic].ID
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = s.partition, batch
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	answer, err := s.cl.Broker(int(topics[s.topic].Partitions[s.partition].Leader)).Request(s.w.Ctx, req)
	if err != nil {
		return 0, err
	}
	resp := answer.(*kmsg.ProduceResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, fmt.Errorf("the answer names %d topics", len(resp.Topics))
	}
	got := resp.Topics[0].Partitions[0]
	return got.BaseOffset, kerr.ErrorForCode(got.ErrorCode)
}
