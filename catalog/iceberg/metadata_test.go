package iceberg

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/uuid"

	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

func TestEveryTypeIsReadBackWithFreshIds(t *testing.T) {
	field := func(name string, t schema.Type) schema.Field {
		return schema.Field{ID: 77, Name: name, Type: t, Doc: "doc " + name}
	}
	list := schema.Type{Kind: schema.List, Element: &schema.Field{Name: "element", Type: schema.Type{Kind: schema.Struct, Fields: []schema.Field{
		field("s", schema.Type{Kind: schema.String}), field("f", schema.Type{Kind: schema.Fixed, Width: 5}),
	}}}}
	var fields []schema.Field
	for kind := schema.Boolean; kind <= schema.UUID; kind++ {
		ty := schema.Type{Kind: kind}
		switch kind {
		case schema.Decimal:
			ty.Precision, ty.Scale = 20, 3
		case schema.Fixed:
			ty.Width = 7
		}
		fields = append(fields, field("c"+itoa(int64(kind)), ty))
	}
	fields = append(fields, field("list", list))
	m, err := Create(Definition{UUID: uuid.New(), Location: location, File: file(0), Schema: schema.Schema{Fields: fields}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Schema()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for i, f := range got.Fields {
		if f.Name != fields[i].Name || f.Type.String() != fields[i].Type.String() || f.Doc != fields[i].Doc || f.ID < 1 || seen[f.ID] {
			t.Errorf("column %d is %d: %s %s", i, f.ID, f.Name, f.Type)
		}
		seen[f.ID] = true
	}
	if id, partition := m.Partitioning(); id != 0 || len(partition) != 0 {
		t.Errorf("spec %d %v", id, partition)
	}
}

func TestUnreadableMetadataIsNamed(t *testing.T) {
	m := newTable(t, nil)
	for what, raw := range map[string][]byte{
		"empty": nil, "text": []byte("x"), "cut": m.Bytes()[:len(m.Bytes())/2], "not a table": []byte("{}"),
	} {
		if _, err := Parse(raw, "mem://store/f"); !status.Is(err, status.Corrupt) || !strings.Contains(err.Error(), "mem://store/f") {
			t.Errorf("%s: %v", what, err)
		}
	}
	later := bytes.Replace(m.Bytes(), []byte(`"format-version":2`), []byte(`"format-version":3`), 1)
	if _, err := Parse(later, "mem://store/f"); err == nil {
		t.Error("a later format version was taken")
	}
	if _, err := Load(testContext(t), storetest.NewMemory(), "s3://bucket/f"); !status.Is(err, status.Invalid) {
		t.Errorf("a file outside the store: %v", err)
	}
	if _, err := Load(testContext(t), storetest.NewMemory(), location+"/none"); !status.Is(err, status.NotFound) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestFileNamesOrderVersions(t *testing.T) {
	id := [16]byte{15: 1}
	for n, want := range map[int64]string{
		0: "l/metadata/00000-00000000-0000-0000-0000-000000000001.metadata.json", 123456: "l/metadata/123456-00000000-0000-0000-0000-000000000001.metadata.json",
	} {
		if got := File("l", n, id); got != want {
			t.Errorf("File(%d) = %s", n, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	m, err := Create(Definition{UUID: uuid.UUID{1}, Location: location, File: location + "/metadata/f", Schema: schema.Schema{Fields: schema.System()}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m.Bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		if m, err := Parse(raw, "f"); err == nil {
			_ = m.View("t")
			_, _ = m.Schema()
			_, _ = m.Partitioning()
		}
	})
}
