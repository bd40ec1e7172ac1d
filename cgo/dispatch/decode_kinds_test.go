package dispatch

import (
	"encoding/binary"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"

	"tidemark/internal/wire"
)

type builder = flatbuffers.Builder

var testTopicID = [16]byte{0xa1, 0xb2, 0xc3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
var testSegmentID = [16]byte{16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 0xf1}

func testSegment() Segment {
	return Segment{
		TopicID: testTopicID, Topic: "flights", Partition: 3, ID: testSegmentID, BaseOffset: 1000, EndOffset: 1999,
		MaxTimestamp: 1700000000123, Size: 1 << 20, Epochs: []Epoch{{2, 1000}, {5, 1500}}, Custom: []byte{1, 2, 3},
		BrokerID: 7, TxnIndexEmpty: true,
	}
}

func uuid(b *builder, id [16]byte) flatbuffers.UOffsetT {
	return wire.CreateUuid(b, binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:]))
}

func vector(b *builder, start func(*builder, int) flatbuffers.UOffsetT, offsets []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	start(b, len(offsets))
	for i := len(offsets) - 1; i >= 0; i-- {
		b.PrependUOffsetT(offsets[i])
	}
	return b.EndVector(len(offsets))
}

func buildSegment(b *builder, s Segment) flatbuffers.UOffsetT {
	topic, custom := b.CreateString(s.Topic), b.CreateByteVector(s.Custom)
	wire.SegmentRefStartEpochsVector(b, len(s.Epochs))
	for i := len(s.Epochs) - 1; i >= 0; i-- {
		wire.CreateEpoch(b, s.Epochs[i].Epoch, s.Epochs[i].Start)
	}
	epochs := b.EndVector(len(s.Epochs))
	wire.SegmentRefStart(b)
	wire.SegmentRefAddTopicId(b, uuid(b, s.TopicID))
	wire.SegmentRefAddTopic(b, topic)
	wire.SegmentRefAddPartition(b, s.Partition)
	wire.SegmentRefAddSegmentId(b, uuid(b, s.ID))
	wire.SegmentRefAddBaseOffset(b, s.BaseOffset)
	wire.SegmentRefAddEndOffset(b, s.EndOffset)
	wire.SegmentRefAddMaxTimestampMs(b, s.MaxTimestamp)
	wire.SegmentRefAddSize(b, int32(s.Size))
	wire.SegmentRefAddEpochs(b, epochs)
	wire.SegmentRefAddCustom(b, custom)
	wire.SegmentRefAddBrokerId(b, s.BrokerID)
	wire.SegmentRefAddTxnIndexEmpty(b, s.TxnIndexEmpty)
	return wire.SegmentRefEnd(b)
}

func buildPartition(b *builder, p TopicPartition) flatbuffers.UOffsetT {
	topic := b.CreateString(p.Topic)
	wire.TopicPartitionStart(b)
	wire.TopicPartitionAddTopicId(b, uuid(b, p.TopicID))
	wire.TopicPartitionAddTopic(b, topic)
	wire.TopicPartitionAddPartition(b, p.Partition)
	wire.TopicPartitionAddFrom(b, p.From)
	return wire.TopicPartitionEnd(b)
}

func build(kind Kind, f func(*builder) flatbuffers.UOffsetT) []byte {
	b := flatbuffers.NewBuilder(1024)
	b.Finish(f(b))
	return EncodeFrame(kind, 0, b.FinishedBytes())
}

func buildInit(r InitRequest) []byte {
	return build(KindInit, func(b *builder) flatbuffers.UOffsetT {
		crash, version := b.CreateString(r.CrashFile), b.CreateString(r.Version)
		wire.InitRequestStart(b)
		wire.InitRequestAddCpus(b, int32(r.CPUs))
		wire.InitRequestAddMemoryLimit(b, r.MemoryLimit)
		wire.InitRequestAddCrashFile(b, crash)
		wire.InitRequestAddSlabCount(b, int32(r.SlabCount))
		wire.InitRequestAddSlabSize(b, int32(r.SlabSize))
		wire.InitRequestAddVersion(b, version)
		wire.InitRequestAddLogLevel(b, int32(r.LogLevel))
		return wire.InitRequestEnd(b)
	})
}

func buildOpen(r OpenRequest, keys ...string) []byte {
	return build(KindOpen, func(b *builder) flatbuffers.UOffsetT {
		var props []flatbuffers.UOffsetT
		for _, k := range keys {
			key, value := b.CreateString(k), b.CreateString(r.Properties[k])
			wire.PropertyStart(b)
			wire.PropertyAddKey(b, key)
			wire.PropertyAddValue(b, value)
			props = append(props, wire.PropertyEnd(b))
		}
		list := vector(b, wire.OpenRequestStartPropertiesVector, props)
		kafka, java := b.CreateString(r.KafkaVersion), b.CreateString(r.JavaVersion)
		wire.OpenRequestStart(b)
		wire.OpenRequestAddNodeId(b, r.NodeID)
		wire.OpenRequestAddProperties(b, list)
		wire.OpenRequestAddKafkaVersion(b, kafka)
		wire.OpenRequestAddJavaVersion(b, java)
		wire.OpenRequestAddDeadlineMs(b, int32(r.Deadline.Milliseconds()))
		return wire.OpenRequestEnd(b)
	})
}

func buildCopy(r CopyRequest) []byte {
	return build(KindCopy, func(b *builder) flatbuffers.UOffsetT {
		seg, log := buildSegment(b, r.Segment), b.CreateString(r.Paths.Log)
		oi, ti := b.CreateString(r.Paths.OffsetIndex), b.CreateString(r.Paths.TimeIndex)
		ps, tx := b.CreateString(r.Paths.ProducerSnapshot), b.CreateString(r.Paths.TxnIndex)
		le := b.CreateByteVector(r.Paths.LeaderEpochs)
		wire.CopyRequestStart(b)
		wire.CopyRequestAddSegment(b, seg)
		wire.CopyRequestAddLog(b, log)
		wire.CopyRequestAddOffsetIndex(b, oi)
		wire.CopyRequestAddTimeIndex(b, ti)
		wire.CopyRequestAddProducerSnapshot(b, ps)
		wire.CopyRequestAddTxnIndex(b, tx)
		wire.CopyRequestAddLeaderEpochIndex(b, le)
		wire.CopyRequestAddDeadlineMs(b, int32(r.Deadline.Milliseconds()))
		return wire.CopyRequestEnd(b)
	})
}

func buildStream(r StreamRequest) []byte {
	return build(KindStream, func(b *builder) flatbuffers.UOffsetT {
		seg := buildSegment(b, r.Segment)
		var next flatbuffers.UOffsetT
		if r.Next != nil {
			next = buildSegment(b, *r.Next)
		}
		wire.StreamRequestStart(b)
		if r.Next != nil {
			wire.StreamRequestAddNext(b, next)
		}
		wire.StreamRequestAddSegment(b, seg)
		wire.StreamRequestAddKind(b, wire.StreamKind(r.Kind))
		wire.StreamRequestAddStart(b, r.Start)
		wire.StreamRequestAddEnd(b, r.End)
		wire.StreamRequestAddDeadlineMs(b, int32(r.Deadline.Milliseconds()))
		wire.StreamRequestAddNextDeadlineMs(b, int32(r.NextDeadline.Milliseconds()))
		return wire.StreamRequestEnd(b)
	})
}

func buildDelete(r DeleteRequest) []byte {
	return build(KindDelete, func(b *builder) flatbuffers.UOffsetT {
		seg := buildSegment(b, r.Segment)
		wire.DeleteRequestStart(b)
		wire.DeleteRequestAddSegment(b, seg)
		wire.DeleteRequestAddDeadlineMs(b, int32(r.Deadline.Milliseconds()))
		return wire.DeleteRequestEnd(b)
	})
}

func buildLeadership(r LeadershipRequest) []byte {
	return build(KindLeadership, func(b *builder) flatbuffers.UOffsetT {
		list := func(ps []TopicPartition, start func(*builder, int) flatbuffers.UOffsetT) flatbuffers.UOffsetT {
			var offsets []flatbuffers.UOffsetT
			for _, p := range ps {
				offsets = append(offsets, buildPartition(b, p))
			}
			return vector(b, start, offsets)
		}
		l := list(r.Leaders, wire.LeadershipRequestStartLeadersVector)
		f := list(r.Followers, wire.LeadershipRequestStartFollowersVector)
		s := list(r.Stopped, wire.LeadershipRequestStartStoppedVector)
		wire.LeadershipRequestStart(b)
		wire.LeadershipRequestAddLeaders(b, l)
		wire.LeadershipRequestAddFollowers(b, f)
		wire.LeadershipRequestAddStopped(b, s)
		return wire.LeadershipRequestEnd(b)
	})
}

func buildFacts(r FactsRequest) []byte {
	return build(KindFacts, func(b *builder) flatbuffers.UOffsetT {
		c, h := b.CreateString(r.ClusterID), b.CreateString(r.Bootstrap)
		s, d := b.CreateString(r.SecurityProtocol), b.CreateString(r.LogDir)
		wire.FactsRequestStart(b)
		wire.FactsRequestAddClusterId(b, c)
		wire.FactsRequestAddBootstrap(b, h)
		wire.FactsRequestAddSecurityProtocol(b, s)
		wire.FactsRequestAddLogDir(b, d)
		return wire.FactsRequestEnd(b)
	})
}

func buildWanted() []byte {
	return build(KindWanted, func(b *builder) flatbuffers.UOffsetT {
		wire.WantedRequestStart(b)
		return wire.WantedRequestEnd(b)
	})
}

func buildSegments(r SegmentsRequest) []byte {
	return build(KindSegments, func(b *builder) flatbuffers.UOffsetT {
		var offsets []flatbuffers.UOffsetT
		for _, s := range r.Segments {
			offsets = append(offsets, buildSegment(b, s))
		}
		list := vector(b, wire.SegmentsRequestStartSegmentsVector, offsets)
		p, e := buildPartition(b, r.Partition), b.CreateString(r.Error)
		wire.SegmentsRequestStart(b)
		wire.SegmentsRequestAddPartition(b, p)
		wire.SegmentsRequestAddSegments(b, list)
		wire.SegmentsRequestAddError(b, e)
		wire.SegmentsRequestAddMore(b, r.More)
		return wire.SegmentsRequestEnd(b)
	})
}

func buildStates(r StatesRequest) []byte {
	return build(KindStates, func(b *builder) flatbuffers.UOffsetT {
		wire.StatesRequestStartStatesVector(b, len(r.States))
		for i := len(r.States) - 1; i >= 0; i-- {
			b.PrependInt8(r.States[i])
		}
		states := b.EndVector(len(r.States))
		e := b.CreateString(r.Error)
		wire.StatesRequestStart(b)
		wire.StatesRequestAddTicket(b, r.Ticket)
		wire.StatesRequestAddStates(b, states)
		wire.StatesRequestAddEnd(b, r.End)
		wire.StatesRequestAddGivenUp(b, int32(r.GivenUp))
		wire.StatesRequestAddError(b, e)
		return wire.StatesRequestEnd(b)
	})
}

// The requests of the golden messages.
var (
	testQuestion = StatesWanted{Partition: testPartition, Ticket: 7, Segments: [][16]byte{{1, 2}, {15: 3}}, GiveUp: true}
	testStates   = StatesRequest{Ticket: 7, States: []int8{-1, 0, 1, 2, 3}, End: 2000, GivenUp: 1, Error: "none"}
	testInit     = InitRequest{CPUs: 2, MemoryLimit: 1 << 30, CrashFile: "/var/log/kafka/crash.log", SlabCount: 64,
		SlabSize: 1 << 20, Version: "1.2.3", LogLevel: 1}
	testOpen = OpenRequest{NodeID: 7, Properties: map[string]string{"store": "file", "store.dir": "/srv/tiered"},
		KafkaVersion: "4.4.0", JavaVersion: "17.0.15", Deadline: 30 * time.Second}
	testCopy = CopyRequest{Segment: testSegment(), Deadline: time.Minute, Paths: Paths{
		Log: "/d/flights-3/00000000000000001000.log", OffsetIndex: "/d/flights-3/00000000000000001000.index",
		TimeIndex: "/d/flights-3/00000000000000001000.timeindex", ProducerSnapshot: "/d/flights-3/00000000000000002000.snapshot",
		LeaderEpochs: []byte("0\n1\n2 1000\n")}}
	testStream     = StreamRequest{Segment: testSegment(), Kind: StreamSegment, Start: 17, End: -1, Deadline: time.Second, NextDeadline: 2 * time.Second}
	testStreamNext = StreamRequest{Segment: testSegment(), Kind: StreamSegment, End: -1, Deadline: time.Second, NextDeadline: time.Second,
		Next: testNext()}
	testDelete     = DeleteRequest{Segment: testSegment(), Deadline: time.Second}
	testPartition  = TopicPartition{TopicID: testTopicID, Topic: "flights", Partition: 3}
	testLeadership = LeadershipRequest{Leaders: []TopicPartition{testPartition, {TopicID: testTopicID, Topic: "flights", Partition: 4}},
		Followers: []TopicPartition{{TopicID: testTopicID, Topic: "flights", Partition: 5}}, Stopped: []TopicPartition{}}
	testFacts    = FactsRequest{ClusterID: "abc", Bootstrap: "127.0.0.1:9092", SecurityProtocol: "PLAINTEXT", LogDir: "/d"}
	testSegments = SegmentsRequest{Partition: TopicPartition{TopicID: testTopicID, Topic: "flights", Partition: 3, From: 1000},
		Segments: []Segment{testSegment(), testSegment()}, More: true}
)

func testNext() *Segment {
	s := testSegment()
	s.ID[0]++
	s.BaseOffset, s.EndOffset = s.EndOffset+1, s.EndOffset+1000
	return &s
}

type message struct {
	name   string
	frame  []byte
	decode func([]byte) (any, error)
	want   any
}

func decoder[T any](f func([]byte) (T, error)) func([]byte) (any, error) {
	return func(b []byte) (any, error) { return f(b) }
}

func messages() []message {
	return []message{
		{"init", buildInit(testInit), decoder(decodeInit), testInit},
		{"open", buildOpen(testOpen, "store", "store.dir"), decoder(decodeOpen), testOpen},
		{"copy", buildCopy(testCopy), decoder(decodeCopy), testCopy},
		{"stream", buildStream(testStream), decoder(decodeStream), testStream},
		{"stream-next", buildStream(testStreamNext), decoder(decodeStream), testStreamNext},
		{"delete", buildDelete(testDelete), decoder(decodeDelete), testDelete},
		{"leadership", buildLeadership(testLeadership), decoder(decodeLeadership), testLeadership},
		{"facts", buildFacts(testFacts), decoder(decodeFacts), testFacts},
		{"wanted", buildWanted(), func(b []byte) (any, error) { return nil, decodeWanted(b) }, nil},
		{"segments", buildSegments(testSegments), decoder(decodeSegments), testSegments},
		{"states", buildStates(testStates), decoder(decodeStates), testStates},
	}
}
