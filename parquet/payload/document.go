package payload

import (
	"fmt"
	"strconv"
	"strings"

	"tidemark/internal/status"
)

// document is the text of a JSON Schema with what a map of Go loses: the order of properties and where things stand.
type document struct {
	text []byte
	root *element
}

// element is one JSON value of the text.
type element struct {
	at    int      // byte offset
	raw   []byte   // the text
	names []string // of an object, in order; of duplicates the last
	of    map[string]*element
	items []*element // of an array
}

const (
	maxSchemaBytes = 4 << 20
	maxSchemaDepth = 200
	// maxExponent bounds numbers in a schema: the library keeps them as exact fractions.
	maxExponent = 400
)

func parseDocument(text []byte) (*document, error) {
	d := &document{text: text}
	if len(text) > maxSchemaBytes {
		return nil, status.Errorf(status.Invalid, "JSON Schema: %d bytes, at most %d are read", len(text), maxSchemaBytes)
	}
	s := scanner{b: text, depth: maxSchemaDepth}
	start := s.space(0)
	end := s.value(start)
	if end >= 0 && s.space(end) < len(text) {
		end = s.fail(BadJSON, s.space(end), "text after the value")
	}
	if end < 0 {
		return nil, status.Errorf(status.Invalid, "JSON Schema: %s at %s", s.fault.text, d.position(s.fault.at))
	}
	d.root = d.element(&s, start)
	return d, d.numbers(d.root)
}

// element builds the tree of the checked text at i.
func (d *document) element(s *scanner, i int) *element {
	e := &element{at: i}
	more := true
	switch s.b[i] {
	case '{':
		e.of = map[string]*element{}
		for i = s.space(i + 1); more && s.b[i] != '}'; {
			key, _, start := s.key(i)
			name := string(unescape(nil, key))
			if _, twice := e.of[name]; !twice {
				e.names = append(e.names, name)
			}
			child := d.element(s, start)
			e.of[name] = child
			i, more = s.next(start+len(child.raw), '}')
		}
	case '[':
		for i = s.space(i + 1); more && s.b[i] != ']'; {
			child := d.element(s, i)
			e.items = append(e.items, child)
			i, more = s.next(i+len(child.raw), ']')
		}
	}
	e.raw = s.b[e.at:s.value(e.at)]
	return e
}

func (d *document) numbers(e *element) error {
	if c := e.raw[0]; c == '-' || c >= '0' && c <= '9' {
		if x := exponent(e.raw); x > maxExponent || x < -maxExponent {
			return status.Errorf(status.Invalid, "JSON Schema: a number with exponent %d at %s", x, d.position(e.at))
		}
	}
	for _, child := range e.of {
		if err := d.numbers(child); err != nil {
			return err
		}
	}
	for _, child := range e.items {
		if err := d.numbers(child); err != nil {
			return err
		}
	}
	return nil
}

// position is an offset as line and column, which count from 1.
func (d *document) position(at int) string {
	before := string(d.text[:min(at, len(d.text))])
	return fmt.Sprintf("line %d, column %d", 1+strings.Count(before, "\n"), len(before)-strings.LastIndexByte(before, '\n'))
}

// find follows a path; nil if there is nothing.
func (d *document) find(path []string) *element {
	e := d.root
	for _, name := range path {
		if i, err := strconv.Atoi(name); err == nil && e.items != nil && i >= 0 && i < len(e.items) {
			e = e.items[i]
		} else if e = e.of[name]; e == nil {
			return nil
		}
	}
	return e
}

// string is a property that is a string, "" otherwise.
func (e *element) string(name string) string {
	if p := e.of[name]; p != nil && p.raw[0] == '"' {
		return string(unescape(nil, p.raw[1:len(p.raw)-1]))
	}
	return ""
}

// integer is a property that is an integer; false otherwise.
func (e *element) integer(name string) (int, bool) {
	p := e.of[name]
	if p == nil || p.raw[0] != '-' && (p.raw[0] < '0' || p.raw[0] > '9') {
		return 0, false
	}
	x, exactly := parseLong(p.raw)
	return int(x), exactly == exact && x == int64(int32(x))
}

// pointer is a path as a JSON Pointer (RFC 6901).
func pointer(path []string) string {
	var b strings.Builder
	for _, name := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	}
	if b.Len() == 0 {
		return "the root"
	}
	return b.String()
}
