package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"

	"tidemark/catalog"
	"tidemark/cgo/assemble/assembletest"
	"tidemark/tables"
)

// verified runs verify, the topic included, and returns its findings by kind.
func (w *world) verified(want int) (r report, kinds map[catalog.FindingKind][]finding) {
	w.t.Helper()
	code, out, errs := w.at("verify", w.ID.String(), "--config", w.config)
	if code != want {
		w.t.Errorf("exit code %d, want %d\n%s%s", code, want, out, errs)
	}
	w.object(&r, "verify", w.ID.String(), "--config", w.config)
	kinds = map[catalog.FindingKind][]finding{}
	for _, f := range r.Findings {
		kinds[f.Kind] = append(kinds[f.Kind], f)
		if !strings.Contains(out, "FOUND "+string(f.Kind)) {
			w.t.Errorf("%s is in the JSON, not in the text:\n%s", f.Kind, out)
		}
	}
	return r, kinds
}

func TestVerifyAWholeTable(t *testing.T) {
	w := filled(t)
	out := w.ok("verify", assembletest.Topic, "--config", w.config)
	for _, want := range []string{"table kafka.flights", "9 rows, 0 quarantined, 9 offsets covered, 9 records of the topic compared", "OK"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if out := w.ok("verify", w.ID.String(), "--config", w.config, "--data"); !strings.Contains(out, "byte by byte") {
		t.Errorf("--data: %s", out)
	}
	if code, out, errs := tidemark(t, "verify", w.ID.String(), "--config", w.config); code != exitOK || strings.Contains(out, "compared") || !strings.Contains(out, "OK") {
		t.Errorf("without a broker: %d\n%s%s", code, out, errs)
	}
	r, _ := w.verified(exitOK)
	if r.Rows != 9 || r.Covered != 9 || r.Segments != 3 || r.Event != catalog.Normal || r.Compared != true || r.TopicID != w.ID.String() {
		t.Errorf("%+v", r)
	}
	w.fails(exitFailed, []string{"NotFound"}, "verify", "AAAAAAAAAAAAAAAAAAAAAQ", "--config", w.config)
	w.fails(exitFailed, []string{"NotFound", "nowhere"}, "verify", "nowhere", "--config", w.config)
	var s shown
	w.object(&s, "table", "show", assembletest.Topic, "--config", w.config)
	if len(s.Partitions) != 1 || s.Partitions[0] != (shownPartition{Next: 9, LogEnd: 9}) || s.Event != string(catalog.Normal) || s.Snapshot == 0 {
		t.Errorf("show: %+v", s)
	}
	if out := w.ok("table", "show", assembletest.Topic, "--config", w.config); !strings.Contains(out, "not in the table") {
		t.Errorf("show: %s", out)
	}
}

// A file that is not there is named, its offsets are a hole, and the others are read on.
func TestVerifyFindsAMissingFile(t *testing.T) {
	w := filled(t)
	file := w.files("tables", ".parquet")[1]
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	r, found := w.verified(exitFound)
	if f := found[findingFile]; len(f) != 1 || !strings.HasSuffix(f[0].Files[0], file) || f[0].Partition != unknown {
		t.Errorf("%+v", f)
	}
	if f := found[catalog.FindingHole]; len(f) != 1 || f[0].Base != 3 || f[0].End != 6 {
		t.Errorf("%+v", f)
	}
	if f := found[findingNoRows]; len(f) != 1 || f[0].Base != 3 || f[0].End != 6 {
		t.Errorf("%+v", f)
	}
	if r.Files != 2 || r.Rows != 6 {
		t.Errorf("the others: %+v", r)
	}
}

func TestVerifyFindsADamagedFile(t *testing.T) {
	w := filled(t)
	file := w.files("tables", ".parquet")[2]
	w.change(file, func(b []byte) []byte { b[len(b)-6] ^= 0x40; return b }) // length of the footer
	if _, found := w.verified(exitFound); len(found[findingFile]) != 1 || !strings.Contains(found[findingFile][0].Text, file) {
		t.Errorf("footer: %+v", found)
	}
	w = filled(t)
	file = w.files("tables", ".parquet")[2]
	w.change(file, func(b []byte) []byte { b[40] ^= 1; return b }) // a page
	w.verified(exitOK)
	w.fails(exitFound, []string{"FOUND damaged-file", "partition 0 [6, 9)", file}, "verify", w.ID.String(), "--config", w.config, "--data")
}

// One file under the name of another: its range is there twice, and the range of the other one is a hole.
func TestVerifyFindsAHoleAndAnOverlap(t *testing.T) {
	w := filled(t)
	files := w.files("tables", ".parquet")
	contents := make([][]byte, len(files))
	for i, f := range files {
		contents[i], _ = os.ReadFile(f)
	}
	slices.SortFunc(contents, func(a, b []byte) int { return len(a) - len(b) })
	short, long := contents[0], contents[2]
	w.change(files[slices.IndexFunc(files, func(f string) bool { b, _ := os.ReadFile(f); return bytes.Equal(b, long) })], func([]byte) []byte {
		footer := len(short) - 8 - int(binary.LittleEndian.Uint32(short[len(short)-8:]))
		return slices.Concat(short[:footer], make([]byte, len(long)-len(short)), short[footer:])
	})
	_, found := w.verified(exitFound)
	if len(found[catalog.FindingOverlap]) == 0 || len(found[catalog.FindingHole]) != 1 {
		t.Errorf("%+v", found)
	}
}

func TestVerifyFindsDamagedTiering(t *testing.T) {
	w := filled(t)
	log := w.files("segments", ".log")[0]
	w.change(log, func(b []byte) []byte { return b[:len(b)-1] })
	_, found := w.verified(exitFound)
	if f := found[findingSegment]; len(f) != 1 || !strings.Contains(f[0].Text, "bytes, its sidecar says") {
		t.Errorf("%+v", found)
	}
}

// Damage of the table's metadata names the object.
func TestVerifyOfADamagedCatalog(t *testing.T) {
	w := filled(t)
	for _, f := range w.files("tables", ".metadata.json") {
		w.change(f, func(b []byte) []byte { return b[:len(b)/2] })
	}
	w.fails(exitFound, []string{"Corrupt", ".metadata.json"}, "verify", w.ID.String(), "--config", w.config)
	w = filled(t)
	for _, f := range w.files("tables", ".avro") {
		w.change(f, func([]byte) []byte { return []byte("Obj?") })
	}
	w.fails(exitFound, []string{".avro", "NOT OK"}, "verify", w.ID.String(), "--config", w.config)
}

func TestVerifyAgainstAnotherLog(t *testing.T) {
	w := filled(t)
	if err := w.Client.Produce(t.Context(), assembletest.Topic, nil, []byte("in the log only")); err != nil {
		t.Fatal(err)
	}
	w.ok("verify", assembletest.Topic, "--config", w.config) // above next: not covered yet
	if code, _, errs := tidemark(t, "verify", w.ID.String(), "--config", w.config, "--bootstrap-server", "127.0.0.1:1", "--timeout", "2s"); code != exitFailed {
		t.Errorf("no broker: %d\n%s", code, errs)
	}
	if err := w.Kafka.DeleteTopic(assembletest.Topic); err != nil {
		t.Fatal(err)
	}
	w.fails(exitFailed, []string{"leave --bootstrap-server out"}, "verify", w.ID.String(), "--config", w.config)
	w.Topic(assembletest.Topic, map[string]string{"remote.storage.enable": "true"})
	w.fails(exitFailed, []string{"earlier topic of that name"}, "verify", w.ID.String(), "--config", w.config)
}

func TestCounter(t *testing.T) {
	file := func(base, end, rows int64) catalog.FileFooter {
		f := catalog.FileFooter{Range: catalog.Range{Base: base, End: end}, URI: "f"}
		f.Counts.Rows = rows
		return f
	}
	footers := []catalog.FileFooter{file(20, 30, 10), file(0, 10, 10), file(10, 20, 4), file(0, 10, 10), {Range: catalog.Range{Partition: 1, Base: 0, End: 99}}, file(40, 50, 1)}
	c := newCounter(0, 5, 50, footers)
	for o := int64(5); o < 41; o++ {
		if o < 10 || o >= 16 {
			c.count(o)
		}
	}
	got := c.findings()
	want := []struct {
		kind      catalog.FindingKind
		base, end int64
	}{{findingNoRows, 30, 40}}
	if len(got) != len(want) || got[0].Kind != want[0].kind || got[0].Range.Base != 30 || got[0].Range.End != 40 || !strings.Contains(got[0].Text, "10 visible records") {
		t.Errorf("%+v", got)
	}
	c = newCounter(0, 0, 50, footers)
	for o := int64(0); o < 50; o++ {
		if o != 3 && o < 14 || o >= 20 && o < 30 || o == 41 || o == 42 {
			c.count(o)
		}
	}
	got = c.findings()
	if len(got) != 2 || got[0].Kind != findingCount || got[0].Range.Base != 0 || !strings.Contains(got[0].Text, "9 visible records") || got[1].Range.Base != 40 {
		t.Errorf("%+v", got)
	}
}

func TestVerifyOfAnEmptyTable(t *testing.T) {
	w := newWorld(t)
	w.Define(func(d *tables.Definition) { d.PartitionBy = tables.PartitionByDay })
	w.Open()
	w.Until("the table is live", func() bool { return strings.Contains(w.Log.String(), "to=LIVE") })
	w.Close()
	if out := w.ok("verify", assembletest.Topic, "--config", w.config); !strings.Contains(out, "0 files, 0 rows") {
		t.Errorf("%s", out)
	}
}
