package payload

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/parquet/column"
	"tidemark/parquet/column/columntest"
	"tidemark/parquet/schema"
)

func compile(t testing.TB, text string, opt Options) *JSON {
	t.Helper()
	d, err := CompileJSON([]byte(text), opt)
	if err != nil {
		t.Fatalf("CompileJSON: %v", err)
	}
	return d
}

// one decodes a value and returns its row as text-like Go values.
func one(t testing.TB, d Decoder, value []byte) ([]any, *BadValue) {
	t.Helper()
	b := column.NewBatch(schema.Shapes(d.Fields()))
	if bad := d.Decode(value, b.Columns); bad != nil {
		if b.Truncate(0); b.Len() != 0 {
			t.Error("rows are left after a bad value")
		}
		return nil, bad
	}
	row := []any{}
	for i, c := range b.Columns {
		if c.Len() != 1 {
			t.Fatalf("column %d has %d rows after one value", i, c.Len())
		}
		row = append(row, columntest.Read(c, 0))
	}
	return row, nil
}

// Each case is a property type, a JSON value and what the column holds: a value, or a reason.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		typ, value string
		want       any
	}{
		{`"type":"boolean"`, `true`, true},
		{`"type":"boolean"`, `false`, false},
		{`"type":"boolean"`, `0`, TypeMismatch},
		{`"type":"boolean"`, `null`, nil},
		{`"type":"integer"`, `-9223372036854775808`, int64(-1 << 63)},
		{`"type":"integer"`, `9223372036854775807`, int64(1<<63 - 1)},
		{`"type":"integer"`, `9223372036854775808`, OutOfRange},
		{`"type":"integer"`, `1.0`, int64(1)},
		{`"type":"integer"`, `-12.500e1`, int64(-125)},
		{`"type":"integer"`, `1e3`, int64(1000)},
		{`"type":"integer"`, `1e30`, OutOfRange},
		{`"type":"integer"`, `1e999999999999`, OutOfRange},
		{`"type":"integer"`, `1e-999999999999`, TypeMismatch},
		{`"type":"integer"`, `0e999999999999`, int64(0)},
		{`"type":"integer"`, `-0`, int64(0)},
		{`"type":"integer"`, `1.5`, TypeMismatch},
		{`"type":"integer"`, `"1"`, TypeMismatch},
		{`"type":"integer"`, `9007199254740993`, int64(9007199254740993)},
		{`"type":"integer"`, `9007199254740993.0`, int64(9007199254740993)},
		{`"type":"integer"`, `0.` + strings.Repeat("0", 50) + `1e51`, int64(1)},
		{`"type":"integer"`, `1` + strings.Repeat("0", 50) + `e-50`, int64(1)},
		{`"type":"integer","format":"int32"`, `2147483647`, int32(1<<31 - 1)},
		{`"type":"integer","format":"int32"`, `2147483648`, OutOfRange},
		{`"type":"integer","format":"uint64"`, `18446744073709551615`, "\x00\xff\xff\xff\xff\xff\xff\xff\xff"},
		{`"type":"integer","maximum":18446744073709551615`, `-1`, "\xff\xff\xff\xff\xff\xff\xff\xff\xff"},
		{`"type":"integer","maximum":18446744073709551615`, `100000000000000000000`, OutOfRange},
		{`"type":"number"`, `1`, 1.0},
		{`"type":"number"`, `-0.0`, 0.0},
		{`"type":"number"`, `1e400`, OutOfRange},
		{`"type":"number"`, `1e-400`, 0.0},
		{`"type":"number"`, `"1"`, TypeMismatch},
		{`"type":"number","format":"float"`, `0.1`, float32(0.1)},
		{`"type":"number","format":"float"`, `1e39`, OutOfRange},
		{`"type":"number","format":"decimal","precision":9,"scale":2`, `-1234567.8`, int32(-123456780)},
		{`"type":"number","format":"decimal","precision":9,"scale":2`, `12345678`, OutOfRange},
		{`"type":"number","format":"decimal","precision":9,"scale":2`, `0.001`, OutOfRange},
		{`"type":"number","format":"decimal","precision":9,"scale":2`, `0.010`, int32(1)},
		{`"type":"number","format":"decimal","precision":18,"scale":0`, `999999999999999999`, int64(999999999999999999)},
		{`"type":"number","format":"decimal","precision":20,"scale":1`, `-0.1`, "\xff\xff\xff\xff\xff\xff\xff\xff\xff"},
		{`"type":"string","format":"decimal","precision":9,"scale":2`, `"12.34"`, int32(1234)},
		{`"type":"string","format":"decimal","precision":9,"scale":2`, `"12.34 "`, BadFormat},
		{`"type":"string","format":"decimal","precision":9,"scale":2`, `"-"`, BadFormat},
		{`"type":"string","format":"decimal","precision":9,"scale":2`, `""`, BadFormat},
		{`"type":"string","format":"decimal","precision":9,"scale":2`, `1`, TypeMismatch},
		{`"type":"string"`, `""`, ""},
		{`"type":"string"`, `"a\u00e9\n\/\"\\\ud83d\ude00\u0000z"`, "aé\n/\"\\😀\x00z"},
		{`"type":"string"`, `1`, TypeMismatch},
		{`"enum":["a","b",null]`, `"c"`, "c"},
		{`"type":"string","format":"date"`, `"1970-01-01"`, int32(0)},
		{`"type":"string","format":"date"`, `"0001-01-01"`, int32(minDay)},
		{`"type":"string","format":"date"`, `"9999-12-31"`, int32(maxDay)},
		{`"type":"string","format":"date"`, `"0000-01-01"`, BadFormat},
		{`"type":"string","format":"date"`, `"2023-02-29"`, BadFormat},
		{`"type":"string","format":"date"`, `"2024-02-29"`, int32(19782)},
		{`"type":"string","format":"date-time"`, `"1970-01-01T00:00:01Z"`, int64(1_000_000)},
		{`"type":"string","format":"date-time"`, `"1970-01-01t01:00:00.1234567+01:00"`, int64(123456)},
		{`"type":"string","format":"date-time"`, `"1969-12-31 23:59:59.999999-00:00"`, int64(-1)},
		{`"type":"string","format":"date-time"`, `"1970-01-01T00:00:00"`, BadFormat},
		{`"type":"string","format":"date-time"`, `"0001-01-01T00:00:00+00:01"`, OutOfRange},
		{`"type":"string","format":"date-time"`, `"1970-01-01T24:00:00Z"`, BadFormat},
		{`"type":"string","format":"date-time"`, `"1970-01-01T00:00:00.Z"`, BadFormat},
		{`"type":"string","format":"date-time"`, `"1970-01-01T00:00:00+0100"`, BadFormat},
		{`"type":"string","format":"time"`, `"00:00:01.5"`, int64(1_500_000)},
		{`"type":"string","format":"time"`, `"00:30:00+01:00"`, int64(84_600_000_000)},
		{`"type":"string","format":"time"`, `"0:30:00"`, BadFormat},
		{`"type":"string","format":"uuid"`, `"00112233-4455-6677-8899-aABBccddeeff"`, "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"},
		{`"type":"string","format":"uuid"`, `"00112233-4455-6677-8899-aabbccddeefg"`, BadFormat},
		{`"type":"string","contentEncoding":"base64"`, `"AAH\/"`, "\x00\x01\xff"},
		{`"type":"string","contentEncoding":"base64"`, `"AA"`, BadFormat},
		{`"type":"string","contentEncoding":"base64url"`, `"_w=="`, "\xff"},
		{`"type":"string","format":"e-mail"`, `"x"`, "x"},
		{`"type":["null","string"]`, `null`, nil},
		{`"oneOf":[{"type":"null"},{"type":"integer"}]`, `5`, int64(5)},
		{`"anyOf":[{"type":"integer"},{"const":null}]`, `null`, nil},
		{`"title":"anything"`, ` {"b": [1 , 2.50],"a":"\u0041"} `, `{"b": [1 , 2.50],"a":"\u0041"}`},
		{`"type":"object"`, `{"b":1}`, `{"b":1}`},
		{`"type":"array"`, `[1, "a" ,null,[ ]]`, []any{"1", `"a"`, nil, "[ ]"}},
		{`"type":"array","items":{"type":"integer"}`, `[]`, []any{}},
		{`"type":"array","items":{"type":"integer"}`, `[1,null,2]`, []any{int64(1), nil, int64(2)}},
		{`"type":"array","items":{"type":"integer"}`, `{}`, TypeMismatch},
		{`"type":"array","items":{"type":"array","items":{"type":"boolean"}}`, `[[true],[],null]`, []any{[]any{true}, []any{}, nil}},
		{`"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"string"}}`, `{"a":"x","b":2}`, []any{int64(2), "x"}},
		{`"type":"object","properties":{"b":{"type":"integer"}}`, `[]`, TypeMismatch},
	} {
		d := compile(t, `{"type":"object","properties":{"x":{`+c.typ+`}}}`, Options{})
		row, bad := one(t, d, []byte(`{"x":`+c.value+`}`))
		if reason, isBad := c.want.(Reason); isBad {
			if bad == nil || bad.Reason != reason || bad.FieldPath != "x" || bad.Stage != StageConvert {
				t.Errorf("%s, %s: row %v, error %v; want %s at x", c.typ, c.value, row, bad, reason)
			}
			continue
		}
		if bad != nil {
			t.Errorf("%s, %s: %v", c.typ, c.value, bad)
		} else if diff := cmp.Diff(c.want, row[0]); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", c.typ, c.value, diff)
		}
	}
}

// Everything that RFC 8259 does not allow is refused wherever it stands, also in properties that nobody asks for.
func TestStrictness(t *testing.T) {
	d := compile(t, `{"type":"object","properties":{"x":{}}}`, Options{})
	bad := map[string]Reason{
		``: BadJSON, ` `: BadJSON, `{`: BadJSON, `{}}`: BadJSON, `{} x`: BadJSON, `{"x":1,}`: BadJSON, `{,}`: BadJSON,
		`{"x"}`: BadJSON, `{"x":}`: BadJSON, `{x:1}`: BadJSON, `{"x":1 "y":2}`: BadJSON, `{'x':1}`: BadJSON, "\xef\xbb\xbf{}": BadJSON,
		`{"x":"`: BadJSON, `{"x":"\`: BadJSON, `{"x":"\"`: BadJSON, `{"x":[`: BadJSON, `{"x":[1`: BadJSON, `{"x":[1,]}`: BadJSON,
	}
	for _, v := range []string{`NaN`, `nan`, `Infinity`, `-inf`, `01`, `-01`, `+1`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `1.2.3`, `-`, `--1`, `0x1`, `1_0`,
		`tru`, `True`, `nul`, `undefined`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"", "\"\x00\"", "\"\x1f\"", `'a'`, `/**/1`, `1 // x`, `[1 2]`, `[}`} {
		bad[`{"x":`+v+`}`] = BadJSON
		bad[`{"other":`+v+`}`] = BadJSON
		bad[`{"other":[{"y":`+v+`}]}`] = BadJSON
	}
	for _, v := range []string{"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"a\xe2\x82\"", `"\ud800"`, `"\udc00"`, `"\ud800\u0041"`, `"\ud800\ud800"`, `"\udc00\ud800"`} {
		bad[`{"x":`+v+`}`] = BadUTF8
		bad[`{`+v+`:1}`] = BadUTF8
	}
	bad[`{"x":`+strings.Repeat("[", 64)+strings.Repeat("]", 64)+`}`] = Limit
	bad[`{"x":`+strings.Repeat(`{"x":`, 100000)+`1`] = Limit
	for value, reason := range bad {
		if row, got := one(t, d, []byte(value)); got == nil || got.Reason != reason || got.Stage != StageDecode {
			t.Errorf("%.60q: row %v, error %v; want %s", value, row, got, reason)
		}
	}
	for _, value := range []string{"\t\r\n {} \n", `{"x":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, `{"x":-0.0e-0}`, `{"\u0078":"\ud83d\ude00"}`, "{\"x\":\"\x7f\u0080\"}"} {
		if _, got := one(t, d, []byte(value)); got != nil {
			t.Errorf("%.60q: %v", value, got)
		}
	}
}

func TestObjects(t *testing.T) {
	d := compile(t, `{
		"type": "object",
		"required": ["id", "hidden"],
		"properties": {
			"id": {"type": "integer"},
			"who": {"type": "object", "required": ["name"], "properties": {"name": {"type": ["string", "null"]}, "age": {"type": "integer"}}},
			"items": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "number", "format": "decimal", "precision": 5, "scale": 2}}}}
		}}`, Options{})
	for _, c := range []struct {
		value string
		want  any
	}{
		{`{"id":1,"hidden":0}`, []any{int64(1), nil, nil, `{"hidden":0}`}},
		{`{"hidden":0,"id":1,"id":2}`, []any{int64(2), nil, nil, `{"hidden":0}`}},
		{`{"id":"bad","hidden":0,"i\u0064":3}`, []any{int64(3), nil, nil, `{"hidden":0}`}},
		{`{"id":1,"hidden": [1 , 2],"x":1,"hidden":  "z" }`, []any{int64(1), nil, nil, `{"x":1,"hidden":"z"}`}},
		{`{"id":1,"hidden":null,"who":{"name":null,"a\"\n":{"b":1}},"items":[{"price":1.5},{"n":7,"price":2},null,{"m":8}],"z":[]}`,
			[]any{int64(1), []any{nil, nil}, []any{[]any{int32(150)}, []any{int32(200)}, nil, []any{nil}},
				`{"hidden":null,"z":[],"who":{"a\"\u000a":{"b":1}},"items":{"1":{"n":7},"3":{"m":8}}}`}},
		{`{"id":1}`, &BadValue{StageConvert, MissingRequired, "hidden", "a required property is absent"}},
		{`{"hidden":1}`, &BadValue{StageConvert, MissingRequired, "id", "a required property is absent"}},
		{`{"hidden":1,"id":null}`, &BadValue{StageConvert, MissingRequired, "id", "a required property is null"}},
		{`{"hidden":1,"id":1,"who":{}}`, &BadValue{StageConvert, MissingRequired, "who.name", "a required property is absent"}},
		{`{"hidden":1,"id":1,"items":[{},{"price":"1"}]}`, &BadValue{StageConvert, TypeMismatch, "items[1].price", "a string where the schema has decimal(5, 2)"}},
		{`{"hidden":1,"id":1,"items":[1]}`, &BadValue{StageConvert, TypeMismatch, "items[0]", "a number where the schema has an object"}},
		{`[]`, &BadValue{StageConvert, TypeMismatch, "", "an array where the schema has an object"}},
		{`null`, &BadValue{StageConvert, TypeMismatch, "", "null where the schema has an object"}},
	} {
		row, bad := one(t, d, []byte(c.value))
		if want, isBad := c.want.(*BadValue); isBad {
			if diff := cmp.Diff(want, bad); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.value, diff)
			}
			continue
		}
		if bad != nil {
			t.Errorf("%s: %v", c.value, bad)
		} else if diff := cmp.Diff(c.want, row); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.value, diff)
		}
	}
	if row, bad := one(t, d, nil); bad != nil || !cmp.Equal(row, []any{nil, nil, nil, nil}) {
		t.Errorf("tombstone: %v, %v", row, bad)
	}
}

func TestManyUnmappedKeys(t *testing.T) {
	d := compile(t, `{"type":"object","properties":{"x":{}}}`, Options{})
	var in, want bytes.Buffer
	in.WriteString(`{"x":1`)
	for i := range 200 {
		fmt.Fprintf(&in, `,"k%d":0`, i)
	}
	want.WriteString("{")
	for i := range 200 {
		fmt.Fprintf(&in, `,"k%d":%d`, i, i)
		fmt.Fprintf(&want, `,"k%d":%d`, i, i)
	}
	row, bad := one(t, d, append(in.Bytes(), '}'))
	if got := strings.Replace(want.String()+"}", "{,", "{", 1); bad != nil || row[1] != got {
		t.Errorf("%v, %v", row, bad)
	}
}

func TestRootThatIsNoObject(t *testing.T) {
	d := compile(t, `{"type":"array","items":{"type":"integer"}}`, Options{})
	if f := d.Fields(); len(f) != 1 || f[0].Name != "value" || f[0].Type.String() != "list<long>" {
		t.Errorf("fields %v", f)
	}
	if row, bad := one(t, d, []byte(" [1, 2] ")); bad != nil || !cmp.Equal(row, []any{[]any{int64(1), int64(2)}}) {
		t.Errorf("%v, %v", row, bad)
	}
	if _, bad := one(t, d, []byte("[1] 2")); bad == nil || bad.Reason != BadJSON {
		t.Errorf("%v", bad)
	}
	d = compile(t, `true`, Options{})
	if row, bad := one(t, d, []byte(` "a" `)); bad != nil || !cmp.Equal(row, []any{`"a"`}) {
		t.Errorf("%v, %v", row, bad)
	}
	d = compile(t, `{"type":["object","null"],"properties":{"a":{}}}`, Options{})
	if row, bad := one(t, d, []byte(` null`)); bad != nil || !cmp.Equal(row, []any{nil, nil}) {
		t.Errorf("%v, %v", row, bad)
	}
}

func TestOptions(t *testing.T) {
	const text = `{"properties":{"t":{"type":"string","format":"date-time"},"l":{"type":"array","items":{"type":"integer"}}}}`
	d := compile(t, text, Options{DateTimeUTC: true, MaxElements: 2, MaxBytes: 60})
	if row, bad := one(t, d, []byte(`{"t":"1970-01-01T00:00:01","l":[1,2]}`)); bad != nil || row[0] != int64(1_000_000) {
		t.Errorf("%v, %v", row, bad)
	}
	if _, bad := one(t, d, []byte(`{"l":[1,2,3]}`)); bad == nil || bad.Reason != Limit || bad.FieldPath != "l" {
		t.Errorf("three elements: %v", bad)
	}
	if _, bad := one(t, d, bytes.Repeat([]byte(" "), 61)); bad == nil || bad.Reason != Limit {
		t.Errorf("61 bytes: %v", bad)
	}
	d = compile(t, text, Options{IgnoreFormats: true})
	if row, bad := one(t, d, []byte(`{"t":"soon"}`)); bad != nil || row[0] != "soon" {
		t.Errorf("%v, %v", row, bad)
	}
	if _, err := CompileJSON([]byte(`{}`), Options{MaxDepth: -1}); err == nil {
		t.Error("a negative depth is accepted")
	}
}

// What was appended must not change when the value's memory or the decoder is used again.
func TestNothingAliases(t *testing.T) {
	d := compile(t, flatSchema, Options{})
	b := column.NewBatch(schema.Shapes(d.Fields()))
	value := []byte(flatValue)
	for range 3 {
		if bad := d.Decode(value, b.Columns); bad != nil {
			t.Fatal(bad)
		}
		first := columntest.Read(b.Columns[3], 0)
		for i := range value {
			value[i] = 'X'
		}
		if columntest.Read(b.Columns[3], 0) != first || first != "ord-1" {
			t.Errorf("the column changed to %v", columntest.Read(b.Columns[3], 0))
		}
		value = []byte(flatValue)
	}
}

func TestForksAreIndependent(t *testing.T) {
	d := compile(t, flatSchema, Options{})
	e := d.Fork()
	a := column.NewBatch(schema.Shapes(d.Fields()))
	b := column.NewBatch(schema.Shapes(e.Fields()))
	if bad := d.Decode([]byte(`{`), a.Columns); bad == nil {
		t.Error("a bad value was taken")
	}
	if bad := e.Decode([]byte(flatValue), b.Columns); bad != nil || b.Len() != 1 {
		t.Errorf("%v", bad)
	}
}

const flatSchema = `{"type":"object","properties":{
	"id":{"type":"integer"},"at":{"type":"string","format":"date-time"},"amount":{"type":"number","format":"decimal","precision":18,"scale":2},
	"order":{"type":"string"},"state":{"enum":["created","paid"]},"weight":{"type":"number"},"gift":{"type":"boolean"},
	"session":{"type":"string","format":"uuid"},"note":{"type":["string","null"]},"count":{"type":"integer","format":"int32"}}}`

const flatValue = `{"id":123456789,"at":"2024-05-06T07:08:09.123456Z","amount":12345.67,"order":"ord-1","state":"paid","weight":71.25,` +
	`"gift":false,"session":"00112233-4455-6677-8899-aabbccddeeff","note":"a \"quoted\" word","count":7,"extra":{"a":[1,2,3]}}`

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	d := compile(t, flatSchema, Options{})
	b := column.NewBatch(schema.Shapes(d.Fields()))
	value := []byte(flatValue)
	decode := func() {
		b.Reset()
		for range 100 {
			if bad := d.Decode(value, b.Columns); bad != nil {
				t.Fatal(bad)
			}
		}
	}
	decode()
	if n := testing.AllocsPerRun(10, decode); n != 0 {
		t.Errorf("%v allocations per 100 records", n)
	}
}
