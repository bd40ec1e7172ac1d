package assembletest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"tidemark/catalog"
	"tidemark/cgo/assemble"
	"tidemark/cgo/dispatch"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/tables"
)

// Topic is the name of the topic every broker has.
const Topic = "flights"

// Log is a log that tests can read while it is written.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String is what was logged.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Broker is one broker with a tiered topic of one partition.
type Broker struct {
	Kafka      *kfake.Cluster
	Client     *kafkaclient.Client
	ID         catalog.TopicID
	StoreDir   string
	LogDir     string
	Properties map[string]string // of Tidemark, prefix stripped
	Log        *Log
	Instance   dispatch.Instance // nil while closed
	Listed     []dispatch.Segment
	Unfinished map[[16]byte]bool // segments in COPY_SEGMENT_STARTED; what is given up is taken out

	t    testing.TB
	open *logtest.Segment // the active segment
}

// New makes a broker that is not open yet, on a file store.
func New(t testing.TB) *Broker {
	t.Helper()
	k, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	b := &Broker{t: t, Kafka: k, StoreDir: filepath.Join(t.TempDir(), "store"), LogDir: filepath.Join(t.TempDir(), "logs"), Log: &Log{}, open: logtest.NewSegment(0)}
	b.open.Epochs = []kafkalog.EpochStart{{Epoch: 0, Start: 0}}
	if err := os.MkdirAll(filepath.Join(b.LogDir, Topic+"-0"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Properties = map[string]string{
		"store.type": assemble.StoreFile, "store.path": b.StoreDir, "local.dir": filepath.Join(t.TempDir(), "local"),
		"tables.topic.replication.factor": "1", "tables.linger.ms": "10", "tables.list.interval.ms": "1000", "tables.refresh.interval.ms": "1000",
		"delete.interval.ms": "20", "delete.backoff.max.ms": "100",
	}
	b.Client, err = kafkaclient.Open(kafkaclient.Config{Bootstrap: b.Bootstrap(), ClientID: "test", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Client.Close)
	b.ID = b.Topic(Topic, map[string]string{"remote.storage.enable": "true"})
	return b
}

// Bootstrap is the address of the fake cluster.
func (b *Broker) Bootstrap() string { return b.Kafka.ListenAddrs()[0] }

// Topic makes a topic of one partition and returns its id.
func (b *Broker) Topic(name string, config map[string]string) catalog.TopicID {
	b.t.Helper()
	if err := b.Kafka.CreateTopic(name, 1, config); err != nil {
		b.t.Fatal(err)
	}
	info, err := b.Client.DescribeTopic(b.deadline(), name)
	if err != nil {
		b.t.Fatal(err)
	}
	return info.ID
}

func (b *Broker) deadline() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	b.t.Cleanup(cancel)
	return ctx
}

// Partition is the topic's only one.
func (b *Broker) Partition() dispatch.TopicPartition {
	return dispatch.TopicPartition{TopicID: b.ID, Topic: Topic}
}

// Open opens the instance and tells it what the metadata manager knows. The broker leads the partition.
func (b *Broker) Open() {
	b.t.Helper()
	i, err := assemble.Open(b.deadline(), dispatch.OpenRequest{NodeID: 1, Properties: maps.Clone(b.Properties), Version: "0.1.0"}, slog.New(slog.NewTextHandler(b.Log, nil)))
	if err != nil {
		b.t.Fatal(err)
	}
	b.Instance = i
	b.t.Cleanup(b.Close)
	i.Facts(dispatch.FactsRequest{ClusterID: "cluster", Bootstrap: b.Bootstrap(), SecurityProtocol: "PLAINTEXT", LogDir: b.LogDir})
	i.Leadership(dispatch.LeadershipRequest{Leaders: []dispatch.TopicPartition{b.Partition()}})
}

// Close closes the instance if it is open.
func (b *Broker) Close() {
	b.t.Helper()
	if b.Instance == nil {
		return
	}
	if err := b.Instance.Close(b.deadline()); err != nil {
		b.t.Errorf("close: %v; log:\n%s", err, b.Log)
	}
	b.Instance = nil
}

// Define writes a definition of a table as the operator's command does.
func (b *Broker) Define(change func(*tables.Definition)) {
	b.t.Helper()
	d := tables.Definition{Version: tables.DefinitionVersion, TopicID: b.ID.String(), Topic: Topic, Namespace: "kafka", Table: Topic, Format: tables.FormatRaw,
		PartitionBy: tables.PartitionByNone, State: tables.StateLive, Pipeline: 1}
	if change != nil {
		change(&d)
	}
	ctx := b.deadline()
	if err := b.Client.EnsureTopic(ctx, tables.DefinitionsTopic, 1, 1, map[string]string{"cleanup.policy": "compact"}); err != nil {
		b.t.Fatal(err)
	}
	if err := b.Client.Produce(ctx, tables.DefinitionsTopic, []byte(d.TopicID), d.Encode()); err != nil {
		b.t.Fatal(err)
	}
}

// Roll produces records, closes the segment and copies it. It returns the segment as the metadata manager lists it from now on, and
// the bytes of its log.
func (b *Broker) Roll(values ...string) (dispatch.Segment, []byte) {
	b.t.Helper()
	for _, v := range values {
		if err := b.Client.Produce(b.deadline(), Topic, nil, []byte(v)); err != nil {
			b.t.Fatal(err)
		}
	}
	s := b.open
	s.Produce(kafkalog.None, values...)
	b.open = s.Roll()
	f, err := s.Write(filepath.Join(b.LogDir, Topic+"-0"))
	if err != nil {
		b.t.Fatal(err)
	}
	seg := dispatch.Segment{TopicID: b.ID, Topic: Topic, ID: [16]byte{1, byte(s.Base >> 8), byte(s.Base), 9}, BaseOffset: s.Base, EndOffset: s.Next() - 1,
		MaxTimestamp: 1000 * (s.Next() - 1), Size: int64(len(s.Log)), Epochs: []dispatch.Epoch{{Epoch: 0, Start: s.Base}}, BrokerID: 1, TxnIndexEmpty: f.TxnIndex == ""}
	seg.Custom, err = b.Instance.Copy(b.deadline(), dispatch.CopyRequest{Segment: seg, Deadline: time.Minute, Paths: dispatch.Paths{Log: f.Log, OffsetIndex: f.OffsetIndex,
		TimeIndex: f.TimeIndex, ProducerSnapshot: f.ProducerSnapshot, TxnIndex: f.TxnIndex, LeaderEpochs: s.LeaderEpochs()}})
	if err != nil {
		b.t.Fatalf("copy: %v; log:\n%s", err, b.Log)
	}
	b.Listed = append(b.Listed, seg)
	return seg, bytes.Clone(s.Log)
}

// Answer gives the lists that are wanted now.
func (b *Broker) Answer() {
	for _, p := range b.Instance.Wanted() {
		req := dispatch.SegmentsRequest{Partition: p}
		for _, s := range b.Listed {
			if s.EndOffset >= p.From {
				req.Segments = append(req.Segments, s)
			}
		}
		b.Instance.Segments(req)
	}
	for _, q := range b.Instance.StatesWanted() {
		b.Instance.States(b.states(q))
	}
}

// states answers as the metadata manager does.
func (b *Broker) states(q dispatch.StatesWanted) dispatch.StatesRequest {
	answer := dispatch.StatesRequest{Ticket: q.Ticket}
	for _, s := range b.Listed {
		answer.End = max(answer.End, s.EndOffset+1)
	}
	for _, id := range q.Segments {
		state := int8(-1)
		if slices.ContainsFunc(b.Listed, func(s dispatch.Segment) bool { return s.ID == id }) {
			state = 1
		} else if b.Unfinished[id] {
			state = 0
			if q.GiveUp {
				delete(b.Unfinished, id)
				answer.GivenUp++
			}
		}
		answer.States = append(answer.States, state)
	}
	return answer
}

// Until answers for lists until cond holds.
func (b *Broker) Until(what string, cond func() bool) {
	b.t.Helper()
	end := time.Now().Add(time.Minute)
	for !cond() {
		if time.Now().After(end) {
			b.t.Fatalf("not within a minute: %s; log:\n%s", what, b.Log)
		}
		if b.Instance != nil {
			b.Answer()
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Ledger is what the table says of itself; ok is false while there is none.
func (b *Broker) Ledger() (l catalog.Ledger, ok bool) {
	b.t.Helper()
	if _, err := os.Stat(filepath.Join(b.StoreDir, "catalog")); err != nil {
		return l, false
	}
	_, cat, release, err := assemble.OpenStore(b.deadline(), b.Properties, slog.New(slog.DiscardHandler))
	if err != nil {
		b.t.Fatal(err)
	}
	defer release()
	group, err := cat.LoadGroup(b.deadline(), b.ID)
	if err != nil {
		return l, false
	}
	view, _ := group.View(catalog.Main)
	reading := catalog.Read(view, group.Claim)
	return reading.Ledger, reading.Usable()
}

// Covered waits until the table covers all offsets below next.
func (b *Broker) Covered(next int64) {
	b.t.Helper()
	b.Until(fmt.Sprintf("the table covers [0, %d)", next), func() bool {
		l, ok := b.Ledger()
		return ok && l.Progress(0).Next >= next
	})
}

// Read reads a stream whole.
func (b *Broker) Read(req dispatch.StreamRequest) ([]byte, error) {
	ctx := b.deadline()
	s, total, err := b.Instance.Open(ctx, req)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	var out []byte
	for dst := make([]byte, 1000); int64(len(out)) < total; {
		n, err := s.Next(ctx, dst)
		out = append(out, dst[:n]...)
		if err != nil && (err != io.EOF || int64(len(out)) < total) {
			return out, err
		}
	}
	return out, nil
}

// Holds are the names of the hold files in the log directory.
func (b *Broker) Holds() (names []string) {
	entries, _ := os.ReadDir(b.LogDir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "tidemark-") {
			names = append(names, e.Name())
		}
	}
	return names
}
