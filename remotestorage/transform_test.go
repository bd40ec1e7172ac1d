package remotestorage

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage/stored"
)

// ring writes a key ring; the last id is the active one.
func ring(t testing.TB, path string, ids ...string) string {
	t.Helper()
	text := "version = 1\nactive = " + ids[len(ids)-1] + "\n"
	for _, id := range ids {
		key := bytes.Repeat([]byte(id), 32)[:32]
		text += fmt.Sprintf("%s = %s\n", id, base64.StdEncoding.EncodeToString(key))
	}
	if path == "" {
		path = filepath.Join(t.TempDir(), "keys")
	}
	must(t, os.WriteFile(path+".new", []byte(text), 0o600))
	must(t, os.Rename(path+".new", path))
	return path
}

func transformedConfig(t testing.TB, compression, keys string) Config {
	cfg := config(t)
	cfg.Compression, cfg.KeysFile = compression, keys
	return cfg
}

// logObject is what the store has of the log file.
func logObject(t testing.TB, store objectstore.Store, c closed) []byte {
	t.Helper()
	key, _ := c.identity().Keys()
	data, _, err := store.Get(deadline(t), key, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// text is a segment with batches that compress well, and others that were compressed.
func textSegment(t testing.TB, base int64) closed {
	t.Helper()
	s := logtest.NewSegment(base)
	s.Epochs = []kafkalog.EpochStart{{Epoch: 4, Start: base}}
	for n := range 30 {
		s.Produce(kafkalog.None, strings.Repeat(fmt.Sprintf("flight %d departs; ", n), 1000))
	}
	for n := range 30 {
		s.Produce(kafkalog.Zstd, strings.Repeat(fmt.Sprintf("gate %d is open; ", n), 50_000))
	}
	return write(t, s)
}

// Every kind of segment comes back byte for byte from every stored form, with and without the disk cache, after a restart, and hands
// out its indexes.
func TestTransformedSegmentsReadBack(t *testing.T) {
	keys := ring(t, "", "k1")
	for _, form := range []struct{ compression, keys string }{{"zstd", ""}, {"none", keys}, {"zstd", keys}} {
		for _, disk := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,keys=%v,disk=%v", form.compression, form.keys != "", disk), func(t *testing.T) {
				store := fileStore(t)
				cfg := transformedConfig(t, form.compression, form.keys)
				if disk {
					cfg.DiskCache.Dir = t.TempDir()
				}
				m := start(t, cfg, store, Deps{})
				mixed, text := segment(t, 100), textSegment(t, 1000)
				for _, c := range []*closed{&mixed, &text} {
					copied(t, m, c)
					readBack(t, m, *c)
				}
				object := logObject(t, store, text)
				if form.compression == "zstd" && len(object) > len(text.log)*3/4 {
					t.Errorf("%d bytes of text are stored as %d", len(text.log), len(object))
				}
				if form.keys != "" && (bytes.Contains(object, []byte("departs")) || bytes.Contains(logObject(t, store, mixed), mixed.log[100:132])) {
					t.Error("readable bytes in an encrypted object")
				}
				if left, err := os.ReadDir(filepath.Join(cfg.Reclaim.Dir, scratchName)); err != nil || len(left) > 0 {
					t.Errorf("scratch files stayed: %v, %v", left, err)
				}
				m.Close(deadline(t))
				again := start(t, cfg, store, Deps{})
				readBack(t, again, mixed)
				readBack(t, again, text)
			})
		}
	}
}

// A segment whose batches were all compressed by producers is stored as it is: older releases read it.
func TestCompressedBatchesStayAsTheyAre(t *testing.T) {
	store := fileStore(t)
	m := start(t, transformedConfig(t, "zstd", ""), store, Deps{})
	s := logtest.NewSegment(0)
	s.Epochs = []kafkalog.EpochStart{{Epoch: 4}}
	for n := range 40 {
		s.Produce(kafkalog.Gzip, strings.Repeat(fmt.Sprintf("%d ", n), 100_000))
	}
	c := write(t, s)
	copied(t, m, &c)
	if !bytes.Equal(logObject(t, store, c), c.log) {
		t.Error("the object differs from the log file")
	}
	if meta, err := stored.DecodeMetadata(c.Custom); err != nil || meta.Transformed {
		t.Errorf("custom metadata: %+v, %v", meta, err)
	}
	readBack(t, m, c)
}

// Keys are rotated under a running broker; segments of a key that is gone are refused by name, all others are served.
func TestKeyRotation(t *testing.T) {
	keys := ring(t, "", "old")
	store := fileStore(t)
	m := start(t, transformedConfig(t, "none", keys), store, Deps{})
	first, second := segment(t, 0), segment(t, 1000)
	copied(t, m, &first)
	ring(t, keys, "old", "new")
	must(t, m.forms.ring.Reload())
	must(t, os.Chmod(keys, 0o644))
	if err := m.forms.ring.Reload(); err == nil || metric(t, m, "keyring_refused") != 1 {
		t.Errorf("a ring that others can read: %v, gauge %v", err, metric(t, m, "keyring_refused"))
	}
	must(t, os.Chmod(keys, 0o600))
	must(t, m.forms.ring.Reload())
	if metric(t, m, "keyring_refused") != 0 {
		t.Error("the gauge stays")
	}
	copied(t, m, &second)
	readBack(t, m, first)
	readBack(t, m, second)
	m.Close(deadline(t))

	ring(t, keys, "new")
	m = start(t, transformedConfig(t, "none", keys), store, Deps{})
	readBack(t, m, second)
	_, _, err := m.OpenSegment(deadline(t), first.Segment, nil, 0, -1)
	if err == nil || !strings.Contains(err.Error(), `"old"`) && !strings.Contains(err.Error(), "old") || !strings.Contains(err.Error(), keys) {
		t.Errorf("a segment whose key is gone: %v, want the key's id and the file", err)
	}
	if _, err := m.Index(deadline(t), first.Segment, stored.OffsetIndex); err == nil {
		t.Error("an index without its key")
	}
	readBack(t, m, second)
	ring(t, keys, "new", "old") // it is found again without a restart
	must(t, m.forms.ring.Reload())
	readBack(t, m, first)
	m.Close(deadline(t))

	m = start(t, config(t), store, Deps{})
	if _, _, err := m.OpenSegment(deadline(t), first.Segment, nil, 0, -1); !status.Is(err, status.Unsupported) || !strings.Contains(err.Error(), "segment.encryption.keys.file") {
		t.Errorf("without a key ring: %v, want Unsupported with the setting", err)
	}
}

// Segments from before the settings stay readable with them, and those from with them after compression is off again.
func TestFormsLiveTogether(t *testing.T) {
	store := fileStore(t)
	keys := ring(t, "", "k1")
	plain, packed := segment(t, 0), textSegment(t, 1000)
	m := start(t, config(t), store, Deps{})
	copied(t, m, &plain)
	m.Close(deadline(t))
	m = start(t, transformedConfig(t, "zstd", keys), store, Deps{})
	copied(t, m, &packed)
	readBack(t, m, plain)
	m.Close(deadline(t))
	cfg := transformedConfig(t, "none", keys)
	cfg.EncryptNew = false // the ring is for reading only
	m = start(t, cfg, store, Deps{})
	readBack(t, m, plain)
	readBack(t, m, packed)
	after := segment(t, 2000)
	copied(t, m, &after)
	if !bytes.Equal(logObject(t, store, after), after.log) {
		t.Error("a new segment is encrypted, with encryption of new segments off")
	}
}

// Bytes that were changed with right checksums are refused by the cipher; the error names the object.
func TestForgedChunkIsNamed(t *testing.T) {
	mem := storetest.NewMemory()
	m := start(t, transformedConfig(t, "none", ring(t, "", "k1")), mem, Deps{})
	c, other := textSegment(t, 0), textSegment(t, 0)
	other.ID = [16]byte{0xEE}
	copied(t, m, &c)
	copied(t, m, &other)
	logKey, sidecarKey := c.identity().Keys()
	foreignLog, foreignSidecar := other.identity().Keys()
	log, _, err := mem.Get(deadline(t), foreignLog, 1<<30)
	must(t, err)
	side, _, err := mem.Get(deadline(t), foreignSidecar, 1<<30)
	must(t, err)
	mem.Damage(logKey, func([]byte) []byte { return log })
	mem.Damage(sidecarKey, func([]byte) []byte { return side })
	c.Custom = nil
	if _, _, err := m.OpenSegment(deadline(t), c.Segment, nil, 0, -1); !status.Is(err, status.Corrupt) || !strings.Contains(err.Error(), sidecarKey) {
		t.Errorf("objects of another segment: %v, want Corrupt with the key", err)
	}
}

// A key ring that is refused stops the start, with words for the operator.
func TestRefusedKeyRing(t *testing.T) {
	keys := ring(t, "", "k1")
	must(t, os.Chmod(keys, 0o644))
	_, err := New(transformedConfig(t, "none", keys), fileStore(t), Deps{Log: quiet(), Metrics: telemetry.NewSet()})
	if !status.Is(err, status.Invalid) || !strings.Contains(err.Error(), "segment.encryption.keys.file") || !strings.Contains(err.Error(), keys) {
		t.Errorf("readable by others: %v, want Invalid with setting and file", err)
	}
}

// Scratch files have a bound, and a copy that waits for it ends with its context.
func TestScratchIsBounded(t *testing.T) {
	cfg := transformedConfig(t, "zstd", "")
	cfg.ScratchBytes = 1 << 20
	m := start(t, cfg, fileStore(t), Deps{})
	release, err := m.forms.scratch.Acquire(deadline(t), cfg.ScratchBytes)
	must(t, err)
	c := textSegment(t, 0)
	ctx, cancel := contextThatEnds(t)
	defer cancel()
	if _, err := m.Copy(ctx, c.Segment, c.paths); err == nil {
		t.Error("a copy without scratch space")
	}
	release()
	copied(t, m, &c)
	readBack(t, m, c)
	if n := m.forms.scratch.Used() + m.forms.cpu.Used(); n != 0 {
		t.Errorf("%d of the budgets stay taken", n)
	}
}

// contextThatEnds ends once somebody waits for scratch space.
func contextThatEnds(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(deadline(t), 200*time.Millisecond)
}
