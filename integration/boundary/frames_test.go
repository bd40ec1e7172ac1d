package boundary

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"

	"tidemark/cgo/dispatch"
	"tidemark/internal/wire"
)

type builder = flatbuffers.Builder

func message(kind dispatch.Kind, f func(*builder) flatbuffers.UOffsetT) []byte {
	b := flatbuffers.NewBuilder(1024)
	b.Finish(f(b))
	return dispatch.EncodeFrame(kind, 0, b.FinishedBytes())
}

func segment(b *builder, topic string, size int32) flatbuffers.UOffsetT {
	name := b.CreateString(topic)
	wire.SegmentRefStart(b)
	wire.SegmentRefAddTopicId(b, wire.CreateUuid(b, 1, 2))
	wire.SegmentRefAddTopic(b, name)
	wire.SegmentRefAddSegmentId(b, wire.CreateUuid(b, 3, 4))
	wire.SegmentRefAddEndOffset(b, 9)
	wire.SegmentRefAddSize(b, size)
	return wire.SegmentRefEnd(b)
}

func initFrame(slabs int32, version, crash string) []byte {
	return message(dispatch.KindInit, func(b *builder) flatbuffers.UOffsetT {
		v, c := b.CreateString(version), b.CreateString(crash)
		wire.InitRequestStart(b)
		wire.InitRequestAddCpus(b, 2)
		wire.InitRequestAddCrashFile(b, c)
		wire.InitRequestAddSlabCount(b, slabs)
		wire.InitRequestAddSlabSize(b, 1<<17)
		wire.InitRequestAddVersion(b, v)
		wire.InitRequestAddLogLevel(b, 1)
		return wire.InitRequestEnd(b)
	})
}

func openFrame(refuse string) []byte {
	return message(dispatch.KindOpen, func(b *builder) flatbuffers.UOffsetT {
		key, value := b.CreateString("refuse"), b.CreateString(refuse)
		wire.PropertyStart(b)
		wire.PropertyAddKey(b, key)
		wire.PropertyAddValue(b, value)
		property := wire.PropertyEnd(b)
		wire.OpenRequestStartPropertiesVector(b, 1)
		b.PrependUOffsetT(property)
		list := b.EndVector(1)
		wire.OpenRequestStart(b)
		wire.OpenRequestAddNodeId(b, 7)
		wire.OpenRequestAddProperties(b, list)
		wire.OpenRequestAddDeadlineMs(b, 60000)
		return wire.OpenRequestEnd(b)
	})
}

func copyFrame(topic string, deadline int32) []byte {
	return message(dispatch.KindCopy, func(b *builder) flatbuffers.UOffsetT {
		seg, path := segment(b, topic, 10), b.CreateString("/d/x.log")
		wire.CopyRequestStart(b)
		wire.CopyRequestAddSegment(b, seg)
		wire.CopyRequestAddLog(b, path)
		wire.CopyRequestAddOffsetIndex(b, path)
		wire.CopyRequestAddTimeIndex(b, path)
		wire.CopyRequestAddProducerSnapshot(b, path)
		wire.CopyRequestAddDeadlineMs(b, deadline)
		return wire.CopyRequestEnd(b)
	})
}

func streamFrame(topic string, size int32) []byte {
	return message(dispatch.KindStream, func(b *builder) flatbuffers.UOffsetT {
		seg := segment(b, topic, size)
		wire.StreamRequestStart(b)
		wire.StreamRequestAddSegment(b, seg)
		wire.StreamRequestAddEnd(b, -1)
		wire.StreamRequestAddDeadlineMs(b, 60000)
		wire.StreamRequestAddNextDeadlineMs(b, 60000)
		return wire.StreamRequestEnd(b)
	})
}

func partition(b *builder) flatbuffers.UOffsetT {
	name := b.CreateString("flights")
	wire.TopicPartitionStart(b)
	wire.TopicPartitionAddTopicId(b, wire.CreateUuid(b, 1, 2))
	wire.TopicPartitionAddTopic(b, name)
	return wire.TopicPartitionEnd(b)
}

// writeFrames writes the messages of Smoke.java, one file each, and returns their folder.
func writeFrames(t *testing.T, version, crash string) string {
	dir := t.TempDir()
	all := map[string][]byte{
		"init":         initFrame(4, version, crash),
		"init-other":   initFrame(5, version, crash),
		"open":         openFrame(""),
		"open-refused": openFrame("größer"),
		"copy":         copyFrame("flights", 60000),
		"copy-panic":   copyFrame("panic", 60000),
		"copy-nil":     copyFrame("nil", 60000),
		"copy-slow":    copyFrame("slow", 60000),
		"copy-short":   copyFrame("slow", 20),
		"copy-missing": copyFrame("missing", 60000),
		"stream":       streamFrame("flights", 1_000_000),
		"stream-short": streamFrame("short", 10),
		"stream-slow":  streamFrame("slow", 10),
		"delete": message(dispatch.KindDelete, func(b *builder) flatbuffers.UOffsetT {
			seg := segment(b, "flights", 10)
			wire.DeleteRequestStart(b)
			wire.DeleteRequestAddSegment(b, seg)
			wire.DeleteRequestAddDeadlineMs(b, 60000)
			return wire.DeleteRequestEnd(b)
		}),
		"leadership": message(dispatch.KindLeadership, func(b *builder) flatbuffers.UOffsetT {
			p := partition(b)
			wire.LeadershipRequestStartLeadersVector(b, 1)
			b.PrependUOffsetT(p)
			list := b.EndVector(1)
			wire.LeadershipRequestStart(b)
			wire.LeadershipRequestAddLeaders(b, list)
			return wire.LeadershipRequestEnd(b)
		}),
		"facts": message(dispatch.KindFacts, func(b *builder) flatbuffers.UOffsetT {
			cluster := b.CreateString("cluster")
			wire.FactsRequestStart(b)
			wire.FactsRequestAddClusterId(b, cluster)
			return wire.FactsRequestEnd(b)
		}),
		"wanted": message(dispatch.KindWanted, func(b *builder) flatbuffers.UOffsetT {
			wire.WantedRequestStart(b)
			return wire.WantedRequestEnd(b)
		}),
		"segments": message(dispatch.KindSegments, func(b *builder) flatbuffers.UOffsetT {
			p := partition(b)
			wire.SegmentsRequestStart(b)
			wire.SegmentsRequestAddPartition(b, p)
			return wire.SegmentsRequestEnd(b)
		}),
	}
	for _, export := range exports(t) {
		all["panic-"+export] = openFrame("panic in " + export)
	}
	for name, frame := range all {
		if err := os.WriteFile(filepath.Join(dir, name), frame, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// exports are the exported functions that run code of Go: all but the two that return a constant or free memory of C.
func exports(t *testing.T) (names []string) {
	source, err := os.ReadFile(root + "/cgo/exports.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^//export (tm_\w+)$`).FindAllStringSubmatch(string(source), -1) {
		if m[1] != "tm_abi" && m[1] != "tm_free" {
			names = append(names, m[1])
		}
	}
	if len(names) < 19 {
		t.Fatalf("only %d exports found in cgo/exports.go: %v", len(names), names)
	}
	return names
}
