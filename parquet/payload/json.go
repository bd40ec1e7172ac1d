package payload

import (
	"encoding/base64"
	"strconv"

	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

// op is what a node of the program does with a value.
type op uint8

const (
	opText op = iota // the JSON text of anything
	opBoolean
	opInt // integer of 32 bits
	opLong
	opFloat
	opDouble
	opDecimal // a number, or a string that holds one
	opString
	opBase64
	opDate
	opTimestamp
	opTime
	opUUID
	opStruct
	opList
)

// node is one step of the compiled schema. It is immutable.
type node struct {
	op       op
	typ      schema.Type
	nullable bool // null is a value of the schema, not only the absence of one
	text     bool // opDecimal: of a JSON string
	encoding *base64.Encoding
	element  *node            // opList
	props    []prop           // opStruct
	index    map[string]int32 // opStruct: property name to props
	require  []string         // opStruct: required properties that it does not describe
}

type prop struct {
	name     string // in the schema
	required bool
	node     *node
}

// span is a piece of the value; end 0 is none.
type span struct{ start, end int32 }

// JSON decodes values by a JSON Schema. See CompileJSON.
type JSON struct {
	root   *node
	fields []schema.Field
	opt    Options

	scan    scanner
	slots   []span // of the properties of the objects that are open, innermost last
	scratch []byte // unescaped text, decoded base64
	keys    []byte // unescaped keys
	rest    unmapped
}

// Fork makes a decoder of the same schema for another goroutine.
func (d *JSON) Fork() *JSON { return &JSON{root: d.root, fields: d.fields, opt: d.opt} }

// Fields are the columns: the properties of the schema in its order and the column _unmapped; or, if the schema is not an
// object, the one column value. The caller must not change them.
func (d *JSON) Fields() []schema.Field { return d.fields }

// Decode appends the row of a value.
func (d *JSON) Decode(value []byte, into []*column.Vector) *BadValue {
	if value == nil {
		for _, v := range into {
			v.AppendNull()
		}
		return nil
	}
	if len(value) > d.opt.MaxBytes {
		return &BadValue{Stage: StageDecode, Reason: Limit, Message: "a value of " + strconv.Itoa(len(value)) + " bytes"}
	}
	d.scan.reset(value, d.opt.MaxDepth)
	d.slots, d.keys = d.slots[:0], d.keys[:0]
	d.rest.reset()
	start := d.scan.space(0)
	if d.root.op != opStruct {
		return d.whole(start, into[0])
	}
	if start < len(value) && value[start] != '{' {
		return d.notAnObject(start, into)
	}
	base := len(d.slots)
	end, bad := d.object(d.root, start)
	if bad == nil {
		bad = d.trailing(end)
	}
	if bad == nil {
		bad = d.fill(d.root, base, into)
	}
	if bad != nil {
		return bad
	}
	d.rest.finish(into[len(into)-1])
	return nil
}

// whole decodes a value whose schema is not an object.
func (d *JSON) whole(start int, into *column.Vector) *BadValue {
	end := d.scan.value(start)
	if end < 0 {
		return d.scan.bad()
	}
	if bad := d.trailing(end); bad != nil {
		return bad
	}
	return d.decode(d.root, span{int32(start), int32(end)}, into)
}

func (d *JSON) notAnObject(start int, into []*column.Vector) *BadValue {
	end := d.scan.value(start)
	if end < 0 {
		return d.scan.bad()
	}
	if bad := d.trailing(end); bad != nil {
		return bad
	}
	if d.root.nullable && d.scan.b[start] == 'n' {
		for _, v := range into {
			v.AppendNull()
		}
		return nil
	}
	return mismatch(d.root, d.scan.b[start])
}

func (d *JSON) trailing(end int) *BadValue {
	if end = d.scan.space(end); end < len(d.scan.b) {
		d.scan.fail(BadJSON, end, "text after the value")
		return d.scan.bad()
	}
	return nil
}

// object checks the object at i and notes where the values of n's properties are: the last of duplicates. Their slots are
// the last len(n.props) of d.slots. Other properties go to the rest.
func (d *JSON) object(n *node, i int) (end int, bad *BadValue) {
	base := len(d.slots)
	for range n.props {
		d.slots = append(d.slots, span{})
	}
	s := &d.scan
	if i = s.enter(i); i < 0 {
		return -1, s.bad()
	}
	if i < len(s.b) && s.b[i] == '}' {
		s.depth++
		return i + 1, nil
	}
	first := d.rest.open()
	for guess := 0; ; {
		key, escaped, start := s.key(i)
		if start < 0 {
			return -1, s.bad()
		}
		if escaped {
			from := len(d.keys)
			d.keys = unescape(d.keys, key)
			key = d.keys[from:len(d.keys):len(d.keys)]
		}
		if i = s.value(start); i < 0 {
			return -1, s.bad()
		}
		// Writers mostly keep to one order of properties.
		if guess < len(n.props) && n.props[guess].name == string(key) {
			d.slots[base+guess] = span{int32(start), int32(i)}
			guess++
		} else if p, known := n.index[string(key)]; known {
			d.slots[base+int(p)] = span{int32(start), int32(i)}
			guess = int(p) + 1
		} else {
			d.rest.add(key, s.b[start:i])
		}
		var more bool
		if i, more = s.next(i, '}'); i < 0 {
			return -1, s.bad()
		} else if !more {
			break
		}
	}
	s.depth++
	if bad := d.missing(n, first); bad != nil {
		return -1, bad
	}
	d.rest.close(first)
	return i, nil
}

// missing looks for required properties that the schema does not describe; those it does are looked at by fill.
func (d *JSON) missing(n *node, first int) *BadValue {
	for _, name := range n.require {
		if !d.rest.has(first, name) {
			return &BadValue{Stage: StageConvert, Reason: MissingRequired, FieldPath: name, Message: "a required property is absent"}
		}
	}
	return nil
}

// fill appends the properties of an object, whose slots start at base, to the vectors and drops the slots.
func (d *JSON) fill(n *node, base int, into []*column.Vector) *BadValue {
	for i := range n.props {
		p := &n.props[i]
		at := d.slots[base+i]
		switch {
		case at.end == 0 && p.required:
			return &BadValue{Stage: StageConvert, Reason: MissingRequired, FieldPath: p.name, Message: "a required property is absent"}
		case at.end == 0:
			into[i].AppendNull()
			continue
		case p.required && !p.node.nullable && d.scan.b[at.start] == 'n':
			return &BadValue{Stage: StageConvert, Reason: MissingRequired, FieldPath: p.name, Message: "a required property is null"}
		}
		d.rest.enter(p.name)
		if bad := d.decode(p.node, at, into[i]); bad != nil {
			return bad.in(p.name)
		}
		d.rest.leave()
	}
	d.slots = d.slots[:base]
	return nil
}

// decode appends the checked value at a span.
func (d *JSON) decode(n *node, at span, v *column.Vector) *BadValue {
	text := d.scan.b[at.start:at.end]
	c := text[0]
	if c == 'n' {
		v.AppendNull()
		return nil
	}
	switch n.op {
	case opText:
		v.AppendBytes(text)
	case opBoolean:
		if c != 't' && c != 'f' {
			return mismatch(n, c)
		}
		v.AppendBool(c == 't')
	case opInt, opLong, opFloat, opDouble:
		if c != '-' && (c < '0' || c > '9') {
			return mismatch(n, c)
		}
		return number(n, text, v)
	case opDecimal:
		return d.decimal(n, text, v)
	case opStruct:
		if c != '{' {
			return mismatch(n, c)
		}
		base := len(d.slots)
		if _, bad := d.object(n, int(at.start)); bad != nil {
			return bad
		}
		if bad := d.fill(n, base, v.Children); bad != nil {
			return bad
		}
		v.AppendStruct()
	case opList:
		if c != '[' {
			return mismatch(n, c)
		}
		return d.list(n, int(at.start), v)
	default:
		if c != '"' {
			return mismatch(n, c)
		}
		return d.string(n, text[1:len(text)-1], v)
	}
	return nil
}

func (d *JSON) list(n *node, i int, v *column.Vector) *BadValue {
	s := &d.scan
	i = s.enter(i)
	for count, more := 0, s.b[i] != ']'; more; count++ {
		if count >= d.opt.MaxElements {
			return &BadValue{Stage: StageDecode, Reason: Limit, Message: "more than " + strconv.Itoa(d.opt.MaxElements) + " elements"}
		}
		end := s.value(i)
		d.rest.enterElement(count)
		if bad := d.decode(n.element, span{int32(i), int32(end)}, v.Children[0]); bad != nil {
			return bad.in("[" + strconv.Itoa(count) + "]")
		}
		d.rest.leave()
		i, more = s.next(end, ']')
	}
	s.depth++
	v.AppendList()
	return nil
}
