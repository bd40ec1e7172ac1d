package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/cgo/assemble"
	"tidemark/cgo/assemble/assembletest"
	"tidemark/cmd/tidemark/scrub"
	"tidemark/internal/objectstore/key"
	"tidemark/remotestorage/stored"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// storedSegments is a directory store of four segments, two days old, and a server.properties that names it.
func storedSegments(t *testing.T) (store, config string) {
	t.Helper()
	store, config = t.TempDir(), filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(config, []byte(assemble.Prefix+"store.type=file\n"+assemble.Prefix+"store.path="+store+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range 4 {
		c := stored.NewChunker(stored.MinChunkSize)
		data := bytes.Repeat([]byte{'a', byte(n)}, 50_000)
		_, _ = c.Write(data)
		m, _ := c.Finish()
		manifest := stored.Manifest{Identity: stored.Identity{TopicID: [16]byte{1}, Partition: int32(n / 2), SegmentID: [16]byte{2, byte(n)}, BaseOffset: int64(n) * 100},
			Topic: "flights", EndOffset: int64(n)*100 + 99, Map: m, Writer: "0.1.0"}
		raw, err := stored.EncodeSidecar(manifest, []stored.Content{{Kind: stored.OffsetIndex, Bytes: []byte("index")}, {Kind: stored.TimeIndex},
			{Kind: stored.ProducerSnapshot}, {Kind: stored.LeaderEpochs}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		log, sidecar := manifest.Keys()
		writeOld(t, filepath.Join(store, log), data)
		writeOld(t, filepath.Join(store, sidecar), raw)
	}
	return store, config
}

func writeOld(t *testing.T, path string, data []byte) {
	t.Helper()
	old := time.Now().Add(-48 * time.Hour)
	for _, err := range []error{os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600), os.Chtimes(path, old, old)} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestScrubOutput(t *testing.T) {
	store, config := storedSegments(t)
	w := &world{t: t}
	logs, sidecars := w.under(store, ".log"), w.under(store, ".sidecar")
	var got bytes.Buffer
	show := func(want int, args ...string) {
		t.Helper()
		code, out, errs := tidemark(t, append([]string{"scrub", "--config", config}, args...)...)
		if code != want {
			t.Errorf("%q: exit code %d, want %d\n%s%s", args, code, want, out, errs)
		}
		got.WriteString("$ tidemark scrub " + strings.Join(args, " ") + "\n" + errs + out + "\n")
	}
	show(exitOK)
	show(exitOK, "--quick", "--topic", key.UUID([16]byte{1}), "--partition", "1")
	w.change(logs[0], func(b []byte) []byte { b[70_000] ^= 1; return b })
	w.change(sidecars[1], func(b []byte) []byte { b[2] ^= 1; return b })
	if err := os.Remove(sidecars[2]); err != nil {
		t.Fatal(err)
	}
	w.change(logs[3], func(b []byte) []byte { return b[:99_999] })
	writeOld(t, filepath.Join(filepath.Dir(logs[0]), "copy of a log"), []byte("x"))
	show(exitFound)
	show(exitFound, "--json")
	show(exitFound, "--after", strings.TrimPrefix(sidecars[1], store+"/"))
	golden := filepath.Join("testdata", "scrub.golden")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the output differs from %s; -update rewrites it\n%s", golden, got.String())
	}
}

// under are the files below a directory whose names end so.
func (w *world) under(dir, suffix string) (found []string) {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "segments", "*", "*", "*"+suffix))
	if err != nil || len(found) != 4 {
		w.t.Fatalf("%v, %v", found, err)
	}
	return found
}

// What a broker stored is whole, for the name of the topic too.
func TestScrubOfWhatABrokerStored(t *testing.T) {
	w := filled(t)
	var r scrubbed
	w.object(&r, "scrub", "--topic", assembletest.Topic, "--config", w.config)
	if !r.Whole || r.Segments != 3 || r.Objects != 6 || r.Findings != 0 || r.Read != r.Stored || r.Prefix != key.TopicPrefix(w.ID) {
		t.Errorf("%+v", r)
	}
	w.change(w.files("segments", ".log")[1], func(b []byte) []byte { b[0] ^= 1; return b })
	w.object(&r, "scrub", "--config", w.config)
	if len(r.List) != 1 || r.List[0].Kind != scrub.DamagedLog || r.List[0].End == 0 {
		t.Errorf("%+v", r)
	}
}

// A store that does not answer is told from one with damage.
func TestScrubWithoutAStore(t *testing.T) {
	_, config := storedSegments(t)
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, append(bytes.TrimSpace(text), "/none/at/all\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := tidemark(t, "scrub", "--config", config); code != exitFailed || strings.Contains(out, "OK") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
}
