package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/cgo/dispatch"
	"tidemark/internal/objectstore/key"
	"tidemark/remotestorage/reclaim/sweep"
)

// record is a record of Kafka's metadata topic as its own writer lays it out, as far as it is read here.
func record(kind byte, topic string, topicID [16]byte, partition int32, id [16]byte, rest ...byte) []byte {
	b := []byte{1, kind, 0, byte(len(topic) + 1)}
	b = append(b, topic...)
	b = append(b, topicID[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(partition))
	b = append(append(append(b, 0), id[:]...), 0)
	return append(b, rest...)
}

func startedRecord(s dispatch.Segment) []byte {
	rest := binary.BigEndian.AppendUint64(nil, uint64(s.BaseOffset))
	rest = binary.BigEndian.AppendUint64(rest, uint64(s.EndOffset))
	return record(segmentRecord, s.Topic, s.TopicID, s.Partition, s.ID, append(rest, make([]byte, 32)...)...)
}

func updatedRecord(s dispatch.Segment, state byte) []byte {
	return record(updateRecord, s.Topic, s.TopicID, s.Partition, s.ID, append(make([]byte, 13), state, 0)...)
}

func TestMetadataRecords(t *testing.T) {
	s := dispatch.Segment{Topic: "t", TopicID: [16]byte{1}, ID: [16]byte{2}, Partition: 3, BaseOffset: 10, EndOffset: 19}
	m := &metadata{states: map[[16]byte]sweep.State{}, ends: map[[16]byte]int64{}, of: map[[16]byte]partitionKey{}}
	for _, step := range []struct {
		value []byte
		want  sweep.State
	}{
		{startedRecord(s), sweep.Started}, {updatedRecord(s, 1), sweep.Finished}, {record(partitionRecord, "t", s.TopicID, 3, s.ID), sweep.Finished},
		{updatedRecord(s, 2), sweep.Deleting}, {updatedRecord(s, 3), sweep.Absent},
	} {
		if err := m.take(step.value); err != nil || m.states[s.ID] != step.want {
			t.Errorf("state %d, want %d, %v", m.states[s.ID], step.want, err)
		}
	}
	if m.ends[s.ID] != 20 || m.of[s.ID] != (partitionKey{s.TopicID, 3}) {
		t.Errorf("%v %v", m.ends, m.of)
	}
	whole := startedRecord(s)
	for n := range len(whole) - 32 {
		if err := m.take(whole[:n]); err == nil {
			t.Errorf("%d bytes of a record are read", n)
		}
	}
	for at, v := range map[int]byte{0: 9, 1: 9, 2: 1} {
		other := slices.Clone(whole)
		other[at] = v
		if err := m.take(other); err == nil {
			t.Errorf("a record with %d at byte %d is read", v, at)
		}
	}
	if err := m.take(updatedRecord(s, 9)); err == nil {
		t.Error("a state without a name is read")
	}
}

func TestSweepReport(t *testing.T) {
	w := newWorld(t)
	w.Open()
	seg, _ := w.Roll("a", "b")
	begun, _ := w.Roll("c")
	w.Close()
	if err := w.Kafka.CreateTopic(metadataTopic, 1, nil); err != nil {
		t.Fatal(err)
	}
	w.fails(exitFailed, []string{"Conflict", "is empty and the store has segments"}, "sweep", "--config", w.config)
	for _, value := range [][]byte{startedRecord(seg), updatedRecord(seg, 1), startedRecord(begun)} {
		if err := w.Client.Produce(t.Context(), metadataTopic, nil, value); err != nil {
			t.Fatal(err)
		}
	}
	orphan, _ := key.Segment(w.ID, 0, 0, [16]byte{0xee})
	gone, _ := key.Segment([16]byte{0xdd}, 0, 0, [16]byte{0xee})
	for _, name := range []string{orphan, gone, "segments/notes.txt"} {
		path := filepath.Join(w.StoreDir, name)
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte("12345"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out := w.ok("sweep", "--config", w.config); !strings.Contains(out, " 0 orphaned segments") {
		t.Errorf("young objects are orphans:\n%s", out)
	}
	before := storeFiles(t, w)
	then := time.Now().Add(-time.Hour)
	for _, path := range before {
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	var r sweepOutcome
	if err := json.Unmarshal([]byte(w.ok("sweep", "--config", w.config, "--grace", "10m", "--json")), &r); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range r.Found {
		got[f.Keys[0]] = f.Action + " " + string(f.Reason)
	}
	_, begunKey := key.Segment(begun.TopicID, 0, begun.BaseOffset, begun.ID)
	want := map[string]string{orphan: "remove orphan", gone: "remove topic-deleted", "segments/notes.txt": "keep unknown-key", begunKey: "give-up copy-abandoned"}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %q, want %q", k, got[k], v)
		}
	}
	if len(got) != len(want) || r.Orphans != 3 || r.Reasons[sweep.Alive] != 1 || !slices.Equal(storeFiles(t, w), before) {
		t.Errorf("%+v", r)
	}

	mark := filepath.Join(w.StoreDir, key.Cluster("another"))
	_ = os.MkdirAll(filepath.Dir(mark), 0o755)
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	w.fails(exitFailed, []string{"Conflict", "mark of another cluster"}, "sweep", "--config", w.config)
	w.fails(exitUsage, []string{"no arguments"}, "sweep", "x")
}

func storeFiles(t *testing.T, w *world) (files []string) {
	t.Helper()
	err := filepath.WalkDir(w.StoreDir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
