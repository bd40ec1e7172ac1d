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

// encodeWanted is the framed WantedReply. What does not fit one message is left for the next poll.
func encodeWanted(list []TopicPartition) []byte {
	const fixed = 72 // one entry without its topic name
	room := MaxPayload - 1024
	b := flatbuffers.NewBuilder(1024)
	offsets := make([]flatbuffers.UOffsetT, 0, len(list))
	for _, p := range list {
		if room -= fixed + len(p.Topic); room < 0 {
			break
		}
		topic := b.CreateSharedString(p.Topic)
		wire.TopicPartitionStart(b)
		wire.TopicPartitionAddTopicId(b, wire.CreateUuid(b,
			binary.BigEndian.Uint64(p.TopicID[:8]), binary.BigEndian.Uint64(p.TopicID[8:])))
		wire.TopicPartitionAddTopic(b, topic)
		wire.TopicPartitionAddPartition(b, p.Partition)
		wire.TopicPartitionAddFrom(b, p.From)
		offsets = append(offsets, wire.TopicPartitionEnd(b))
	}
	wire.WantedReplyStartPartitionsVector(b, len(offsets))
	for i := len(offsets) - 1; i >= 0; i-- {
		b.PrependUOffsetT(offsets[i])
	}
	vector := b.EndVector(len(offsets))
	wire.WantedReplyStart(b)
	wire.WantedReplyAddPartitions(b, vector)
	b.Finish(wire.WantedReplyEnd(b))
	return EncodeFrame(KindWantedList, 0, b.FinishedBytes())
}
