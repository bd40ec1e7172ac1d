package dispatch

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/status"
	"tidemark/internal/wire"
)

func TestEncodeError(t *testing.T) {
	if EncodeError(nil) != nil {
		t.Error("no error has a frame")
	}
	f := EncodeError(status.Errorf(status.Corrupt, "object a/b: %s", strings.Repeat("ä", maxErrorText)))
	payload, err := framePayload(f, KindError)
	if err != nil {
		t.Fatal(err)
	}
	m := wire.GetRootAsErrorReply(payload, 0)
	if m.Status() != int32(status.Corrupt) || len(m.Message()) > maxErrorText+3 || !strings.HasPrefix(string(m.Message()), "object a/b: ä") {
		t.Errorf("status %d, %d bytes", m.Status(), len(m.Message()))
	}
}

func TestEncodeWanted(t *testing.T) {
	list := []TopicPartition{testPartition, {TopicID: testTopicID, Topic: "other", From: 1 << 40}}
	read := func(f []byte) *wire.WantedReply {
		payload, err := framePayload(f, KindWantedList)
		if err != nil {
			t.Fatal(err)
		}
		return wire.GetRootAsWantedReply(payload, 0)
	}
	m := read(encodeWanted(list, []StatesWanted{testQuestion}))
	if m.PartitionsLength() != 2 {
		t.Fatalf("%d partitions", m.PartitionsLength())
	}
	for i, want := range list {
		var p wire.TopicPartition
		m.Partitions(&p, i)
		r := newReader(make([]byte, 1000))
		if got := r.partition(&p); got != want || r.err != nil {
			t.Errorf("%d: %v %v", i, got, r.err)
		}
	}
	var q wire.StatesWanted
	if m.StatesLength() != 1 || !m.States(&q, 0) {
		t.Fatalf("%d questions", m.StatesLength())
	}
	r := newReader(make([]byte, 1000))
	got := StatesWanted{Partition: r.partition(q.Partition(nil)), Ticket: q.Ticket(), GiveUp: q.GiveUp()}
	var id wire.Uuid
	for i := range q.SegmentsLength() {
		q.Segments(&id, i)
		got.Segments = append(got.Segments, r.uuid("segments", &id))
	}
	if !reflect.DeepEqual(got, testQuestion) || r.err != nil {
		t.Errorf("question %+v, %v", got, r.err)
	}
	full := StatesWanted{Partition: TopicPartition{TopicID: testTopicID, Topic: strings.Repeat("t", maxTopic)}, Segments: make([][16]byte, maxStates)}
	m = read(encodeWanted(list, slices.Repeat([]StatesWanted{full}, maxQuestions+1)))
	if m.StatesLength() != maxQuestions || m.PartitionsLength() != 2 {
		t.Errorf("%d questions, %d partitions", m.StatesLength(), m.PartitionsLength())
	}
	if n := read(encodeWanted(make([]TopicPartition, 1<<17), nil)).PartitionsLength(); n == 0 || n == 1<<17 {
		t.Errorf("%d partitions of a list that does not fit", n)
	}
}
