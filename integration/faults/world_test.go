package faults

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/cgo/assemble"
	"tidemark/cgo/assemble/assembletest"
	"tidemark/cgo/dispatch"
	"tidemark/integration/faultproxy"
	"tidemark/integration/faults/table"
	"tidemark/integration/objectserver"
	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/objectstore/s3"
)

// Sizes: a segment of four parts.
const (
	partBytes = 5 << 20
	parts     = 4
	batches   = 72 // of 256 KiB
)

// hang is when a call counts as one that never returns.
const hang = 2 * time.Minute

// world is one row: a broker's plugin over a proxy over the server.
type world struct {
	*testing.T
	row        string
	server     *objectserver.Server
	proxy      *faultproxy.Proxy
	properties map[string]string
	instance   dispatch.Instance
	log        *assembletest.Log
	direct     *s3.Store // past the proxy
	local      *segmentFiles

	mu    sync.Mutex
	fails []string
	live  int // segments that are stored
	next  byte
}

// segmentFiles is what all segments of the tests have in them.
type segmentFiles struct {
	paths dispatch.Paths
	log   []byte
	end   int64
}

func makeSegment(t *testing.T) *segmentFiles {
	t.Helper()
	s := logtest.NewSegment(0)
	s.Epochs = []kafkalog.EpochStart{{Epoch: 0, Start: 0}}
	random, value := mrand.NewChaCha8([32]byte{1}), make([]byte, 256<<10)
	for range batches {
		_, _ = random.Read(value)
		s.Produce(kafkalog.None, string(value))
	}
	f, err := s.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &segmentFiles{log: s.Log, end: s.Next() - 1, paths: dispatch.Paths{Log: f.Log, OffsetIndex: f.OffsetIndex, TimeIndex: f.TimeIndex,
		ProducerSnapshot: f.ProducerSnapshot, LeaderEpochs: s.LeaderEpochs()}}
}

func (w *world) Errorf(format string, args ...any) {
	w.Helper()
	w.mu.Lock()
	w.fails = append(w.fails, fmt.Sprintf(format, args...))
	w.mu.Unlock()
	w.T.Errorf(format, args...)
}

func (w *world) Fatalf(format string, args ...any) {
	w.Helper()
	w.Errorf(format, args...)
	w.FailNow()
}

// newWorld opens an instance with small deadlines; change may alter its settings.
func newWorld(t *testing.T, row string, server *objectserver.Server, local *segmentFiles, change map[string]string) *world {
	t.Helper()
	w := &world{T: t, row: row, server: server, local: local, log: &assembletest.Log{}}
	t.Cleanup(w.report)
	prefix := strings.ToLower(row) + "-" + rand.Text()[:8]
	var err error
	if w.direct, err = s3.Open(t.Context(), server.Config(prefix), slog.New(slog.DiscardHandler)); err != nil {
		w.Fatalf("%v", err)
	}
	t.Cleanup(w.direct.Close)
	w.proxy, err = faultproxy.Start(faultproxy.Options{Target: server.Endpoint, Seed: 1, Object: w.whole})
	if err != nil {
		w.Fatalf("%v", err)
	}
	t.Cleanup(func() { w.proxy.Close() })
	w.properties = map[string]string{
		"store.type": "s3", "store.s3.endpoint": w.proxy.Endpoint, "store.s3.bucket": server.Bucket, "store.s3.region": objectserver.Region,
		"store.s3.path.style": "true", "store.s3.credentials": "static", "store.s3.access.key": server.AccessKey, "store.s3.secret.key": server.SecretKey,
		"store.s3.prefix": prefix, "store.s3.part.bytes": fmt.Sprint(partBytes), "store.s3.single.put.below.bytes": fmt.Sprint(partBytes),
		"store.s3.checksum": "crc32c", "store.s3.sign.payload": "false", "tables.enabled": "false", "local.dir": filepath.Join(t.TempDir(), "local"),
		"copy.deadline.ms": "20000", "copy.min.rate": "16777216", "copy.cleanup.deadline.ms": "2000", "fetch.deadline.ms": "6000",
		"fetch.min.rate": "16777216", "fetch.cache.bytes": "33554432", "delete.interval.ms": "20", "delete.backoff.max.ms": "200", "delete.deadline.ms": "3000",
	}
	maps.Copy(w.properties, change)
	w.open()
	t.Cleanup(w.end)
	return w
}

func (w *world) whole(ctx context.Context, path string) (io.ReadCloser, int64, error) {
	key, ok := w.direct.Key("s3:/" + path)
	if !ok {
		return nil, 0, fmt.Errorf("%s is not in the store", path)
	}
	data, _, err := w.direct.Get(ctx, key, 1<<30)
	return io.NopCloser(bytes.NewReader(data)), int64(len(data)), err
}

func (w *world) open() {
	w.Helper()
	i, err := assemble.Open(context.Background(), dispatch.OpenRequest{NodeID: 1, Properties: maps.Clone(w.properties), Version: "0.1.0"},
		slog.New(slog.NewTextHandler(w.log, nil)))
	if err != nil {
		w.Fatalf("open: %v", err)
	}
	w.instance = i
}

func (w *world) close() {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := w.instance.Close(ctx); err != nil {
		w.Errorf("close: %v", err)
	}
}

// end is what every row demands at its end.
func (w *world) end() {
	w.script()
	if n := w.metric("copy_in_flight"); n != 0 {
		w.Errorf("%v copies are in flight at the end", n)
	}
	w.close()
	if w.Failed() {
		log := w.log.String()
		w.Logf("the end of the plugin's log:\n%s", log[max(0, len(log)-4000):])
	}
}

// report writes how the row came out; it runs last.
func (w *world) report() {
	o := table.Outcome{Row: w.row, Outcome: table.Pass}
	switch {
	case w.Skipped():
		o.Outcome = table.Cannot
	case w.Failed():
		o.Outcome = table.Fail
	}
	if len(w.fails) > 0 {
		o.Because = w.fails[0]
	}
	record(o)
}

var recording sync.Mutex

func record(o table.Outcome) {
	recording.Lock()
	defer recording.Unlock()
	line, _ := json.Marshal(o)
	_ = os.MkdirAll("../../build", 0o755)
	f, err := os.OpenFile("../../build/faults.jsonl", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n'))
}

func (w *world) script(rules ...faultproxy.Rule) {
	w.Helper()
	for i := range rules {
		if rules[i].Name == "" {
			rules[i].Name = "fault"
		}
	}
	if err := w.proxy.Script(rules...); err != nil {
		w.Fatalf("%v", err)
	}
}

// metric is the sum over labels.
func (w *world) metric(name string) (sum float64) {
	samples, err := w.instance.Samples()
	if err != nil {
		w.Errorf("metrics: %v", err)
	}
	found := false
	for _, s := range samples {
		if strings.TrimPrefix(s.Name, "tidemark_") == name {
			sum, found = sum+s.Value, true
		}
	}
	if !found {
		w.Errorf("there is no metric %s", name)
	}
	return sum
}

// bounded calls f and gives up on it when it hangs.
func (w *world) bounded(what string, limit time.Duration, f func() error) error {
	w.Helper()
	done, began := make(chan error, 1), time.Now()
	go func() { done <- f() }()
	select {
	case err := <-done:
		if took := time.Since(began); took > limit {
			w.Errorf("%s took %v, its bound is %v", what, took.Round(time.Second), limit)
		}
		return err
	case <-time.After(hang):
		w.Fatalf("%s hangs", what)
		return nil
	}
}

func (w *world) until(what string, limit time.Duration, cond func() bool) {
	w.Helper()
	for end := time.Now().Add(limit); !cond(); time.Sleep(20 * time.Millisecond) { // the pace of looking at a condition
		if time.Now().After(end) {
			w.Fatalf("not within %v: %s", limit, what)
		}
	}
}
