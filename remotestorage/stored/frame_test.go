package stored

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares data with testdata/name, a hex dump.
func golden(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(hex.Dump(data)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden file: %v (make it with -update)", err)
	}
	if got := []byte(hex.Dump(data)); !bytes.Equal(got, want) {
		t.Errorf("%s: the format has changed.\ngot\n%s\nwant\n%s", name, got, want)
	}
}

func uuid(first byte) (id [16]byte) {
	for i := range id {
		id[i] = first + byte(i)
	}
	return id
}

// sample is a small segment with every index.
func sample() (Manifest, []Content) {
	c := NewChunker(MinChunkSize)
	c.Write(bytes.Repeat([]byte("Kafka"), 30_000))
	m, _ := c.Finish()
	return Manifest{
			Identity: Identity{TopicID: uuid(0x10), Partition: 3, SegmentID: uuid(0xA0), BaseOffset: 1000},
			Topic:    "flights", EndOffset: 1999, MaxTimestamp: 1_700_000_000_123, Map: m, Writer: "0.1.0", BrokerID: 7,
		}, []Content{
			{OffsetIndex, []byte("offset index")}, {TimeIndex, nil}, {ProducerSnapshot, []byte("snapshot")},
			{LeaderEpochs, []byte("0\n1\n0 0\n")}, {TransactionIndex, []byte("aborted")},
		}
}
