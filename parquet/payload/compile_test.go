package payload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

// describe prints fields one a line: name: type (source).
func describe(fields []schema.Field) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(f.Name + ": " + f.Type.String())
		if f.Source != "" {
			b.WriteString(" (" + f.Source + ")")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestColumns(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"order of the text": {`{"properties":{"b":{"type":"string"},"a":{"type":"integer"},"c":{"type":"boolean"}}}`, "b: string\na: long\nc: boolean\n"},
		"references": {`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"m/o~n ey":{"type":"object","properties":{"v":{"type":"number"}}}},
			"type":"object","properties":{"p":{"$ref":"#/definitions/m~1o~0n%20ey"},"q":{"type":"array","items":{"$ref":"#/definitions/m~1o~0n%20ey"}}}}`,
			"p: struct<v: double>\nq: list<struct<v: double>>\n"},
		"ids and anchors": {`{"$id":"https://example.com/a.json","$defs":{"x":{"$id":"b.json","type":"object","properties":{"z":{"$ref":"#in"},"y":{"type":"string","format":"uuid"}},
			"$defs":{"i":{"$anchor":"in","type":"integer","format":"int32"}}}},"properties":{"k":{"$ref":"b.json"}}}`, "k: struct<z: int, y: uuid>\n"},
		"draft 4":                         {`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/y","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`, "a: double\n"},
		"reference with a type beside it": {`{"$defs":{"o":{"properties":{"a":{"type":"string"}}}},"properties":{"x":{"$ref":"#/$defs/o","type":"object"}}}`, "x: struct<a: string>\n"},
		"allOf": {`{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"integer"}},"required":["a"]}],"properties":{"c":{"type":"null","type":"boolean"}}}`,
			"c: boolean\na: string\nb: long\n"},
		"optional": {`{"properties":{"a":{"type":["null","integer"]},"b":{"oneOf":[{"type":"null"},{"$ref":"#/$defs/s"}]},"c":{"anyOf":[{"type":"string"}]}},"$defs":{"s":{"type":["string","null"]}}}`,
			"a: long\nb: string\nc: string\n"},
		"alternatives that restrict": {`{"properties":{"a":{"type":"string","anyOf":[{"minLength":3},{"const":"x"}]}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, "a: string\n"},
		"numbers":                    {`{"properties":{"a":{"type":["integer","number"]},"b":{"type":"integer","maximum":9223372036854775807},"c":{"type":"integer","minimum":-9223372036854775809},"d":{"type":"integer","exclusiveMaximum":9223372036854775808}}}`, "a: double\nb: long\nc: decimal(20, 0)\nd: decimal(20, 0)\n"},
		"wide integer":               {`{"properties":{"a":{"type":"integer","maximum":1e25}}}`, "a: decimal(26, 0)\n"},
		"text":                       {`{"properties":{"a":true,"b":{},"c":{"type":"object","additionalProperties":{"type":"string"}},"d":{"enum":[1,"x"]},"e":{"not":{"type":"string"}}}}`, "a: string\nb: string\nc: string\nd: string\ne: string\n"},
		"recursion":                  {`{"$defs":{"n":{"properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/n"}}}},"properties":{"h":{"$ref":"#/$defs/n"}}}`, "h: struct<v: long, next: struct<v: long, next: string>>\n"},
		"recursion of the root":      {`{"properties":{"next":{"$ref":"#"}}}`, "next: struct<next: string>\n"},
		"folded names":               {`{"properties":{"user-id":{},"user.id":{},"User_ID":{},"é":{},"":{},"_file":{},"_kafka_offset":{},"_unmapped":{},"taken":{}}}`, "user_id: string (user-id)\nuser_id__2: string (user.id)\nUser_ID__3: string (User_ID)\né: string\n_: string ()\n_file__2: string (_file)\n_kafka_offset__2: string (_kafka_offset)\n_unmapped__2: string (_unmapped)\ntaken__2: string (taken)\n"},
		"nested names":               {`{"properties":{"s":{"properties":{"_file":{},"A":{},"a":{}}}}}`, "s: struct<_file: string, A: string, a__2: string>\n"},
		"patterns of ECMA 262":       {`{"properties":{"a":{"type":"string","pattern":"^(?!x)\\d+$"}},"patternProperties":{"(?<=a)b":{}}}`, "a: string\n"},
	} {
		d, err := CompileJSON([]byte(c.text), Options{MaxRecursion: 2, Reserved: []string{"Taken"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := strings.ReplaceAll(c.want, " ()", "") + "_unmapped: string\n"
		if diff := cmp.Diff(want, describe(d.Fields())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDocumentation(t *testing.T) {
	d := compile(t, `{"properties":{"a-b":{"description":"what it is"},"t":{"type":"string","format":"time"},"r":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string","description":"far"}}}`, Options{})
	var got []string
	for _, f := range d.Fields() {
		got = append(got, f.Doc)
	}
	want := []string{`what it is; JSON text; source name "a-b"`, "µs since midnight UTC", "far", "properties that the schema does not name, as a JSON object"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSchemasThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no JSON":            {"{\n  \"a\": 01}", "bad number at line 2, column 8"},
		"nothing":            {"", "line 1, column 1"},
		"two values":         {"{} {}", "text after the value"},
		"not a schema":       {"{\"properties\":\n {\"a\": {\"type\": \"strin\"}}}", "/properties/a/type (line 2, column 17) is not valid"},
		"no schema at all":   {`3`, "JSON Schema"},
		"union":              {"{\"properties\":{\n\"a\":{\"type\":[\"string\",\"integer\"]}}}", "/properties/a (line 2, column 5) is a union"},
		"oneOf":              {`{"properties":{"a/b":{"oneOf":[{"type":"string"},{"type":"integer"}]}}}`, "/properties/a~1b (line 1, column 22) is a union"},
		"tuple":              {`{"properties":{"a":{"type":"array","prefixItems":[{}]}}}`, "/properties/a (line 1, column 20) is a tuple"},
		"old tuple":          {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"type":"array","items":[{}]}}}`, "is a tuple"},
		"only null":          {`{"properties":{"a":{"type":"null"}}}`, "nothing but null"},
		"only null of many":  {`{"properties":{"a":{"oneOf":[{"type":"null"}]}}}`, "nothing but null"},
		"other document":     {`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, "not followed"},
		"missing reference":  {`{"properties":{"a":{"$ref":"#/$defs/x"}}}`, "JSON Schema"},
		"reference loop":     {`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/x"}}}`, "refers to itself"},
		"dynamic reference":  {`{"properties":{"a":{"$dynamicRef":"#"}}}`, "JSON Schema"},
		"decimal":            {`{"properties":{"a":{"type":"number","format":"decimal","precision":39}}}`, `"precision" within 1 to 38`},
		"decimal alone":      {`{"properties":{"a":{"type":"number","format":"decimal"}}}`, `no "precision"`},
		"scale":              {`{"properties":{"a":{"type":"number","format":"decimal","precision":3,"scale":4}}}`, `"scale" within`},
		"huge bound":         {`{"properties":{"a":{"type":"integer","maximum":1e39}}}`, "38 digits"},
		"huge exponent":      {`{"properties":{"a":{"type":"integer","maximum":1e999999999}}}`, "exponent"},
		"conflict in allOf":  {`{"allOf":[{"type":"string"},{"type":"integer"}]}`, "another type"},
		"property twice":     {`{"allOf":[{"properties":{"a":{}}},{"properties":{"a":{}}}]}`, "described twice"},
		"too many columns":   {`{"properties":{"a":{},"b":{},"c":{},"d":{}}}`, "more than 4 columns"},
		"nested too deep":    {strings.Repeat(`{"not":`, 300) + `{}` + strings.Repeat(`}`, 300), "nested too deep"},
		"object against its": {`{"type":"string","properties":{"a":{"type":["boolean","string"]}},"allOf":[{"type":"object"}]}`, "another type"},
	} {
		_, err := CompileJSON([]byte(c.text), Options{MaxColumns: 4})
		if !status.Is(err, status.Invalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
}
