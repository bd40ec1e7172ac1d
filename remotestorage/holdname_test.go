package remotestorage

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestHoldNameRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SliceOfN(rapid.Byte(), 16, 16)
		base := rapid.Int64Range(0, math.MaxInt64-1).Draw(t, "base")
		want := Held{
			TopicID: [16]byte(id.Draw(t, "topic")), SegmentID: [16]byte(id.Draw(t, "segment")),
			Partition: rapid.Int32Range(0, math.MaxInt32).Draw(t, "partition"), Epoch: rapid.Int32Range(0, math.MaxInt32).Draw(t, "epoch"),
			Generation: uint64(rapid.Int64Range(0, math.MaxInt64).Draw(t, "generation")),
			Base:       base, End: rapid.Int64Range(base, math.MaxInt64).Draw(t, "end"),
		}
		if got, ok := ParseHoldName(want.name()); !ok || got != want {
			t.Fatalf("%s: %v, %+v, want %+v", want.name(), ok, got, want)
		}
		if len(want.name()) > 255 {
			t.Fatalf("%d characters", len(want.name()))
		}
	})
}

func TestHoldNameIsStrict(t *testing.T) {
	good := Held{TopicID: [16]byte{0xff, 0xfb, 0xef}, Partition: 3, Base: 10, End: 20, Epoch: 4, Generation: 2, SegmentID: [16]byte{15: 0xff}}.name()
	if good != "tidemark-__vvAAAAAAAAAAAAAAAAAA-3-10-20-4-2-AAAAAAAAAAAAAAAAAAAA_w.hold" {
		t.Errorf("name %s", good)
	}
	for _, bad := range []string{
		"", "tidemark-", ".hold", good + ".tmp", "x" + good, strings.ToUpper(good),
		strings.Replace(good, "-3-", "-03-", 1), strings.Replace(good, "-3-", "--3-", 1), strings.Replace(good, "-3-", "-4294967296-", 1),
		strings.Replace(good, "-10-20-", "-20-10-", 1), strings.Replace(good, "-10-", "-99999999999999999999-", 1),
		strings.Replace(good, "_w.hold", "_x.hold", 1), // the same id in another spelling
		strings.Replace(good, "_w.hold", "_.hold", 1), strings.Replace(good, "-4-", "-", 1), good + "\n",
	} {
		if h, ok := ParseHoldName(bad); ok {
			t.Errorf("%q was read as %+v", bad, h)
		}
	}
}
