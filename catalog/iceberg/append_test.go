package iceberg

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"tidemark/catalog"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

const location = "mem://store/tables/t"

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func file(n int64) string { return File(location, n, uuid.New()) }

func newTable(t *testing.T, properties map[string]string) *Metadata {
	t.Helper()
	m, err := Create(Definition{
		UUID: uuid.New(), Location: location, File: file(0), Schema: schema.Schema{Fields: append(schema.System(), schema.RawValue())},
		PartitionByDay: "_kafka_timestamp", Properties: properties,
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func dataFile(name string, rows int64, day catalog.PartitionValue) catalog.File {
	return catalog.File{URI: location + "/data/" + name, Size: 100, Rows: rows, Partition: []catalog.PartitionValue{day}}
}

var monday = catalog.PartitionValue{FieldID: 1000, Value: 20_000}

func add(t *testing.T, m *Metadata, store objectstore.Store, a Addition) (*Metadata, int64) {
	t.Helper()
	if a.File == "" {
		a.File = file(1)
	}
	next, id, err := m.Append(testContext(t), store, a)
	if err != nil {
		t.Fatal(err)
	}
	if err := next.Store(testContext(t), store); err != nil {
		t.Fatal(err)
	}
	read, err := Load(testContext(t), store, next.File())
	if err != nil {
		t.Fatal(err)
	}
	return read, id
}

func TestAppendMovesHeadTagSummaryAndPropertiesAtOnce(t *testing.T) {
	store := storetest.NewMemory()
	empty := newTable(t, nil)
	first, a := add(t, empty, store, Addition{
		Files: []catalog.File{dataFile("a", 3, monday), dataFile("b", 4, catalog.PartitionValue{FieldID: 1000, Null: true})},
		Tag:   catalog.TagProgress, Summary: map[string]string{"tidemark.seq": "1"}, Properties: map[string]string{"tidemark.ledger": "x"},
	})
	second, b := add(t, first, store, Addition{Files: []catalog.File{dataFile("c", 5, monday)}, Tag: catalog.TagProgress})
	third, c := add(t, second, store, Addition{Tag: catalog.TagProgress})
	v := third.View(catalog.TagProgress)
	if v.Head != c || v.Tag != c || v.LastSequence != 3 || len(v.Snapshots) != 3 || v.Properties["tidemark.ledger"] != "x" {
		t.Fatalf("view %+v", v)
	}
	for i, want := range []struct {
		id, parent int64
		rows       string
	}{{a, catalog.None, "7"}, {b, a, "12"}, {c, b, "12"}} {
		s := v.Snapshots[i]
		if s.ID != want.id || s.Parent != want.parent || s.Sequence != int64(i+1) || s.Summary["total-records"] != want.rows || s.Summary["operation"] != "append" {
			t.Errorf("snapshot %d: %+v, want %+v", i, s, want)
		}
	}
	if v.Snapshots[0].Summary["tidemark.seq"] != "1" || v.Snapshots[1].Summary["tidemark.seq"] != "" {
		t.Errorf("summaries %v, %v", v.Snapshots[0].Summary, v.Snapshots[1].Summary)
	}
	if !third.Descends(first.File()) || !third.Descends(third.File()) || third.Descends("mem://store/other") || first.Descends(third.File()) {
		t.Error("the metadata log is wrong")
	}
	var live []string
	err := third.LiveFiles(testContext(t), store, func(f LiveFile) error {
		live = append(live, f.URI[len(location)+6:]+"/"+strconv.FormatInt(f.Sequence, 10))
		return nil
	})
	if err != nil || strings.Join(live, " ") != "c/2 a/1 b/1" {
		t.Errorf("live files %v, %v", live, err)
	}
	var tag struct {
		Refs map[string]struct {
			Type string
			Age  int64 `json:"max-ref-age-ms"`
		}
	}
	if err := json.Unmarshal(third.Bytes(), &tag); err != nil || tag.Refs[catalog.TagProgress].Age != 1<<63-1 || tag.Refs[catalog.TagProgress].Type != "tag" {
		t.Errorf("tag %+v, %v", tag, err)
	}
}

func TestASlowClockNeverBlocksACommit(t *testing.T) {
	store := storetest.NewMemory() // its clock stands at the start of 1970
	m := newTable(t, nil)
	hourAhead := time.Now().Add(time.Hour).UnixMilli()
	m, _ = add(t, m, store, Addition{NotBeforeMs: hourAhead})
	if got := m.View("").LastUpdatedMs; got != hourAhead {
		t.Fatalf("last updated at %d, want %d", got, hourAhead)
	}
	m, _ = add(t, m, store, Addition{})
	if got := m.View("").LastUpdatedMs; got != hourAhead+1 {
		t.Errorf("last updated at %d, want %d", got, hourAhead+1)
	}
}

func TestTheMetadataLogStaysLongEnough(t *testing.T) {
	store := storetest.NewMemory()
	for _, set := range []string{"1", "99", "x", ""} {
		properties := map[string]string{keptVersionsKey: set}
		if set == "" {
			properties = nil
		}
		m, _ := add(t, newTable(t, properties), store, Addition{})
		if got := m.View("").Properties[keptVersionsKey]; got != "100" {
			t.Errorf("set to %q, kept at %q", set, got)
		}
	}
	m, _ := add(t, newTable(t, map[string]string{keptVersionsKey: "500"}), store, Addition{})
	if got := m.View("").Properties[keptVersionsKey]; got != "500" {
		t.Errorf("a longer log became %q", got)
	}
	first := m.File()
	for range 100 {
		m, _ = add(t, m, store, Addition{})
	}
	if !m.Descends(first) {
		t.Error("100 commits later the file is not in the log")
	}
}

func TestFilesThatDoNotFitAreRefused(t *testing.T) {
	store := storetest.NewMemory()
	m := newTable(t, nil)
	for what, change := range map[string]func(*catalog.File){
		"spec":        func(f *catalog.File) { f.Spec = 7 },
		"schema":      func(f *catalog.File) { f.Schema = 7 },
		"location":    func(f *catalog.File) { f.URI = "mem://store/tables/t2/data/x" },
		"dots":        func(f *catalog.File) { f.URI = location + "/../t2/x" },
		"no rows":     func(f *catalog.File) { f.Rows = 0 },
		"no tuple":    func(f *catalog.File) { f.Partition = nil },
		"wrong field": func(f *catalog.File) { f.Partition[0].FieldID = 1001 },
		"twice":       func(f *catalog.File) { f.Partition = append(f.Partition, f.Partition[0]) },
		"day":         func(f *catalog.File) { f.Partition[0].Value = 1 << 40 },
	} {
		f := dataFile("x", 1, monday)
		change(&f)
		_, _, err := m.Append(testContext(t), store, Addition{Files: []catalog.File{f}, File: file(1)})
		if !status.Is(err, status.Invalid) || !strings.Contains(err.Error(), f.URI) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if keys := store.Keys(); len(keys) != 0 {
		t.Errorf("left behind: %v", keys)
	}
}

func TestRequirementsInTheWordsOfTheReference(t *testing.T) {
	store := storetest.NewMemory()
	empty := newTable(t, nil)
	m, id := add(t, empty, store, Addition{Tag: "p"})
	good := Requirement{UUID: m.UUID(), Head: id, Tag: "p", TagAt: id}
	if err := m.Require(good); err != nil {
		t.Fatal(err)
	}
	if err := empty.Require(Requirement{UUID: empty.UUID(), Head: catalog.None, Tag: "p", TagAt: catalog.None}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		m    *Metadata
		r    Requirement
		text string
	}{
		{m, Requirement{UUID: uuid.UUID{1}, Head: id, Tag: "p", TagAt: id}, "Requirement failed: UUID does not match: expected " + uuid.UUID(m.UUID()).String() + " != 01000000-0000-0000-0000-000000000000"},
		{m, Requirement{UUID: m.UUID(), Head: catalog.None, Tag: "p", TagAt: id}, "Requirement failed: branch main was created concurrently"},
		{m, Requirement{UUID: m.UUID(), Head: 5, Tag: "p", TagAt: id}, "Requirement failed: branch main has changed: expected id 5 != " + strconv.FormatInt(id, 10)},
		{m, Requirement{UUID: m.UUID(), Head: id, Tag: "p", TagAt: catalog.None}, "Requirement failed: tag p was created concurrently"},
		{empty, Requirement{UUID: empty.UUID(), Head: catalog.None, Tag: "p", TagAt: 5}, "Requirement failed: branch or tag p is missing, expected 5"},
	} {
		if err := test.m.Require(test.r); !status.Is(err, status.Conflict) || err.Error() != test.text {
			t.Errorf("%v\nwant %s", err, test.text)
		}
	}
}
