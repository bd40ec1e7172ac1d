package assemble_test

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/cgo/assemble"
	"tidemark/cgo/assemble/assembletest"
	"tidemark/cgo/dispatch"
	"tidemark/internal/status"
)

// objects are the files below a part of the store.
func objects(b *assembletest.Broker, part string) (files []string) {
	_ = filepath.WalkDir(filepath.Join(b.StoreDir, part), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	return files
}

func TestTheLifeOfASegment(t *testing.T) {
	b := assembletest.New(t)
	b.Open()
	seg, log := b.Roll("a", "b", "c")
	if len(seg.Custom) == 0 || len(seg.Custom) > 128 {
		t.Errorf("%d bytes of custom metadata", len(seg.Custom))
	}
	whole, err := b.Read(dispatch.StreamRequest{Segment: seg, Kind: dispatch.StreamSegment, End: -1})
	if err != nil || !bytes.Equal(whole, log) {
		t.Errorf("fetch: %d bytes of %d, %v", len(whole), len(log), err)
	}
	part, err := b.Read(dispatch.StreamRequest{Segment: seg, Kind: dispatch.StreamSegment, Start: 10, End: 20})
	if err != nil || !bytes.Equal(part, log[10:20]) {
		t.Errorf("ranged fetch: %q, %v", part, err)
	}
	for _, kind := range []dispatch.StreamKind{dispatch.StreamOffset, dispatch.StreamTimestamp, dispatch.StreamProducerSnapshot, dispatch.StreamLeaderEpoch} {
		if _, err := b.Read(dispatch.StreamRequest{Segment: seg, Kind: kind}); err != nil {
			t.Errorf("index %d: %v", kind, err)
		}
	}
	if _, err := b.Read(dispatch.StreamRequest{Segment: seg, Kind: dispatch.StreamTransaction}); !status.Is(err, status.NotFound) {
		t.Errorf("an index that was never there: %v", err)
	}
	if _, err := b.Read(dispatch.StreamRequest{Segment: seg, Kind: 77}); !status.Is(err, status.Invalid) {
		t.Errorf("an index without a name: %v", err)
	}
	if err := b.Instance.Delete(t.Context(), seg); err != nil {
		t.Fatal(err)
	}
	b.Until("the objects of the deleted segment are gone", func() bool { return len(objects(b, "segments")) == 0 })
	if got, err := b.Instance.Samples(); err != nil || len(got) < 20 {
		t.Errorf("%d series, %v", len(got), err)
	}
}

func TestASegmentBecomesRows(t *testing.T) {
	b := assembletest.New(t)
	b.Define(nil)
	b.Open()
	b.Until("the table is live", func() bool { return strings.Contains(b.Log.String(), "to=LIVE") })
	seg, _ := b.Roll("a", "b", "c")
	b.Covered(3)
	b.Until("what the table has is not held any more", func() bool { return len(b.Holds()) == 0 })
	if err := b.Instance.Delete(t.Context(), seg); err != nil {
		t.Fatal(err)
	}
	b.Until("the objects of the deleted segment are gone", func() bool { return len(objects(b, "segments")) == 0 })
	if len(objects(b, "tables")) == 0 {
		t.Error("no file of the table is there")
	}
}

// What a table still needs stays, in the store and on disk, and outlives a restart.
func TestADeletedSegmentWaitsForItsTable(t *testing.T) {
	b := assembletest.New(t)
	b.Define(nil)
	b.Properties["tables.linger.ms"] = "600000" // nothing is converted
	b.Open()
	b.Until("the table is live", func() bool { return strings.Contains(b.Log.String(), "to=LIVE") })
	seg, _ := b.Roll("a", "b", "c")
	b.Until("the segment is held on disk", func() bool { return len(b.Holds()) == 1 })
	if err := b.Instance.Delete(t.Context(), seg); err != nil {
		t.Fatal(err)
	}
	b.Listed = nil
	time.Sleep(200 * time.Millisecond) // ten rounds of removal
	if n := len(objects(b, "segments")); n < 2 {
		t.Fatalf("%d objects of a segment that its table needs", n)
	}
	b.Close()
	b.Properties["tables.linger.ms"] = "10"
	b.Open()
	b.Covered(3) // although no list names it
	b.Until("the objects are removed once the table has the rows", func() bool { return len(objects(b, "segments")) == 0 && len(b.Holds()) == 0 })
}

// A hold file is read first; one that was truncated through Kafka's name of it is not.
func TestATruncatedHoldFileIsReplacedByTheStoredObject(t *testing.T) {
	for _, truncated := range []bool{false, true} {
		b := assembletest.New(t)
		b.Define(nil)
		b.Properties["tables.linger.ms"] = "600000"
		b.Open()
		b.Until("the table is live", func() bool { return strings.Contains(b.Log.String(), "to=LIVE") })
		b.Roll("a", "b", "c")
		b.Until("the segment is held on disk", func() bool { return len(b.Holds()) == 1 })
		b.Close()
		if truncated {
			if err := os.Truncate(filepath.Join(b.LogDir, b.Holds()[0]), 20); err != nil {
				t.Fatal(err)
			}
		} else { // only the hold file can be read
			for _, f := range objects(b, "segments") {
				if strings.HasSuffix(f, ".log") {
					if err := os.Truncate(f, 20); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		b.Properties["tables.linger.ms"] = "10"
		b.Open()
		b.Covered(3)
		b.Close()
	}
}

func TestTwoInstancesInOneProcess(t *testing.T) {
	one, two := assembletest.New(t), assembletest.New(t)
	one.Open()
	two.Open()
	a, log := one.Roll("a")
	two.Roll("b", "c")
	two.Close()
	if got, err := one.Read(dispatch.StreamRequest{Segment: a, Kind: dispatch.StreamSegment, End: -1}); err != nil || !bytes.Equal(got, log) {
		t.Errorf("after the other one closed: %d bytes, %v", len(got), err)
	}
}

func TestOpenRefuses(t *testing.T) {
	b := assembletest.New(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ key, value, words string }{
		{"store.path", "relative", "rsm.config.store.path"},
		{"local.dir", filepath.Join(file, "below"), "rsm.config.local.dir"},
		{"store.path", "/tmp/100%", "file store"},
		{"http.listener", "127.0.0.1:99999", "http.listener"},
	} {
		properties := maps.Clone(b.Properties)
		properties[c.key] = c.value
		i, err := assemble.Open(t.Context(), dispatch.OpenRequest{Properties: properties}, quiet())
		if err == nil || !strings.Contains(err.Error(), c.words) || status.Of(err) != status.Invalid {
			t.Errorf("%s=%s: %v (%v)", c.key, c.value, err, status.Of(err))
		}
		if i != nil {
			_ = i.Close(t.Context())
		}
	}
}

// An address in use is not a fault of the configuration and stops no broker.
func TestAnAddressInUse(t *testing.T) {
	b := assembletest.New(t)
	b.Properties["http.listener"] = b.Bootstrap() // the fake cluster has it
	b.Open()
	if log := b.Log.String(); !strings.Contains(log, "listener.unavailable") || !strings.Contains(log, b.Bootstrap()) {
		t.Errorf("it is not said: %s", log)
	}
	b.Roll("a")
	b.Close()
}

// The scratch files of a running instance are not taken away by a second one that is refused.
func TestASecondInstanceOnOneDirectory(t *testing.T) {
	b := assembletest.New(t)
	b.Open()
	file := filepath.Join(b.Properties["local.dir"], "scratch", "of-the-first")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if i, err := assemble.Open(t.Context(), dispatch.OpenRequest{Properties: b.Properties}, quiet()); err == nil {
		_ = i.Close(t.Context())
		t.Error("two instances share local.dir")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	b.Close()
}

// A store that cannot be reached does not stop the start, is said once, and is used once it is there.
func TestAStoreThatIsNotThereAtTheStart(t *testing.T) {
	address, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := address.Addr().String()
	_ = address.Close()
	b := assembletest.New(t)
	delete(b.Properties, "store.path")
	maps.Copy(b.Properties, map[string]string{"store.type": "s3", "store.s3.bucket": "lake", "store.s3.endpoint": "http://" + at, "store.s3.path.style": "true",
		"store.s3.credentials": "static", "store.s3.access.key": "k", "store.s3.secret.key": "hunter2"})
	b.Open()
	b.Until("it is said", func() bool { return strings.Contains(b.Log.String(), "store.unreachable") })
	address, err = net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method != http.MethodPut {
			w.WriteHeader(http.StatusNotFound)
		}
		w.Header().Set("ETag", `"1"`)
	})}
	done := make(chan error, 1)
	go func() { done <- server.Serve(address) }()
	b.Roll("a")
	b.Close()
	_ = server.Close()
	<-done
	if n := strings.Count(b.Log.String(), "store.unreachable"); n != 1 {
		t.Errorf("said %d times", n)
	}
	if !strings.Contains(b.Log.String(), "store.reachable") {
		t.Error("its return is not said")
	}
	if strings.Contains(b.Log.String(), "hunter2") {
		t.Error("the secret is in the log")
	}
}
