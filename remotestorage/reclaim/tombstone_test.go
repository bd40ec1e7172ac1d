package reclaim

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"testing"

	"pgregory.net/rapid"

	"tidemark/remotestorage/stored"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestJournalGolden(t *testing.T) {
	got := []byte(hex.Dump(write(t, t.TempDir())))
	const path = "testdata/tombstones.hex"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the format has changed (%v).\ngot\n%s\nwant\n%s", err, got, want)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SliceOfN(rapid.Byte(), 16, 16)
		want := Tombstone{
			Identity: stored.Identity{
				TopicID: [16]byte(id.Draw(t, "topic")), SegmentID: [16]byte(id.Draw(t, "segment")),
				Partition: rapid.Int32Range(0, 1<<30).Draw(t, "partition"), BaseOffset: rapid.Int64Range(0, 1<<62).Draw(t, "base"),
			},
			End: rapid.Int64().Draw(t, "end"), Time: rapid.Int64().Draw(t, "time"),
		}
		k := rapid.SampledFrom([]kind{wantedGone, gone}).Draw(t, "kind")
		gotKind, got, ok := decodeRecord(appendRecord(nil, k, want))
		if !ok || gotKind != k || got != want {
			t.Fatalf("%v, %v, %+v, want %v, %+v", ok, gotKind, got, k, want)
		}
	})
}
