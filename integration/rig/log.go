package rig

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// segmentFile is a copy of a segment's log file.
type segmentFile struct {
	Base int64
	Data []byte
}

// Saved are copies of the log files of a topic by partition, in offset order.
type Saved map[int32][]segmentFile

// Whole is the bytes of a partition.
func (s Saved) Whole(partition int32) (all []byte) {
	for _, f := range s[partition] {
		all = append(all, f.Data...)
	}
	return all
}

// Save copies the log files that are on the first broker's disks; nothing may be produced meanwhile.
func (w *Rig) Save(topic string) Saved {
	w.Helper()
	out := Saved{}
	for _, dir := range w.Cluster.Nodes[0].LogDirs {
		files, _ := filepath.Glob(filepath.Join(dir, topic+"-*", "*.log"))
		for _, name := range files {
			partition, err1 := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(name)), topic+"-"))
			base, err2 := strconv.ParseInt(strings.TrimSuffix(filepath.Base(name), ".log"), 10, 64)
			data, err3 := os.ReadFile(name)
			if err1 != nil || err2 != nil || err3 != nil {
				w.Fatalf("%s: %v %v %v", name, err1, err2, err3)
			}
			if len(data) > 0 {
				out[int32(partition)] = append(out[int32(partition)], segmentFile{base, data})
			}
		}
	}
	for _, files := range out {
		sort.Slice(files, func(i, j int) bool { return files[i].Base < files[j].Base })
	}
	return out
}

// TopicID is the id of a topic.
func (w *Rig) TopicID(topic string) (id [16]byte, text string) {
	w.Helper()
	w.Eventually(30*time.Second, func() error {
		topics, err := w.Admin().ListTopics(w.Ctx, topic)
		if err != nil {
			return err
		}
		id = topics[topic].ID
		return topics[topic].Err
	})
	return id, base64.RawURLEncoding.EncodeToString(id[:])
}

// StoreDir is the file store.
func (w *Rig) StoreDir() string { return filepath.Join(w.Cluster.Dir(), "store") }

// StoredSegment is a segment's objects in the file store.
type StoredSegment struct {
	Partition int32
	Base      int64
	Log       string // path
	Complete  bool   // the sidecar is there
}

func (s StoredSegment) Sidecar() string { return strings.TrimSuffix(s.Log, ".log") + ".sidecar" }

// Stored are the segments of a topic id in the file store by partition and base offset.
func (w *Rig) Stored(topicID string) []StoredSegment {
	w.Helper()
	var out []StoredSegment
	files, _ := filepath.Glob(filepath.Join(w.StoreDir(), "segments", topicID, "*", "*.log"))
	for _, name := range files {
		partition, err1 := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		base, err2 := strconv.ParseInt(filepath.Base(name)[:20], 10, 64)
		if err1 != nil || err2 != nil {
			w.Fatalf("%s is no segment: %v %v", name, err1, err2)
		}
		s := StoredSegment{Partition: int32(partition), Base: base, Log: name}
		_, err := os.Stat(s.Sidecar())
		s.Complete = err == nil
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Partition < out[j].Partition || out[i].Partition == out[j].Partition && out[i].Base < out[j].Base
	})
	return out
}

// SameStored fails unless every saved segment is in the store, complete and with the same bytes, and so is every copy that a crash repeated.
func (w *Rig) SameStored(topicID string, want Saved) (segments int) {
	w.Helper()
	at := map[[2]int64]segmentFile{}
	for p, files := range want {
		for _, f := range files {
			at[[2]int64{int64(p), f.Base}] = f
		}
	}
	found := map[[2]int64]bool{}
	for _, s := range w.Stored(topicID) {
		id := [2]int64{int64(s.Partition), s.Base}
		f, ok := at[id]
		if !s.Complete {
			continue
		}
		data, err := os.ReadFile(s.Log)
		switch {
		case err != nil:
			w.Fatal(err)
		case !ok:
			w.Errorf("%s is the copy of no log file", s.Log)
		case Different(data, f.Data) != "":
			w.Errorf("%s differs from the log file of partition %d at offset %d: %s", s.Log, s.Partition, s.Base, Different(data, f.Data))
		}
		found[id] = true
	}
	for id := range at {
		if !found[id] {
			w.Errorf("the segment of partition %d at offset %d is not in the store", id[0], id[1])
		}
	}
	return len(found)
}

// nextBatch is the offset after the last record of a batch and its length; ok is false if the bytes end before it does.
func nextBatch(b []byte) (next int64, length int, ok bool) {
	const header = 61
	if len(b) < header {
		return 0, 0, false
	}
	length = 12 + int(binary.BigEndian.Uint32(b[8:]))
	if len(b) < length {
		return 0, 0, false
	}
	return int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[23:])) + 1, length, true
}

// BatchKinds counts the batches of raw log bytes by codec, and the control batches.
func BatchKinds(raw []byte) (codecs map[string]int, control int) {
	names := []string{"none", "gzip", "snappy", "lz4", "zstd"}
	codecs = map[string]int{}
	for {
		_, length, ok := nextBatch(raw)
		if !ok {
			return codecs, control
		}
		attributes := binary.BigEndian.Uint16(raw[21:])
		if attributes&0x20 != 0 {
			control++
		} else {
			codecs[names[attributes&7]]++
		}
		raw = raw[length:]
	}
}

// FetchOnce sends one fetch request to a partition's leader and returns the whole batches of the answer.
func (w *Rig) FetchOnce(cl *kgo.Client, topic string, partition int32, offset int64) ([]byte, int64, error) {
	topics, err := w.Admin().ListTopics(w.Ctx, topic)
	if err != nil {
		return nil, offset, err
	}
	return w.fetchFrom(cl, topics[topic].Partitions[partition].Leader, topics[topic].ID, topic, partition, offset)
}

// fetchFrom is FetchOnce from any replica: a broker serves consumers also where it follows.
func (w *Rig) fetchFrom(cl *kgo.Client, broker int32, id [16]byte, topic string, partition int32, offset int64) ([]byte, int64, error) {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 2000, 1, 32<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = topic, id
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 4<<20
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	answer, err := cl.Broker(int(broker)).Request(w.Ctx, req)
	if err != nil {
		return nil, offset, err
	}
	resp := answer.(*kmsg.FetchResponse)
	if resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, offset, fmt.Errorf("fetch of %s-%d at %d: error code %d, %d topics", topic, partition, offset, resp.ErrorCode, len(resp.Topics))
	}
	got := resp.Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return nil, offset, err
	}
	raw, whole := got.RecordBatches, 0
	for {
		next, length, ok := nextBatch(raw[whole:])
		if !ok {
			return raw[:whole], offset, nil
		}
		whole, offset = whole+length, next
	}
}

// FetchAll reads a partition from offset 0 to its end by raw fetch requests to its leader and returns the bytes of its batches.
func (w *Rig) FetchAll(topic string, partition int32) []byte {
	w.Helper()
	defer w.Took(fmt.Sprintf("%s-%d read through Fetch", topic, partition), time.Now())
	cl := w.Client()
	return w.fetchAll(topic, partition, func(at int64) ([]byte, int64, error) { return w.FetchOnce(cl, topic, partition, at) })
}

// FetchAllFrom is FetchAll from one broker, which leads or follows.
func (w *Rig) FetchAllFrom(broker int, topic string, partition int32) []byte {
	w.Helper()
	cl := w.Client()
	defer cl.Close()
	id, _ := w.TopicID(topic)
	return w.fetchAll(topic, partition, func(at int64) ([]byte, int64, error) {
		return w.fetchFrom(cl, int32(broker), id, topic, partition, at)
	})
}

func (w *Rig) fetchAll(topic string, partition int32, fetch func(at int64) ([]byte, int64, error)) []byte {
	w.Helper()
	ends, err := w.Admin().ListEndOffsets(w.Ctx, topic)
	if err != nil {
		w.Fatal(err)
	}
	end, _ := ends.Lookup(topic, partition)
	var all []byte
	at := int64(0)
	w.Eventually(time.Minute, func() error {
		for at < end.Offset {
			raw, next, err := fetch(at)
			if err != nil {
				return fmt.Errorf("%s-%d at offset %d: %w", topic, partition, at, err)
			}
			if next == at {
				return fmt.Errorf("%s-%d gives nothing at offset %d, its end is %d", topic, partition, at, end.Offset)
			}
			all, at = append(all, raw...), next
		}
		return nil
	})
	return all
}

// AwaitLog waits until a broker has printed a text in its present life.
func (w *Rig) AwaitLog(node int, text string, d time.Duration) {
	w.Helper()
	w.Eventually(d, func() error {
		if !strings.Contains(w.Cluster.Nodes[node].LifeLog(), text) {
			return fmt.Errorf("the broker has not printed %q", text)
		}
		return nil
	})
}
