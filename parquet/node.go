package parquet

import (
	"reflect"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"

	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

// maxDepth bounds the nesting of a schema: definition levels are bytes, and a list takes two of them.
const maxDepth = 100

// group is a Parquet group whose fields keep their order; the library's own Group is a map and sorts them by name.
type group struct{ fields []pq.Field }

func (g *group) ID() int                     { return 0 }
func (g *group) String() string              { return "group" }
func (g *group) Type() pq.Type               { return pq.Group{}.Type() }
func (g *group) Optional() bool              { return false }
func (g *group) Repeated() bool              { return false }
func (g *group) Required() bool              { return true }
func (g *group) Leaf() bool                  { return false }
func (g *group) Fields() []pq.Field          { return g.fields }
func (g *group) Encoding() encoding.Encoding { return nil }
func (g *group) Compression() compress.Codec { return nil }

// GoType is never used: rows are written as values with levels, not as Go structs.
func (g *group) GoType() reflect.Type { return reflect.TypeFor[struct{}]() }

type field struct {
	pq.Node
	name string
}

func (f *field) Name() string { return f.name }

// Value is never used, as GoType.
func (f *field) Value(reflect.Value) reflect.Value { return reflect.Value{} }

// step is one node on the way from a top-level column to a leaf.
type step struct {
	kind     schema.Kind
	child    int // index of the next node in the vector's Children
	optional bool
	rep      byte // repetition level of the elements, if a List
}

// leaf is one Parquet column.
type leaf struct {
	id     int
	typ    schema.Type
	column int    // index of the top-level column
	steps  []step // from the top-level column down; the last is the leaf itself
	path   []string
	inList bool
	full   bool // bounds are not cut to boundBytes
}

// plan is the Parquet form of a schema.
type plan struct {
	leaves []*leaf
	ids    map[int]string
}

func newPlan(s schema.Schema) (*plan, error) {
	p := &plan{ids: map[int]string{}}
	names := map[string]bool{}
	for i, f := range s.Fields {
		if err := p.unique(names, f.Name, f.Name); err != nil {
			return nil, err
		}
		l := leaf{column: i, full: isSystem(f.Name)}
		if err := p.walk(f, f.Name, l); err != nil {
			return nil, err
		}
	}
	if len(p.leaves) == 0 {
		return nil, status.Errorf(status.Invalid, "schema has no columns")
	}
	if len(p.leaves) > pq.MaxColumnIndex {
		return nil, status.Errorf(status.Unsupported, "schema has %d leaf columns, at most %d can be written", len(p.leaves), pq.MaxColumnIndex)
	}
	return p, nil
}

func isSystem(name string) bool {
	for _, f := range schema.System() {
		if f.Name == name {
			return true
		}
	}
	return false
}

func (p *plan) unique(names map[string]bool, name, at string) error {
	if name == "" || names[name] {
		return status.Errorf(status.Invalid, "column %s: the name is empty or used twice", at)
	}
	names[name] = true
	return nil
}

// walk adds the leaves below f. l holds the way so far and is copied at every branch.
func (p *plan) walk(f schema.Field, at string, l leaf) error {
	if other, used := p.ids[f.ID]; used || f.ID <= 0 {
		return status.Errorf(status.Invalid, "column %s: field id %d is not positive or belongs to %q too", at, f.ID, other)
	}
	if len(l.steps) >= maxDepth {
		return status.Errorf(status.Invalid, "column %s is nested deeper than %d", at, maxDepth)
	}
	p.ids[f.ID] = at
	l.path = append(append([]string(nil), l.path...), f.Name)
	s := step{kind: f.Type.Kind, optional: !f.Required}
	switch f.Type.Kind {
	case schema.Struct:
		if len(f.Type.Fields) == 0 {
			return status.Errorf(status.Invalid, "column %s is a struct without fields, which Parquet cannot hold", at)
		}
		names := map[string]bool{}
		for i, c := range f.Type.Fields {
			if err := p.unique(names, c.Name, at+"."+c.Name); err != nil {
				return err
			}
			branch := l
			s.child = i
			branch.steps = append(append([]step(nil), l.steps...), s)
			if err := p.walk(c, at+"."+c.Name, branch); err != nil {
				return err
			}
		}
		return nil
	case schema.List:
		for _, above := range l.steps {
			if above.kind == schema.List {
				s.rep++
			}
		}
		s.rep++
		l.inList = true
		l.steps = append(append([]step(nil), l.steps...), s)
		l.path = append(l.path, "list")
		e := *f.Type.Element
		e.Name = "element"
		return p.walk(e, at+".element", l)
	case schema.Decimal:
		if f.Type.Precision < 1 || f.Type.Precision > 38 || f.Type.Scale < 0 || f.Type.Scale > f.Type.Precision {
			return status.Errorf(status.Invalid, "column %s: %s is not a decimal of at most 38 digits", at, f.Type)
		}
	case schema.Fixed:
		if f.Type.Width < 1 {
			return status.Errorf(status.Invalid, "column %s: fixed of width %d", at, f.Type.Width)
		}
	}
	l.id, l.typ = f.ID, f.Type
	l.steps = append(append([]step(nil), l.steps...), s)
	p.leaves = append(p.leaves, &l)
	return nil
}

// schema builds the library's schema; encodings are per leaf, in order, nil for plain.
func (p *plan) schema(s schema.Schema, encodings []encoding.Encoding) *pq.Schema {
	next := 0
	root := &group{fields: nodes(s.Fields, encodings, &next)}
	return pq.NewSchema("table", root)
}

func nodes(fields []schema.Field, encodings []encoding.Encoding, next *int) []pq.Field {
	out := make([]pq.Field, len(fields))
	for i, f := range fields {
		out[i] = &field{Node: node(f, encodings, next), name: f.Name}
	}
	return out
}

func node(f schema.Field, encodings []encoding.Encoding, next *int) pq.Node {
	var n pq.Node
	switch f.Type.Kind {
	case schema.Struct:
		n = &group{fields: nodes(f.Type.Fields, encodings, next)}
	case schema.List:
		n = pq.List(node(*f.Type.Element, encodings, next))
	default:
		n = leafNode(f.Type)
		if e := encodings[*next]; e != nil {
			n = pq.Encoded(n, e)
		}
		*next++
	}
	n = pq.FieldID(n, f.ID)
	if !f.Required {
		n = pq.Optional(n)
	}
	return n
}

func leafNode(t schema.Type) pq.Node {
	switch t.Kind {
	case schema.Boolean:
		return pq.Leaf(pq.BooleanType)
	case schema.Int:
		return pq.Leaf(pq.Int32Type)
	case schema.Long:
		return pq.Leaf(pq.Int64Type)
	case schema.Float:
		return pq.Leaf(pq.FloatType)
	case schema.Double:
		return pq.Leaf(pq.DoubleType)
	case schema.Decimal:
		switch {
		case t.Precision <= 9:
			return pq.Decimal(t.Scale, t.Precision, pq.Int32Type)
		case t.Precision <= 18:
			return pq.Decimal(t.Scale, t.Precision, pq.Int64Type)
		}
		return pq.Decimal(t.Scale, t.Precision, pq.FixedLenByteArrayType(schema.DecimalWidth(t.Precision)))
	case schema.Date:
		return pq.Date()
	case schema.Timestamp:
		return pq.TimestampAdjusted(pq.Microsecond, false)
	case schema.Timestamptz:
		return pq.TimestampAdjusted(pq.Microsecond, true)
	case schema.String:
		return pq.String()
	case schema.Binary:
		return pq.Leaf(pq.ByteArrayType)
	case schema.Fixed:
		return pq.Leaf(pq.FixedLenByteArrayType(t.Width))
	}
	return pq.UUID()
}

// fieldsOf is the inverse of nodes for the columns of a file; what Tidemark has no type for is left out.
func fieldsOf(columns []*pq.Column) []schema.Field {
	var out []schema.Field
	for _, c := range columns {
		if t, ok := typeOf(c); ok {
			out = append(out, schema.Field{ID: c.ID(), Name: c.Name(), Type: t, Required: c.Required()})
		}
	}
	return out
}

func typeOf(c *pq.Column) (schema.Type, bool) {
	var logical any
	if lt := c.Type().LogicalType(); lt != nil {
		logical = lt.Value
	}
	if !c.Leaf() {
		return groupTypeOf(c, logical)
	}
	switch l := logical.(type) {
	case *format.DecimalType:
		t := schema.Type{Kind: schema.Decimal, Precision: int(l.Precision), Scale: int(l.Scale)}
		return t, t.Precision <= 38 && readable(t, c)
	case *format.TimestampType:
		if _, micros := l.Unit.Value.(*format.MicroSeconds); !micros {
			return schema.Type{}, false
		}
		if l.IsAdjustedToUTC {
			return schema.Type{Kind: schema.Timestamptz}, true
		}
		return schema.Type{Kind: schema.Timestamp}, true
	case *format.DateType:
		return schema.Type{Kind: schema.Date}, true
	case *format.StringType:
		return schema.Type{Kind: schema.String}, true
	case *format.UUIDType:
		return schema.Type{Kind: schema.UUID}, true
	case *format.IntType:
		t, ok := physicalTypeOf(c)
		return t, ok && l.IsSigned
	case nil:
		return physicalTypeOf(c)
	}
	return schema.Type{}, false
}

func physicalTypeOf(c *pq.Column) (schema.Type, bool) {
	switch c.Type().Kind() {
	case pq.Boolean:
		return schema.Type{Kind: schema.Boolean}, true
	case pq.Int32:
		return schema.Type{Kind: schema.Int}, true
	case pq.Int64:
		return schema.Type{Kind: schema.Long}, true
	case pq.Float:
		return schema.Type{Kind: schema.Float}, true
	case pq.Double:
		return schema.Type{Kind: schema.Double}, true
	case pq.ByteArray:
		return schema.Type{Kind: schema.Binary}, true
	case pq.FixedLenByteArray:
		return schema.Type{Kind: schema.Fixed, Width: c.Type().Length()}, true
	}
	return schema.Type{}, false
}

func groupTypeOf(c *pq.Column, logical any) (schema.Type, bool) {
	switch logical.(type) {
	case nil:
		if c.Repeated() {
			return schema.Type{}, false
		}
		return schema.Type{Kind: schema.Struct, Fields: fieldsOf(c.Columns())}, true
	case *format.ListType:
		if len(c.Columns()) != 1 || !c.Columns()[0].Repeated() {
			return schema.Type{}, false
		}
		if e := fieldsOf(c.Columns()[0].Columns()); len(e) == 1 {
			return schema.Type{Kind: schema.List, Element: &e[0]}, true
		}
	}
	return schema.Type{}, false
}
