package convert

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"tidemark/catalog"
	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/parquet"
	"tidemark/parquet/column"
	"tidemark/parquet/payload"
	"tidemark/parquet/schema"
)

var claim = catalog.Claim{ClusterID: "cluster", TopicID: catalog.TopicID{1, 2, 3}, Topic: "flights"}

const flightSchema = `{"type":"object","properties":{
	"carrier":{"type":"string"},"delay":{"type":["null","integer"]},"ratio":{"type":"number"},"tags":{"type":"array","items":{"type":"string"}}
},"required":["carrier"]}`

func jsonDecoder(t testing.TB, text string) func() payload.Decoder {
	d, err := payload.CompileJSON([]byte(text), payload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return func() payload.Decoder { return d.Fork() }
}

func rawDecoder() payload.Decoder { return payload.NewRaw() }

// loaded gives fields the ids a catalog would.
func loaded(fields []schema.Field) schema.Schema {
	next := 1
	var number func([]schema.Field) []schema.Field
	number = func(in []schema.Field) []schema.Field {
		out := slices.Clone(in)
		for i := range out {
			out[i].ID = next
			next++
			out[i].Type.Fields = number(out[i].Type.Fields)
			if e := out[i].Type.Element; e != nil {
				out[i].Type.Element = &number([]schema.Field{*e})[0]
			}
		}
		return out
	}
	return schema.Schema{ID: 7, Fields: number(fields)}
}

func definition(decoder func() payload.Decoder) Definition {
	return Definition{
		Claim: claim, Generation: 1, Pipeline: 5, Decoder: decoder,
		Main: loaded(MainFields(decoder())), Quarantine: loaded(QuarantineFields()),
		Specs: map[catalog.Role]Spec{
			catalog.Main: {ID: 3, FieldID: 1000, Day: true}, catalog.Quarantine: {ID: 4, FieldID: 1001, Day: true},
		},
	}
}

func converter(t testing.TB, def Definition) *Converter {
	t.Helper()
	c, err := New(def)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// input is the whole of the segments, or [base, end) of them.
func input(segments ...*logtest.Segment) Input {
	in := Input{Base: segments[0].Base, LeaderEpoch: 9, Before: catalog.Progress{BatchEpoch: -1, LastBatchBase: -1}}
	var aborted []kafkalog.AbortedTxn
	for _, s := range segments {
		in.Segments = append(in.Segments, Segment{
			Name: fmt.Sprintf("segment at %d", s.Base), Source: bytes.NewReader(s.Log), Size: int64(len(s.Log)),
			Span: kafkalog.Span{Base: s.Base, End: s.Next() - 1, Epochs: s.Epochs},
		})
		aborted = append(aborted, s.Aborted...)
		in.End = max(in.End, s.Next())
	}
	in.Aborted = kafkalog.NewTxnView(aborted)
	return in
}

// files keeps what a conversion writes.
type files struct {
	data  []*bytes.Buffer
	roles []catalog.Role
	fail  error
}

func (f *files) Create(index int, role catalog.Role) (io.Writer, error) {
	if f.fail != nil {
		return nil, f.fail
	}
	if index != len(f.data) {
		return nil, fmt.Errorf("file %d is created after %d others", index, len(f.data))
	}
	f.data, f.roles = append(f.data, &bytes.Buffer{}), append(f.roles, role)
	return f.data[index], nil
}

// row is one row read back: the column names with their values as text.
type row map[string]string

type converted struct {
	Result
	files   files
	rows    map[catalog.Role]map[int64]row // by offset
	footers []catalog.FileFooter           // in the order of Result.Files
}

// convert runs a conversion and reads all its files back.
func convert(t testing.TB, c *Converter, in Input) converted {
	t.Helper()
	out := converted{rows: map[catalog.Role]map[int64]row{catalog.Main: {}, catalog.Quarantine: {}}}
	var err error
	if out.Result, err = c.Run(context.Background(), in, &out.files); err != nil {
		t.Fatal(err)
	}
	if len(out.Files) != len(out.files.data) {
		t.Fatalf("%d files in the result, %d created", len(out.Files), len(out.files.data))
	}
	for i, f := range out.Files {
		if f.Index != i || f.Role != out.files.roles[i] || f.Size != int64(out.files.data[i].Len()) || f.Rows == 0 {
			t.Fatalf("file %d: index %d role %s rows %d size %d; written %s, %d bytes", i, f.Index, f.Role, f.Rows, f.Size, out.files.roles[i], out.files.data[i].Len())
		}
		s := c.def.Main
		if f.Role == catalog.Quarantine {
			s = c.def.Quarantine
		}
		footer, rows := readBack(t, out.files.data[i].Bytes(), s)
		out.footers = append(out.footers, footer)
		if int64(len(rows)) != f.Rows || footer.Role != f.Role {
			t.Fatalf("file %d: %d rows read, %d said; role %s", i, len(rows), f.Rows, footer.Role)
		}
		for offset, r := range rows {
			if _, twice := out.rows[f.Role][offset]; twice {
				t.Fatalf("offset %d is twice in %s", offset, f.Role)
			}
			out.rows[f.Role][offset] = r
		}
	}
	return out
}

func readBack(t testing.TB, data []byte, s schema.Schema) (catalog.FileFooter, map[int64]row) {
	t.Helper()
	r, err := parquet.NewReader("test", bytes.NewReader(data), int64(len(data)), s.Fields)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	footer, ok, err := catalog.DecodeFooter(r.Footer().KeyValue)
	if err != nil || !ok {
		t.Fatalf("footer: %v, %v", ok, err)
	}
	b := column.NewBatch(schema.Shapes(s.Fields))
	for {
		if _, err := r.Read(b, 1000); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	rows := map[int64]row{}
	for i := range b.Len() {
		one := row{}
		for c, f := range s.Fields {
			one[f.Name] = text(b.Columns[c], f.Type, i)
		}
		rows[b.Columns[schema.KafkaOffset].Int64(i)] = one
	}
	return footer, rows
}

// text is a value as these tests write it.
func text(v *column.Vector, typ schema.Type, i int) string {
	if !v.Valid(i) {
		return "null"
	}
	switch v.Kind {
	case column.Bool:
		return fmt.Sprint(v.Bool(i))
	case column.Int32:
		return fmt.Sprint(v.Int32(i))
	case column.Int64:
		return fmt.Sprint(v.Int64(i))
	case column.Float64:
		return fmt.Sprint(v.Float64(i))
	case column.Struct:
		var parts []string
		for c, f := range typ.Fields {
			parts = append(parts, text(v.Children[c], f.Type, i))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case column.List:
		var parts []string
		from, to := v.Elements(i)
		for e := from; e < to; e++ {
			parts = append(parts, text(v.Children[0], typ.Element.Type, e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return fmt.Sprintf("%q", v.Bytes(i))
}

// seen are the main rows' offsets and values of a raw table.
func seen(c converted) map[int64]string {
	out := map[int64]string{}
	for offset, r := range c.rows[catalog.Main] {
		out[offset] = strings.Trim(r["_kafka_value"], `"`)
	}
	return out
}
