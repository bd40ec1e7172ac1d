package builtin

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tidemark/internal/status"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func goldenGroup() group {
	return group{
		TopicID: "AQAAAAAAAAAAAAAAAAAAAQ", ClusterID: "MkU3OEVBNTcwNTJENDM2Qk", Topic: "flights.raw", Namespace: "kafka", Name: "flights_raw",
		Generation: 1, Version: 7, CommitID: "0b9f5c0e-5f0c-4a38-9a55-5d8b0e6c2f11",
		Tables: []tableRef{
			{Role: "main", Name: "flights_raw", UUID: "6f0e8a1c-0d0e-4c7e-8f8e-0f7f6a5b4c3d", Metadata: "s3://lake/tables/AQAAAAAAAAAAAAAAAAAAAQ/main/1/metadata/00007-8a1c6f0e-0d0e-4c7e-8f8e-0f7f6a5b4c3d.metadata.json"},
			{Role: "quarantine", Name: "flights_raw__quarantine", UUID: "7f0e8a1c-0d0e-4c7e-8f8e-0f7f6a5b4c3d", Metadata: "s3://lake/tables/AQAAAAAAAAAAAAAAAAAAAQ/quarantine/1/metadata/00007-9a1c6f0e-0d0e-4c7e-8f8e-0f7f6a5b4c3d.metadata.json"},
		},
	}
}

func goldenClaim() claim {
	return claim{Namespace: "kafka", Name: "flights_raw", TopicID: "AQAAAAAAAAAAAAAAAAAAAQ", ClusterID: "MkU3OEVBNTcwNTJENDM2Qk", Topic: "flights.raw", Generation: 1}
}

func golden(t *testing.T, name string, got []byte) []byte {
	t.Helper()
	path := filepath.Join("testdata", name)
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
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n got %s\nwant %s", path, got, want)
	}
	return want
}

func TestRecordsAreWrittenAndReadAsEver(t *testing.T) {
	data, err := encodeRecord(groupKind, goldenGroup())
	if err != nil {
		t.Fatal(err)
	}
	var g group
	if err := decodeRecord(golden(t, "group-1.record", data), groupKind, "group", &g); err != nil || !reflect.DeepEqual(g, goldenGroup()) {
		t.Errorf("read back %+v, %v", g, err)
	}
	data, err = encodeRecord(nameKind, goldenClaim())
	if err != nil {
		t.Fatal(err)
	}
	var c claim
	if err := decodeRecord(golden(t, "name-1.record", data), nameKind, "name", &c); err != nil || c != goldenClaim() {
		t.Errorf("read back %+v, %v", c, err)
	}
}

func TestEveryFlippedBitOfARecordIsFound(t *testing.T) {
	data, err := encodeRecord(groupKind, goldenGroup())
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		for bit := range 8 {
			damaged := bytes.Clone(data)
			damaged[i] ^= 1 << bit
			var g group
			if err := decodeRecord(damaged, groupKind, "k", &g); err == nil {
				t.Fatalf("bit %d of byte %d flipped: read as %+v", bit, i, g)
			}
		}
	}
	for n := range data {
		var g group
		if err := decodeRecord(data[:n], groupKind, "k", &g); err == nil {
			t.Fatalf("cut to %d bytes: read as %+v", n, g)
		}
	}
	later := bytes.Replace(data, []byte(groupKind+" 1 "), []byte(groupKind+" 2 "), 1)
	var g group
	if err := decodeRecord(later, groupKind, "k", &g); !status.Is(err, status.Unsupported) {
		t.Errorf("a later format: %v", err)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	data, _ := encodeRecord(groupKind, goldenGroup())
	f.Add(data)
	data, _ = encodeRecord(nameKind, goldenClaim())
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var g group
		if err := decodeRecord(data, groupKind, "k", &g); err != nil {
			return
		}
		again, err := encodeRecord(groupKind, g)
		if err != nil {
			t.Fatal(err)
		}
		var back group
		if err := decodeRecord(again, groupKind, "k", &back); err != nil || !reflect.DeepEqual(g, back) {
			t.Fatalf("%+v became %+v, %v", g, back, err)
		}
	})
}
