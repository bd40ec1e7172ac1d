package main

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/cgo/assemble/assembletest"
)

func TestDumpSegments(t *testing.T) {
	w := filled(t)
	var rows []segmentRow
	w.object(&rows, "dump", "segments", "--topic", assembletest.Topic, "--config", w.config)
	if len(rows) != 3 || rows[1].BaseOffset != 3 || !rows[1].Complete || rows[1].LogBytes == 0 || rows[1].Sidecar == 0 {
		t.Fatalf("%+v", rows)
	}
	if err := os.Remove(w.files("segments", ".sidecar")[0]); err != nil {
		t.Fatal(err)
	}
	w.object(&rows, "dump", "segments", "--topic", w.ID.String(), "--config", w.config)
	if len(rows) != 3 || rows[0].Complete || !rows[1].Complete {
		t.Errorf("%+v", rows)
	}
	if out := w.ok("dump", "segments", "--topic", w.ID.String(), "--config", w.config); !strings.Contains(out, "SEGMENT ID") || !strings.Contains(out, "false") {
		t.Errorf("%s", out)
	}
	w.object(&rows, "dump", "segments", "--topic", "AAAAAAAAAAAAAAAAAAAAAQ", "--config", w.config)
	if rows == nil || len(rows) != 0 {
		t.Errorf("of an unknown topic: %v", rows)
	}
}

func TestDumpSidecar(t *testing.T) {
	w := filled(t)
	file := w.files("segments", ".sidecar")[2]
	key, _ := filepath.Rel(w.StoreDir, file)
	var v manifestView
	for _, args := range [][]string{{file}, {key, "--config", w.config}} {
		w.object(&v, append([]string{"dump", "sidecar"}, args...)...)
		if v.Topic != assembletest.Topic || v.TopicID != w.ID.String() || v.BaseOffset != 6 || v.EndOffset != 8 || len(v.Indexes) < 4 || len(v.Chunks) != 1 || v.Writer != "0.1.0" {
			t.Errorf("%+v", v)
		}
	}
	if out := w.ok("dump", "sidecar", file); !strings.Contains(out, "offsets        6 to 8") || !strings.Contains(out, "CRC32C") {
		t.Errorf("%s", out)
	}
	w.fails(exitFailed, []string{"NotFound", "no file", "--config"}, "dump", "sidecar", key)
	w.fails(exitFailed, []string{"NotFound"}, "dump", "sidecar", "segments/none", "--config", w.config)
	w.change(file, func(b []byte) []byte { b[1] ^= 1; return b })
	w.fails(exitFound, []string{"Corrupt", key, "[0, "}, "dump", "sidecar", key, "--config", w.config)
	w.change(file, func(b []byte) []byte { return b[:5] })
	w.fails(exitFound, []string{"Corrupt", file}, "dump", "sidecar", file)
}

func TestDumpMetadata(t *testing.T) {
	w := newWorld(t)
	w.Open()
	seg, log := w.Roll("a")
	var v metadataView
	for _, text := range []string{hex.EncodeToString(seg.Custom), "0x" + hex.EncodeToString(seg.Custom), base64.StdEncoding.EncodeToString(seg.Custom)} {
		w.object(&v, "dump", "metadata", text)
		if v.LogBytes != int64(len(log)) || v.Transformed || len(v.LogCRC) != 8 {
			t.Errorf("%+v", v)
		}
	}
	if out := w.ok("dump", "metadata", hex.EncodeToString(seg.Custom)); !strings.Contains(out, "log object") {
		t.Errorf("%s", out)
	}
	seg.Custom[len(seg.Custom)-1] ^= 1
	w.fails(exitFound, []string{"Corrupt", "custom metadata"}, "dump", "metadata", hex.EncodeToString(seg.Custom))
}

func TestDumpLedger(t *testing.T) {
	w := filled(t)
	var v ledgerView
	w.object(&v, "dump", "ledger", assembletest.Topic, "--config", w.config)
	if v.TopicID != w.ID.String() || v.ClusterID != "cluster" || v.Generation == 0 || len(v.Partitions) != 1 || v.Partitions[0].Next != 9 || v.Partitions[0].LastBatch != 6 {
		t.Errorf("%+v", v)
	}
	if out := w.ok("dump", "ledger", w.ID.String(), "--config", w.config); !strings.Contains(out, "generation") || !strings.Contains(out, "newest row") {
		t.Errorf("%s", out)
	}
}

func TestDumpHolds(t *testing.T) {
	w := newWorld(t)
	w.Define(nil)
	w.Properties["tables.linger.ms"] = "600000"
	w.Open()
	w.Until("the table is live", func() bool { return strings.Contains(w.Log.String(), "to=LIVE") })
	seg, _ := w.Roll("a", "b")
	w.Until("the segment is held", func() bool { return len(w.Holds()) == 1 })
	var rows []holdRow
	w.object(&rows, "dump", "holds", w.LogDir)
	if len(rows) != 1 || rows[0].TopicID != w.ID.String() || rows[0].End != 2 || rows[0].Bytes != seg.Size || rows[0].Generation == 0 {
		t.Errorf("%+v", rows)
	}
	if out := w.ok("dump", "holds", w.LogDir); !strings.Contains(out, "[0, 2)") {
		t.Errorf("%s", out)
	}
	w.fails(exitFailed, []string{"Invalid", "/does/not/exist"}, "dump", "holds", "/does/not/exist")
}
