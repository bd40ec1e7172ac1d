package catalog

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/status"
)

func sampleFooter() FileFooter {
	return FileFooter{
		Claim: Claim{ClusterID: "c", TopicID: TopicID{0xff, 2}}, Role: Quarantine, LeaderEpoch: 4, Layout: "1", Pipeline: "1",
		Range:      Range{Partition: 3, Base: 10, End: 20, BatchEpoch: 2, LastBatchBase: 17, LastBatchCRC: 0xffffffff, LastRow: -1},
		Generation: 2, Part: 1, Parts: 2, Counts: Counts{Rows: 1, Quarantined: 2, Aborted: 3, Control: 4, Tombstones: 5},
	}
}

func TestFooterRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := sampleFooter()
		f.Claim.ClusterID = rapid.String().Draw(t, "cluster")
		f.Range.Partition = rapid.Int32Min(0).Draw(t, "partition")
		f.Range.End = rapid.Int64Min(1).Draw(t, "end")
		f.Range.Base = rapid.Int64Range(0, f.Range.End-1).Draw(t, "base")
		f.Range.LastBatchCRC = rapid.Uint32().Draw(t, "crc")
		f.Range.LastRow = rapid.Int64Min(-1).Draw(t, "row")
		f.Counts.Rows = rapid.Int64Min(0).Draw(t, "rows")
		got, ok, err := DecodeFooter(f.Encode())
		if err != nil || !ok || got != f {
			t.Fatalf("got %+v, %v, %v\nwant %+v", got, ok, err, f)
		}
	})
}

// TestFooterGolden pins the text of docs/format/table-files.md.
func TestFooterGolden(t *testing.T) {
	want := map[string]string{
		"tidemark.footer": "1", "tidemark.cluster-id": "c", "tidemark.topic-id": "_wIAAAAAAAAAAAAAAAAAAA", "tidemark.role": "quarantine",
		"tidemark.range": "3 10 20", "tidemark.end": "2 17 4294967295 -1", "tidemark.leader-epoch": "4", "tidemark.layout": "1",
		"tidemark.pipeline": "1", "tidemark.generation": "2", "tidemark.part": "1 2", "tidemark.counts": "1 2 3 4 5",
	}
	if got := sampleFooter().Encode(); !maps.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestFooterBadInput(t *testing.T) {
	if _, ok, err := DecodeFooter(map[string]string{"writer.model.name": "avro"}); ok || err != nil {
		t.Errorf("another writer's file: %v, %v", ok, err)
	}
	for key := range sampleFooter().Encode() {
		kv := sampleFooter().Encode()
		if delete(kv, key); key != footerVersion {
			if _, ok, err := DecodeFooter(kv); ok || !status.Is(err, status.Corrupt) {
				t.Errorf("without %s: %v", key, err)
			}
		}
	}
	bad := map[string]string{
		footerVersion: "2", footerTopicID: "short", footerRange: "3 20 20", footerEnd: "2 17 4294967296 -1", footerEpoch: "4294967296",
		footerGeneration: "-1", footerPart: "3 2", footerCounts: "1 2 3 4 05",
	}
	for key, value := range bad {
		kv := sampleFooter().Encode()
		kv[key] = value
		if _, ok, err := DecodeFooter(kv); ok || err == nil {
			t.Errorf("%s = %q is accepted", key, value)
		}
	}
}

func FuzzFooter(f *testing.F) {
	e := sampleFooter().Encode()
	f.Add(e[footerRange], e[footerEnd], e[footerPart], e[footerCounts], e[footerTopicID])
	f.Fuzz(func(t *testing.T, span, end, part, counts, topicID string) {
		kv := sampleFooter().Encode()
		kv[footerRange], kv[footerEnd], kv[footerPart], kv[footerCounts], kv[footerTopicID] = span, end, part, counts, topicID
		if got, ok, err := DecodeFooter(kv); err == nil && (!ok || !maps.Equal(got.Encode(), kv)) {
			t.Errorf("%v is read as %+v", kv, got)
		}
	})
}
