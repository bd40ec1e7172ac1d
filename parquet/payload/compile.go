package payload

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

// Options are how JSON values are read. The zero value is usable.
type Options struct {
	DateTimeUTC   bool     // a date-time without an offset is UTC, instead of a row error
	IgnoreFormats bool     // strings stay strings whatever their format
	Reserved      []string // column names that are taken, beside the system columns and those that engines reserve
	// MaxDepth bounds the nesting of values [64], MaxElements the length of a list [1 Mi], MaxBytes a value [1 GiB].
	MaxDepth, MaxElements, MaxBytes int
	// MaxColumns bounds the fields at all levels that a schema may make [5000].
	MaxColumns int
	// MaxRecursion is how often a recursive schema is unfolded before the rest is JSON text [4].
	MaxRecursion int
}

func (o Options) withDefaults() (Options, error) {
	for _, v := range []struct {
		field           *int
		name            string
		standard, limit int
	}{
		{&o.MaxDepth, "MaxDepth", 64, 1000},
		{&o.MaxElements, "MaxElements", 1 << 20, math.MaxInt32},
		{&o.MaxBytes, "MaxBytes", 1 << 30, math.MaxInt32},
		{&o.MaxColumns, "MaxColumns", 5000, 60_000},
		{&o.MaxRecursion, "MaxRecursion", 4, 16},
	} {
		if *v.field == 0 {
			*v.field = v.standard
		}
		if *v.field < 1 || *v.field > v.limit {
			return o, status.Errorf(status.Invalid, "JSON options: %s is %d, it must be within 1 to %d", v.name, *v.field, v.limit)
		}
	}
	return o, nil
}

// documentURL names the schema inside the library. Nothing is ever loaded from it.
const documentURL = "tidemark:///schema.json"

// noLoader refuses references to other documents: compiling does no I/O.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("references to other documents are not followed")
}

// anyRegexp stands for every pattern: values are not checked against patterns, and those of ECMA 262 that Go does not
// know must not make a schema unusable.
type anyRegexp string

func (anyRegexp) MatchString(string) bool { return true }
func (r anyRegexp) String() string        { return string(r) }

// CompileJSON makes a decoder from the text of a JSON Schema (drafts 4 to 2020-12, the latest if $schema is absent).
//
// An object becomes a struct, at the top the columns; an array a list; boolean, integer (long), number (double) and string
// what they are. Formats: int32, int64, uint32, uint64, float, double, date, date-time (timestamptz), time (long, µs),
// uuid, and the extension "decimal" with the keywords "precision" and "scale" on a number, an integer or a string that
// holds a number. An integer whose bounds are beyond a long is a decimal(20, 0) or wider. contentEncoding base64 and
// base64url make binary. ["null", T], oneOf and anyOf of null and T are T. allOf of objects is one object. Anything
// without a type, objects without properties and recursion that goes deeper than MaxRecursion are strings that hold the
// JSON text as it was. Keywords that only restrict values are not enforced, but required is.
//
// A schema that is not valid, or that has a construct without a column type (a union of several types, a tuple), is
// Invalid, with a JSON Pointer and a position.
func CompileJSON(schemaText []byte, opt Options) (*JSON, error) {
	opt, err := opt.withDefaults()
	if err != nil {
		return nil, err
	}
	doc, err := parseDocument(bytes.Clone(schemaText))
	if err != nil {
		return nil, err
	}
	root, err := load(doc)
	if err != nil {
		return nil, err
	}
	c := &compiler{doc: doc, opt: opt, open: map[*jsonschema.Schema]int{}}
	field := schema.Field{Name: newNames(true, opt.Reserved).name("value")}
	n, err := c.compile(root, &field, true)
	if err != nil {
		return nil, err
	}
	d := &JSON{root: n, fields: []schema.Field{field}, opt: opt}
	if n.op == opStruct {
		d.fields = append(field.Type.Fields, schema.Field{
			Name: Unmapped, Type: schema.Type{Kind: schema.String}, Doc: "properties that the schema does not name, as a JSON object",
		})
	}
	return d, nil
}

// load lets the library check the schema and resolve its references.
func load(doc *document) (*jsonschema.Schema, error) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc.text))
	if err != nil {
		return nil, status.Errorf(status.Invalid, "JSON Schema: %w", err)
	}
	lib := jsonschema.NewCompiler()
	lib.UseLoader(noLoader{})
	lib.UseRegexpEngine(func(s string) (jsonschema.Regexp, error) { return anyRegexp(s), nil })
	if err := lib.AddResource(documentURL, value); err != nil {
		return nil, status.Errorf(status.Invalid, "JSON Schema: %w", err)
	}
	root, err := lib.Compile(documentURL)
	if err == nil {
		return root, nil
	}
	var invalid *jsonschema.SchemaValidationError
	var detail *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &detail) {
		for len(detail.Causes) > 0 {
			detail = detail.Causes[0]
		}
		return nil, doc.invalid(detail.InstanceLocation, "is not valid: "+detail.Error())
	}
	return nil, status.Errorf(status.Invalid, "JSON Schema: %w", err)
}

func (d *document) invalid(path []string, text string) error {
	where := ""
	if e := d.find(path); e != nil {
		where = " (" + d.position(e.at) + ")"
	}
	return status.Errorf(status.Invalid, "JSON Schema: %s%s %s", pointer(path), where, strings.ReplaceAll(text, "\n", " "))
}

// path is where a schema of the library stands in the document.
func (d *document) path(s *jsonschema.Schema) []string {
	_, fragment, _ := strings.Cut(s.Location, "#")
	if fragment == "" {
		return nil
	}
	path := strings.Split(strings.TrimPrefix(fragment, "/"), "/")
	for i, p := range path {
		if decoded, err := url.PathUnescape(p); err == nil {
			p = decoded
		}
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	}
	return path
}

// order is the names of the properties of p in the order of the text.
func (d *document) order(p *jsonschema.Schema) []string {
	if e := d.find(append(d.path(p), "properties")); e != nil && len(e.names) == len(p.Properties) {
		return e.names
	}
	return slices.Sorted(maps.Keys(p.Properties)) // the library places it elsewhere
}

// maxDoc bounds the documentation of a column.
const maxDoc = 1024

// describe is the first description on the way to a schema.
func (d *document) describe(chain []*jsonschema.Schema) string {
	for _, s := range chain {
		if s.Description != "" {
			return s.Description[:validText(s.Description, maxDoc)]
		}
	}
	return ""
}

// validText is the length of the longest prefix of at most n bytes that does not cut a character.
func validText(s string, n int) int {
	if len(s) <= n {
		return len(s)
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return n
}

func join(doc, more string) string {
	if doc == "" {
		return more
	}
	return doc + "; " + more
}
