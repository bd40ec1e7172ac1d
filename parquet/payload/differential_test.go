package payload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/parquet/column"
	"tidemark/parquet/column/columntest"
	"tidemark/parquet/schema"
)

// treeSchema has every structure and the scalars whose meaning encoding/json can tell.
const treeSchema = `{"type":"object","properties":{
	"a":{"type":"integer"},"b":{"type":"string"},"c":{"type":"boolean"},"d":{"type":"number"},"e":{},
	"s":{"type":"object","properties":{"a":{"type":"string"},"s":{"type":"object","properties":{"d":{"type":"number"}}},"l":{"type":"array","items":{"type":"integer"}}}},
	"l":{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}}}}}}`

// oracle decodes by encoding/json and the types of the columns. ok is false if a value does not fit.
func oracle(fields []schema.Field, value map[string]any, rest map[string]any) (row []any, ok bool) {
	for k, v := range value {
		rest[k] = v
	}
	row = []any{}
	for _, f := range fields {
		if f.Name == Unmapped {
			continue
		}
		v, present := value[f.SourceName()]
		delete(rest, f.SourceName())
		below := map[string]any{}
		x, ok := any(nil), true
		if present {
			x, ok = oracleValue(f, v, below)
		}
		if !ok {
			return nil, false
		}
		if len(below) > 0 {
			rest[f.SourceName()] = below
		}
		row = append(row, x)
	}
	return row, true
}

func oracleValue(f schema.Field, v any, rest map[string]any) (any, bool) {
	if v == nil {
		return nil, true
	}
	if f.Type.Kind == schema.String && strings.Contains(f.Doc, "JSON text") {
		return v, true
	}
	switch x := v.(type) {
	case bool:
		return x, f.Type.Kind == schema.Boolean
	case string:
		return x, f.Type.Kind == schema.String
	case json.Number:
		if f.Type.Kind == schema.Double {
			d, err := strconv.ParseFloat(string(x), 64)
			return d, err == nil
		}
		r, fine := new(big.Rat).SetString(string(x))
		if f.Type.Kind != schema.Long || !fine || !r.IsInt() || !r.Num().IsInt64() {
			return nil, false
		}
		return r.Num().Int64(), true
	case map[string]any:
		if f.Type.Kind != schema.Struct {
			return nil, false
		}
		return oracle(f.Type.Fields, x, rest)
	}
	if f.Type.Kind != schema.List {
		return nil, false
	}
	list := []any{}
	for i, e := range v.([]any) {
		below := map[string]any{}
		x, ok := oracleValue(*f.Type.Element, e, below)
		if !ok {
			return nil, false
		}
		if len(below) > 0 {
			rest[strconv.Itoa(i)] = below
		}
		list = append(list, x)
	}
	return list, true
}

// compare decodes a value with both and reports a difference; "" is none.
func compare(d *JSON, value []byte) string {
	b := column.NewBatch(schema.Shapes(d.Fields()))
	bad := d.Decode(value, b.Columns)
	lib := json.NewDecoder(bytes.NewReader(value))
	lib.UseNumber()
	var tree any
	libErr := lib.Decode(&tree)
	if libErr == nil && len(bytes.Trim(value[lib.InputOffset():], " \n\r\t")) > 0 {
		libErr = fmt.Errorf("text after the value")
	}
	switch {
	case bad != nil && (bad.Reason == Limit || bad.Reason == BadUTF8):
		return "" // encoding/json is more lenient
	case libErr != nil:
		if bad == nil || bad.Reason != BadJSON {
			return fmt.Sprintf("encoding/json says %v, we %v", libErr, bad)
		}
		return ""
	case bad != nil && bad.Reason == BadJSON:
		return fmt.Sprintf("encoding/json takes it, we say %v", bad)
	}
	object, isObject := tree.(map[string]any)
	rest := map[string]any{}
	want, ok := oracle(d.Fields(), object, rest)
	if !ok || !isObject {
		if bad == nil {
			return "a value that does not fit is taken"
		}
		return ""
	}
	if bad != nil {
		return fmt.Sprintf("refused: %v", bad)
	}
	got := []any{}
	for i, f := range d.Fields()[:len(want)] {
		got = append(got, parsed(f, columntest.Read(b.Columns[i], 0)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return "(-encoding/json +ours):\n" + diff
	}
	unmapped := map[string]any{}
	if text := columntest.Read(b.Columns[len(want)], 0); text != nil {
		lib := json.NewDecoder(strings.NewReader(text.(string)))
		lib.UseNumber()
		if err := lib.Decode(&unmapped); err != nil {
			return fmt.Sprintf("_unmapped is %q: %v", text, err)
		}
	}
	if diff := cmp.Diff(rest, unmapped); diff != "" {
		return "_unmapped (-encoding/json +ours):\n" + diff
	}
	return ""
}

// parsed replaces JSON text by its meaning.
func parsed(f schema.Field, v any) any {
	text, isText := v.(string)
	if !isText || !strings.Contains(f.Doc, "JSON text") {
		return v
	}
	lib := json.NewDecoder(strings.NewReader(text))
	lib.UseNumber()
	var tree any
	if err := lib.Decode(&tree); err != nil {
		return fmt.Sprintf("no JSON: %q", text)
	}
	return tree
}

func drawJSON(t *rapid.T, depth int) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", "", " ", "\n\t"}).Draw(t, "space") }
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	if depth == 0 {
		kind %= 6
	}
	switch kind {
	case 0:
		return rapid.SampledFrom([]string{"null", "true", "false", "NaN", "01", "-", "tru", `"\ud800"`}).Draw(t, "literal")
	case 1, 2:
		return rapid.SampledFrom([]string{"0", "-0", "1", "-1.0", "12e3", "1.5", "1E-2", "9223372036854775807", "9223372036854775808", "123456789012345678.0", "1e400", "0.1e1"}).Draw(t, "number")
	case 3, 4, 5:
		return drawText(t)
	case 6, 7:
		var b strings.Builder
		b.WriteString("[" + space())
		for i := range rapid.IntRange(0, 3).Draw(t, "elements") {
			if i > 0 {
				b.WriteString("," + space())
			}
			b.WriteString(drawJSON(t, depth-1) + space())
		}
		return b.String() + "]"
	}
	return drawObject(t, depth)
}

func drawText(t *rapid.T) string {
	return `"` + rapid.SampledFrom([]string{"", "x", "é", `\u00e9`, `\"`, `\\`, `\n`, `\ud83d\ude00`, `\/`, "😀", `a\u0062c`}).Draw(t, "text") + `"`
}

func drawObject(t *rapid.T, depth int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range rapid.IntRange(0, 6).Draw(t, "properties") {
		if i > 0 {
			b.WriteString(", ")
		}
		key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "s", "l", `\u0061`, "z", `\"`, "a", "s"}).Draw(t, "key")
		b.WriteString(`"` + key + `":`)
		// Mostly values that fit, so that most documents become rows.
		switch fits := rapid.IntRange(0, 9).Draw(t, "fits") > 0; {
		case fits && key == "a":
			b.WriteString(rapid.SampledFrom([]string{"1", "-2.0", "null", `"x"`}).Draw(t, "a"))
		case fits && key == "b":
			b.WriteString(drawText(t))
		case fits && (key == "c" || key == "z"):
			b.WriteString("true")
		case fits && key == "d":
			b.WriteString("1.25")
		case fits && key == "s" && depth > 0:
			b.WriteString(drawObject(t, depth-1))
		case fits && key == "l" && depth > 0:
			b.WriteString("[" + drawObject(t, depth-1) + "," + drawObject(t, depth-1) + "]")
		default:
			b.WriteString(drawJSON(t, max(depth-1, 0)))
		}
	}
	return b.String() + "}"
}

func TestAgainstEncodingJSON(t *testing.T) {
	d := compile(t, treeSchema, Options{})
	rows := 0
	rapid.Check(t, func(t *rapid.T) {
		value := []byte(drawObject(t, 3))
		if diff := compare(d, value); diff != "" {
			t.Fatalf("%s\n%s", value, diff)
		}
		b := column.NewBatch(schema.Shapes(d.Fields()))
		if d.Decode(value, b.Columns) == nil {
			rows++
		}
	})
	if rows < 10 {
		t.Errorf("only %d documents became rows", rows)
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{}`, flatValue, `{"a":1,"b":"x","s":{"l":[1,2],"q":0},"l":[{"a":1,"z":[]},null]}`, `{"a":1.0,"\u0061":2}`,
		`{"e":[1e5,{"x":"\ud83d\ude00"}],"d":-0.0}`, "\xff", `{"b":"\ud800"}`, `[[[[[]]]]]`, `{"a":12345678901234567890e-1}`} {
		f.Add([]byte(seed))
	}
	d := compile(f, treeSchema, Options{})
	f.Fuzz(func(t *testing.T, value []byte) {
		if diff := compare(d, value); diff != "" && utf8.Valid(value) {
			t.Fatal(diff)
		}
		b := column.NewBatch(schema.Shapes(d.Fields()))
		for range 2 { // a decoder has no memory of the value before
			if d.Decode(value, b.Columns) != nil {
				b.Truncate(0)
			} else if b.Len() == 0 {
				t.Fatal("no row and no error")
			}
		}
		for _, c := range b.Columns {
			if c.Len() != b.Len() {
				t.Fatal("columns have different lengths")
			}
		}
	})
}
