package dispatch

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/google/go-cmp/cmp"

	"tidemark/internal/status"
	"tidemark/internal/wire"
)

var update = flag.Bool("update", false, "rewrite golden messages")

func golden(t *testing.T, name string, got []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", name+".bin")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func TestDecodeGolden(t *testing.T) {
	for _, m := range messages() {
		frame := golden(t, m.name, m.frame)
		if !bytes.Equal(frame, m.frame) {
			t.Errorf("%s: the builder makes other bytes than testdata holds", m.name)
		}
		got, err := m.decode(frame)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if d := cmp.Diff(m.want, got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", m.name, d)
		}
	}
}

func TestEveryFlippedByteIsInvalid(t *testing.T) {
	for _, m := range messages() {
		for at := range m.frame {
			for _, bit := range []byte{1, 2, 4, 8, 16, 32, 64, 128, 255} {
				bad := bytes.Clone(m.frame)
				bad[at] ^= bit
				if _, err := m.decode(bad); !status.Is(err, status.Invalid) {
					t.Fatalf("%s: byte %d xor %d: %v", m.name, at, bit, err)
				}
			}
		}
		for n := range m.frame {
			if _, err := m.decode(m.frame[:n]); !status.Is(err, status.Invalid) {
				t.Fatalf("%s: cut to %d bytes: %v", m.name, n, err)
			}
		}
	}
}

// With a right checksum the bytes are what somebody meant to send: still never a panic, and never a class but Invalid.
func TestEveryFlippedByteUnderARightChecksum(t *testing.T) {
	for _, m := range messages() {
		kind, payload, err := frameKind(m.frame)
		if err != nil {
			t.Fatal(err)
		}
		rejected := 0
		for at := range payload {
			for _, x := range []byte{1, 128, 255} {
				bad := bytes.Clone(payload)
				bad[at] ^= x
				if _, err := m.decode(EncodeFrame(kind, 0, bad)); err != nil {
					rejected++
					if !status.Is(err, status.Invalid) {
						t.Fatalf("%s: byte %d xor %d: %v", m.name, at, x, err)
					}
				}
			}
		}
		t.Logf("%s: %d of %d flips are refused", m.name, rejected, 3*len(payload))
	}
}

func TestDecodeRefuses(t *testing.T) {
	change := func(f func(*CopyRequest)) []byte {
		r := testCopy
		r.Segment = testSegment()
		f(&r)
		return buildCopy(r)
	}
	stream := func(f func(*StreamRequest)) []byte { r := testStream; f(&r); return buildStream(r) }
	initial := func(f func(*InitRequest)) []byte { r := testInit; f(&r); return buildInit(r) }
	c, s, i := decoder(decodeCopy), decoder(decodeStream), decoder(decodeInit)
	cases := []struct {
		name   string
		decode func([]byte) (any, error)
		frame  []byte
		text   string
	}{
		{"relative path", c, change(func(r *CopyRequest) { r.Paths.Log = "a.log" }), "not an absolute path"},
		{"NUL in a path", c, change(func(r *CopyRequest) { r.Paths.TxnIndex = "/a\x00b" }), "not an absolute path"},
		{"no time index", c, change(func(r *CopyRequest) { r.Paths.TimeIndex = "" }), "time_index: missing"},
		{"long path", c, change(func(r *CopyRequest) { r.Paths.Log = "/" + strings.Repeat("x", maxPath) }), "at most 4096"},
		{"negative offset", c, change(func(r *CopyRequest) { r.Segment.BaseOffset = -1 }), "base_offset"},
		{"end before base", c, change(func(r *CopyRequest) { r.Segment.EndOffset = 999 }), "end_offset"},
		{"negative partition", c, change(func(r *CopyRequest) { r.Segment.Partition = -1 }), "partition"},
		{"zero topic id", c, change(func(r *CopyRequest) { r.Segment.TopicID = [16]byte{} }), "topic_id: zero"},
		{"no topic", c, change(func(r *CopyRequest) { r.Segment.Topic = "" }), "topic: missing"},
		{"long topic", c, change(func(r *CopyRequest) { r.Segment.Topic = strings.Repeat("x", 250) }), "at most 249"},
		{"not UTF-8", c, change(func(r *CopyRequest) { r.Segment.Topic = "a\xff" }), "not UTF-8"},
		{"custom", c, change(func(r *CopyRequest) { r.Segment.Custom = make([]byte, maxCustom+1) }), "custom"},
		{"no deadline", c, change(func(r *CopyRequest) { r.Deadline = 0 }), "deadline_ms"},
		{"wrong kind", c, buildDelete(testDelete), "kind 5 where 3"},
		{"start", s, stream(func(r *StreamRequest) { r.Start = -1 }), "start"},
		{"end", s, stream(func(r *StreamRequest) { r.End = 3 }), "before the start"},
		{"kind", s, stream(func(r *StreamRequest) { r.Kind = 6 }), "kind"},
		{"slab size", i, initial(func(r *InitRequest) { r.SlabSize = minSlab + 1 }), "multiple"},
		{"slab count", i, initial(func(r *InitRequest) { r.SlabCount = 0 }), "slab_count"},
		{"property twice", decoder(decodeOpen), buildOpen(testOpen, "store", "store"), "given twice"},
	}
	for _, c := range cases {
		_, err := c.decode(c.frame)
		if !status.Is(err, status.Invalid) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want Invalid with %q", c.name, err, c.text)
		}
	}
}

// A small message that points at one large element very often must not become a large structure.
func TestDecodeBoundsExpansion(t *testing.T) {
	frame := build(KindSegments, func(b *builder) flatbuffers.UOffsetT {
		big := testSegment()
		big.Custom = make([]byte, maxCustom)
		one := buildSegment(b, big)
		offsets := make([]flatbuffers.UOffsetT, maxSegments)
		for i := range offsets {
			offsets[i] = one
		}
		list := vector(b, wire.SegmentsRequestStartSegmentsVector, offsets)
		p := buildPartition(b, testPartition)
		wire.SegmentsRequestStart(b)
		wire.SegmentsRequestAddPartition(b, p)
		wire.SegmentsRequestAddSegments(b, list)
		return wire.SegmentsRequestEnd(b)
	})
	if _, err := decodeSegments(frame); !status.Is(err, status.Invalid) || !strings.Contains(err.Error(), "expands") {
		t.Errorf("err = %v", err)
	}
}

func FuzzMessages(f *testing.F) {
	all := messages()
	for i, m := range all {
		f.Add(uint8(i), m.frame)
		f.Add(uint8(i), m.frame[frameHeader:])
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		m := all[int(which)%len(all)]
		kind, _, _ := frameKind(m.frame)
		if len(data) > MaxPayload {
			return
		}
		for _, frame := range [][]byte{data, EncodeFrame(kind, 0, data)} {
			if _, err := m.decode(frame); err != nil && !status.Is(err, status.Invalid) {
				t.Fatalf("%s: %v", m.name, err)
			}
		}
	})
}
