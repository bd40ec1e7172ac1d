package driver

import (
	"hash/crc32"
	"os"
	"testing"

	"tidemark/internal/kafkalog"
)

func TestSegmentsAreWhatABrokerWrites(t *testing.T) {
	all, err := WriteSegments(t.TempDir(), 7, 3, 200_000, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range all {
		if s.ID != 7+int64(i) || s.Size < 200_000 || s.Size > 250_000 {
			t.Errorf("segment %+v", s.ID)
		}
		f, err := os.Open(s.Log)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var last int64
		if err := kafkalog.Walk(f, s.Size, func(b kafkalog.Batch) error { last = b.LastOffset(); return nil }); err != nil {
			t.Fatal(err)
		}
		if last != s.End {
			t.Errorf("the last offset is %d, the segment says %d", last, s.End)
		}
	}
	content, err := os.ReadFile(all[2].Log)
	if err != nil {
		t.Fatal(err)
	}
	if all[2].Sum(100, 299) != crc32.Checksum(content[100:300], castagnoli) || all[2].Sum(5, -1) != crc32.Checksum(content[5:], castagnoli) {
		t.Error("checksums are of other bytes")
	}
}
