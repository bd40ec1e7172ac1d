package payload

import (
	"encoding/base64"
	"math/big"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tidemark/parquet/schema"
)

// compiler turns the library's schema into a program and the types of columns.
type compiler struct {
	doc     *document
	opt     Options
	columns int
	open    map[*jsonschema.Schema]int // how often a schema is being unfolded
}

// form is a schema without indirections: references, allOf, oneOf and anyOf with null are resolved.
type form struct {
	at       *jsonschema.Schema // where it stands, for errors
	types    []string           // without null; none: anything
	nullable bool
	parts    []*jsonschema.Schema // what it is made of; several only for objects
}

// compile makes the node of s and sets the type and the documentation of its field.
func (c *compiler) compile(s *jsonschema.Schema, f *schema.Field, top bool) (*node, error) {
	if c.columns++; c.columns > c.opt.MaxColumns {
		return nil, c.invalid(s, "makes more than "+strconv.Itoa(c.opt.MaxColumns)+" columns")
	}
	var chain []*jsonschema.Schema
	fm := form{at: s}
	if err := c.resolve(s, &fm, &chain); err != nil {
		return nil, err
	}
	for _, on := range chain {
		c.open[on]++
		defer func() { c.open[on]-- }()
	}
	f.Doc = c.doc.describe(chain)
	for _, on := range chain {
		if c.open[on] > c.opt.MaxRecursion {
			return c.text(f), nil
		}
	}
	n, err := c.shape(&fm, f, top)
	if err != nil {
		return nil, err
	}
	n.nullable, n.typ = fm.nullable || n.op == opText, f.Type
	return n, nil
}

func (c *compiler) invalid(s *jsonschema.Schema, text string) error {
	return c.doc.invalid(c.doc.path(s), text)
}

// resolve adds s to the form. chain gets every schema it goes through.
func (c *compiler) resolve(s *jsonschema.Schema, fm *form, chain *[]*jsonschema.Schema) error {
	if slices.Contains(*chain, s) {
		return c.invalid(s, "refers to itself")
	}
	*chain = append(*chain, s)
	if s.RecursiveRef != nil || s.DynamicRef != nil {
		return c.invalid(s, "has a dynamic reference, which has no column type")
	}
	if s.Ref == nil && s.Types != nil && s.Properties == nil && len(s.AllOf) == 0 || s.Ref == nil && len(s.OneOf)+len(s.AnyOf)+len(s.AllOf) == 0 {
		return c.part(s, fm) // alternatives beside a scalar type only restrict it
	}
	if s.Properties != nil || s.Types != nil || len(s.Required) > 0 {
		if err := c.part(s, fm); err != nil {
			return err
		}
	}
	next := s.AllOf
	if s.Ref != nil {
		next = append([]*jsonschema.Schema{s.Ref}, next...)
	}
	for _, alternatives := range [][]*jsonschema.Schema{s.OneOf, s.AnyOf} {
		if len(alternatives) == 0 || s.Properties != nil {
			continue // beside properties they only restrict
		}
		one, err := c.alternative(s, alternatives, fm)
		if err != nil {
			return err
		}
		next = append(slices.Clone(next), one)
	}
	for _, sub := range next {
		if err := c.resolve(sub, fm, chain); err != nil {
			return err
		}
	}
	return nil
}

// alternative is the one that is not null; several have no column type.
func (c *compiler) alternative(s *jsonschema.Schema, alternatives []*jsonschema.Schema, fm *form) (*jsonschema.Schema, error) {
	var one *jsonschema.Schema
	for _, a := range alternatives {
		if a.Types != nil && slices.Equal(a.Types.ToStrings(), []string{"null"}) || a.Const != nil && *a.Const == nil {
			fm.nullable = true
			continue
		}
		if one != nil {
			return nil, c.invalid(s, "is a union of several types, which has no column type")
		}
		one = a
	}
	if one == nil {
		return nil, c.invalid(s, "allows nothing but null")
	}
	return one, nil
}

// part adds the keywords of s itself to the form.
func (c *compiler) part(s *jsonschema.Schema, fm *form) error {
	var types []string
	if s.Types != nil {
		types = slices.DeleteFunc(s.Types.ToStrings(), func(t string) bool { return t == "null" })
		fm.nullable = fm.nullable || len(types) < len(s.Types.ToStrings())
		if slices.Contains(types, "number") { // an integer is a number
			types = slices.DeleteFunc(types, func(t string) bool { return t == "integer" })
		}
		if len(types) == 0 {
			return c.invalid(s, "allows nothing but null")
		}
		if len(types) > 1 {
			return c.invalid(s, "is a union of several types, which has no column type")
		}
	} else if s.Properties != nil {
		types = []string{"object"}
	} else if s.Enum != nil {
		types = c.enumTypes(s, fm)
	}
	switch {
	case types == nil:
	case fm.types != nil && !slices.Equal(fm.types, types):
		return c.invalid(s, "has another type than what it is combined with")
	default:
		fm.types = types
	}
	fm.parts = append(fm.parts, s)
	return nil
}

// enumTypes is string for an enum of strings; null makes it optional.
func (c *compiler) enumTypes(s *jsonschema.Schema, fm *form) []string {
	nullable := false
	for _, v := range s.Enum.Values {
		switch v.(type) {
		case string:
		case nil:
			nullable = true
		default:
			return nil
		}
	}
	fm.nullable = fm.nullable || nullable
	return []string{"string"}
}

func (c *compiler) shape(fm *form, f *schema.Field, top bool) (*node, error) {
	if len(fm.types) == 0 {
		return c.text(f), nil
	}
	switch fm.types[0] {
	case "object":
		return c.object(fm, f, top)
	case "array":
		return c.array(fm, f)
	case "boolean":
		f.Type.Kind = schema.Boolean
		return &node{op: opBoolean}, nil
	case "string":
		return c.stringNode(fm, f)
	}
	return c.numberNode(fm, f)
}

// text is the node of what stays JSON text.
func (c *compiler) text(f *schema.Field) *node {
	f.Type = schema.Type{Kind: schema.String}
	f.Doc = join(f.Doc, "JSON text")
	return &node{op: opText, typ: f.Type, nullable: true}
}

// keyword is the value of a string keyword in the parts of a form.
func (c *compiler) keyword(fm *form, name string) string {
	for _, p := range fm.parts {
		if e := c.doc.find(c.doc.path(p)); e != nil && e.string(name) != "" {
			return e.string(name)
		}
	}
	return ""
}

func (c *compiler) format(fm *form) string {
	if c.opt.IgnoreFormats {
		return ""
	}
	return c.keyword(fm, "format")
}

func (c *compiler) stringNode(fm *form, f *schema.Field) (*node, error) {
	kinds := map[string]struct {
		op   op
		kind schema.Kind
	}{
		"date": {opDate, schema.Date}, "date-time": {opTimestamp, schema.Timestamptz},
		"time": {opTime, schema.Long}, "uuid": {opUUID, schema.UUID},
	}
	format := c.format(fm)
	if format == "decimal" {
		n, err := c.decimal(fm, f)
		if n != nil {
			n.text = true
		}
		return n, err
	}
	if k, known := kinds[format]; known {
		f.Type.Kind = k.kind
		if k.op == opTime {
			f.Doc = join(f.Doc, "µs since midnight UTC")
		}
		return &node{op: k.op}, nil
	}
	switch c.keyword(fm, "contentEncoding") {
	case "base64":
		f.Type.Kind = schema.Binary
		return &node{op: opBase64, encoding: base64.StdEncoding.Strict()}, nil
	case "base64url":
		f.Type.Kind = schema.Binary
		return &node{op: opBase64, encoding: base64.URLEncoding.Strict()}, nil
	}
	f.Type.Kind = schema.String
	return &node{op: opString}, nil
}

func (c *compiler) numberNode(fm *form, f *schema.Field) (*node, error) {
	format := c.format(fm)
	if format == "decimal" {
		return c.decimal(fm, f)
	}
	if fm.types[0] == "number" {
		if format == "float" {
			f.Type.Kind = schema.Float
			return &node{op: opFloat}, nil
		}
		f.Type.Kind = schema.Double
		return &node{op: opDouble}, nil
	}
	digits := c.integerDigits(fm)
	if format == "uint64" {
		digits = max(digits, 20)
	}
	switch {
	case digits > maxDigits:
		return nil, c.invalid(fm.at, "has bounds beyond the 38 digits of a decimal")
	case digits > 0:
		f.Type = schema.Type{Kind: schema.Decimal, Precision: digits}
		return &node{op: opDecimal}, nil
	case format == "int32":
		f.Type.Kind = schema.Int
		return &node{op: opInt}, nil
	}
	f.Type.Kind = schema.Long
	return &node{op: opLong}, nil
}

// integerDigits is 0 if the bounds of an integer are within a long, else the digits of the decimal that holds them, at
// least 20.
func (c *compiler) integerDigits(fm *form) int {
	long := new(big.Int).Lsh(big.NewInt(1), 63)
	digits := 0
	for _, p := range fm.parts {
		for _, bound := range []*big.Rat{p.Maximum, p.ExclusiveMaximum, p.Minimum, p.ExclusiveMinimum} {
			if bound == nil {
				continue
			}
			whole := new(big.Int).Quo(bound.Num(), bound.Denom())
			if whole.CmpAbs(long) > 0 || whole.Cmp(long) == 0 {
				digits = max(digits, len(whole.Abs(whole).String()), 20)
			}
		}
	}
	return digits
}

func (c *compiler) decimal(fm *form, f *schema.Field) (*node, error) {
	for _, p := range fm.parts {
		e := c.doc.find(c.doc.path(p))
		if e == nil || e.of["precision"] == nil && e.of["scale"] == nil {
			continue
		}
		precision, ok := e.integer("precision")
		scale, scaleOK := e.integer("scale")
		if e.of["scale"] == nil {
			scaleOK = true
		}
		if !ok || !scaleOK || precision < 1 || precision > maxDigits || scale < 0 || scale > precision {
			return nil, c.invalid(p, `has format "decimal" but no "precision" within 1 to 38 and "scale" within 0 to it`)
		}
		f.Type = schema.Type{Kind: schema.Decimal, Precision: precision, Scale: scale}
		return &node{op: opDecimal}, nil
	}
	return nil, c.invalid(fm.at, `has format "decimal" but no "precision"`)
}

func (c *compiler) array(fm *form, f *schema.Field) (*node, error) {
	var items *jsonschema.Schema
	for _, p := range fm.parts {
		list, isTuple := p.Items.([]*jsonschema.Schema)
		if isTuple && len(list) > 0 || len(p.PrefixItems) > 0 {
			return nil, c.invalid(p, "is a tuple, which has no column type")
		}
		if one, ok := p.Items.(*jsonschema.Schema); ok {
			items = one
		}
		if p.Items2020 != nil {
			items = p.Items2020
		}
	}
	e := schema.Field{Name: "element"}
	n := &node{op: opList}
	if items == nil {
		n.element = c.text(&e)
	} else {
		var err error
		if n.element, err = c.compile(items, &e, false); err != nil {
			return nil, err
		}
	}
	f.Type = schema.Type{Kind: schema.List, Element: &e}
	return n, nil
}

func (c *compiler) object(fm *form, f *schema.Field, top bool) (*node, error) {
	n := &node{op: opStruct, index: map[string]int32{}}
	var reserved []string
	if top {
		reserved = c.opt.Reserved
	}
	used := newNames(top, reserved)
	required := map[string]bool{}
	for _, p := range fm.parts {
		for _, name := range p.Required {
			required[name] = true
		}
	}
	f.Type.Kind = schema.Struct
	for _, p := range fm.parts {
		for _, name := range c.doc.order(p) {
			sub := p.Properties[name]
			if _, twice := n.index[name]; twice {
				return nil, c.invalid(sub, "is described twice")
			}
			child := schema.Field{Name: used.name(name)}
			cn, err := c.compile(sub, &child, false)
			if err != nil {
				return nil, err
			}
			if child.Name != name {
				child.Source = name
				child.Doc = join(child.Doc, "source name "+strconv.Quote(name))
			}
			n.index[name] = int32(len(n.props))
			n.props = append(n.props, prop{name: name, required: required[name], node: cn})
			f.Type.Fields = append(f.Type.Fields, child)
			delete(required, name)
		}
	}
	if len(n.props) == 0 && !top {
		f.Type = schema.Type{}
		return c.text(f), nil // Parquet has no group without columns
	}
	for name := range required {
		n.require = append(n.require, name)
	}
	slices.Sort(n.require)
	return n, nil
}
