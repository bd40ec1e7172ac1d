package dispatch

import (
	"encoding/binary"
	"strings"

	flatbuffers "github.com/google/flatbuffers/go"

	"tidemark/internal/status"
	"tidemark/internal/wire"
)

// maxErrorText bounds the text of an error on its way to an exception.
const maxErrorText = 16 << 10

// EncodeError is the framed ErrorReply for err; nil for nil.
func EncodeError(err error) []byte {
	if err == nil {
		return nil
	}
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	b := flatbuffers.NewBuilder(len(text) + 64)
	message := b.CreateString(text)
	wire.ErrorReplyStart(b)
	wire.ErrorReplyAddStatus(b, int32(status.Of(err)))
	wire.ErrorReplyAddMessage(b, message)
	b.Finish(wire.ErrorReplyEnd(b))
	return EncodeFrame(KindError, 0, b.FinishedBytes())
}

// encodeWanted is the framed WantedReply. Partitions that do not fit one message are left for the next poll; questions about states
// come first, because each is handed out once: there is room for maxQuestions.
func encodeWanted(list []TopicPartition, questions []StatesWanted) []byte {
	const fixed = 72 // one entry without its topic name
	room := MaxPayload - 1024
	b := flatbuffers.NewBuilder(1024)
	asked := make([]flatbuffers.UOffsetT, 0, len(questions))
	for _, q := range questions[:min(len(questions), maxQuestions)] {
		ids := q.Segments[:min(len(q.Segments), maxStates)]
		room -= 2*fixed + len(q.Partition.Topic) + 16*len(ids)
		asked = append(asked, encodeQuestion(b, q, ids))
	}
	offsets := make([]flatbuffers.UOffsetT, 0, len(list))
	for _, p := range list {
		if room -= fixed + len(p.Topic); room < 0 {
			break
		}
		offsets = append(offsets, encodePartition(b, p))
	}
	partitions := encodeVector(b, wire.WantedReplyStartPartitionsVector, offsets)
	states := encodeVector(b, wire.WantedReplyStartStatesVector, asked)
	wire.WantedReplyStart(b)
	wire.WantedReplyAddPartitions(b, partitions)
	wire.WantedReplyAddStates(b, states)
	b.Finish(wire.WantedReplyEnd(b))
	return EncodeFrame(KindWantedList, 0, b.FinishedBytes())
}

// maxQuestions is how many questions one message holds: each has at most maxStates ids of 16 bytes.
const maxQuestions = 32

func encodeVector(b *flatbuffers.Builder, start func(*flatbuffers.Builder, int) flatbuffers.UOffsetT, offsets []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	start(b, len(offsets))
	for i := len(offsets) - 1; i >= 0; i-- {
		b.PrependUOffsetT(offsets[i])
	}
	return b.EndVector(len(offsets))
}

func encodePartition(b *flatbuffers.Builder, p TopicPartition) flatbuffers.UOffsetT {
	topic := b.CreateSharedString(p.Topic)
	wire.TopicPartitionStart(b)
	wire.TopicPartitionAddTopicId(b, encodeUUID(b, p.TopicID))
	wire.TopicPartitionAddTopic(b, topic)
	wire.TopicPartitionAddPartition(b, p.Partition)
	wire.TopicPartitionAddFrom(b, p.From)
	return wire.TopicPartitionEnd(b)
}

func encodeUUID(b *flatbuffers.Builder, id [16]byte) flatbuffers.UOffsetT {
	return wire.CreateUuid(b, binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:]))
}

func encodeQuestion(b *flatbuffers.Builder, q StatesWanted, ids [][16]byte) flatbuffers.UOffsetT {
	wire.StatesWantedStartSegmentsVector(b, len(ids))
	for i := len(ids) - 1; i >= 0; i-- {
		encodeUUID(b, ids[i])
	}
	segments := b.EndVector(len(ids))
	partition := encodePartition(b, q.Partition)
	wire.StatesWantedStart(b)
	wire.StatesWantedAddPartition(b, partition)
	wire.StatesWantedAddTicket(b, q.Ticket)
	wire.StatesWantedAddSegments(b, segments)
	wire.StatesWantedAddGiveUp(b, q.GiveUp)
	return wire.StatesWantedEnd(b)
}
