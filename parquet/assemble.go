package parquet

import (
	"errors"
	"fmt"
	"io"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"tidemark/internal/status"
	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

// errNoMore says that a column chunk has no more values.
var errNoMore = errors.New("column ends early")

// cursor walks the values of one leaf column of a row group.
type cursor struct {
	name   string
	column int
	pages  pq.Pages
	page   pq.Page
	values pq.ValueReader
	buffer []pq.Value
	at, n  int
}

func (c *cursor) start(chunk pq.ColumnChunk) { c.pages = chunk.Pages() }

func (c *cursor) close() {
	if c.page != nil {
		pq.Release(c.page)
	}
	if c.pages != nil {
		_ = c.pages.Close() // only reads
	}
	c.pages, c.page, c.values, c.at, c.n = nil, nil, nil, 0, 0
}

// peek returns the next value without taking it. It aliases the page until the next peek.
func (c *cursor) peek() (*pq.Value, error) {
	for c.at == c.n {
		if c.values == nil {
			if err := c.nextPage(); err != nil {
				return nil, err
			}
		}
		n, err := c.values.ReadValues(c.buffer)
		c.at, c.n = 0, n
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("column %s: %w", c.name, err)
		}
		if n == 0 {
			c.values = nil
		}
	}
	return &c.buffer[c.at], nil
}

func (c *cursor) nextPage() error {
	if c.page != nil {
		pq.Release(c.page)
		c.page = nil
	}
	if c.pages == nil {
		return errNoMore
	}
	page, err := c.pages.ReadPage()
	if errors.Is(err, io.EOF) {
		return errNoMore
	}
	if err != nil {
		return fmt.Errorf("column %s: %w", c.name, err)
	}
	c.page, c.values = page, page.Values()
	return nil
}

// branch is a wanted field with its column in the file.
type branch struct {
	typ      schema.Type
	def      int // definition level of a present value (of a present list, not its elements)
	rep      int // of a List: repetition level of further elements; of a Struct: that of its next value, at most
	children []*branch
	leaf     *cursor // of a leaf
	first    *cursor // any leaf below: its levels show the structure. nil: the file does not have the field
	all      []*cursor
}

// branch finds f among columns of the file.
func (r *Reader) branch(f schema.Field, columns []*pq.Column) (*branch, error) {
	b := &branch{typ: f.Type}
	var c *pq.Column
	for _, candidate := range columns {
		if candidate.ID() == f.ID && f.ID != 0 {
			c = candidate
		}
	}
	if c == nil {
		return b, nil
	}
	b.def = c.MaxDefinitionLevel()
	switch f.Type.Kind {
	case schema.Struct:
		if c.Leaf() {
			return nil, mismatch(f, c)
		}
		b.rep = c.MaxRepetitionLevel()
		return b, r.children(b, f.Type.Fields, c.Columns())
	case schema.List:
		repeated, err := repeatedOf(f, c)
		if err != nil {
			return nil, err
		}
		b.rep = repeated.MaxRepetitionLevel()
		if err := r.children(b, []schema.Field{*f.Type.Element}, repeated.Columns()); err != nil {
			return nil, err
		}
		if b.children[0].first == nil {
			return nil, mismatch(f, c)
		}
		return b, nil
	}
	if !c.Leaf() || !readable(f.Type, c) {
		return nil, mismatch(f, c)
	}
	b.leaf = r.cursor(c)
	b.first, b.all = b.leaf, []*cursor{b.leaf}
	return b, nil
}

func (r *Reader) cursor(c *pq.Column) *cursor {
	leaf := &cursor{name: c.Name(), column: c.Index(), buffer: make([]pq.Value, callValues)}
	r.leaves = append(r.leaves, leaf)
	return leaf
}

func repeatedOf(f schema.Field, c *pq.Column) (*pq.Column, error) {
	if c.Leaf() || len(c.Columns()) != 1 || !c.Columns()[0].Repeated() || c.Columns()[0].Leaf() {
		return nil, mismatch(f, c)
	}
	return c.Columns()[0], nil
}

func (r *Reader) children(b *branch, fields []schema.Field, columns []*pq.Column) error {
	for _, f := range fields {
		child, err := r.branch(f, columns)
		if err != nil {
			return err
		}
		b.children = append(b.children, child)
		b.all = append(b.all, child.all...)
		if b.first == nil {
			b.first = child.first
		}
	}
	if b.first == nil && len(columns) > 0 {
		// None of the wanted fields is in the file, but whether the value itself is null is told by any column.
		c := columns[0]
		for !c.Leaf() {
			if len(c.Columns()) == 0 {
				return fmt.Errorf("column %s has no leaf", c.Name())
			}
			c = c.Columns()[0]
		}
		b.first = r.cursor(c)
		b.all = []*cursor{b.first}
	}
	return nil
}

func mismatch(f schema.Field, c *pq.Column) error {
	return status.Errorf(status.Invalid, "column %s (field id %d) is not %s in the file but %s", f.Name, f.ID, f.Type, c.Type())
}

// readable reports whether a leaf of the file holds values of t, or such as Iceberg promotes to t.
func readable(t schema.Type, c *pq.Column) bool {
	kind, length := c.Type().Kind(), c.Type().Length()
	switch s := t.Shape(); s.Kind {
	case column.Bool:
		return kind == pq.Boolean
	case column.Int32:
		return kind == pq.Int32 && sameScale(t, c)
	case column.Int64:
		return (kind == pq.Int64 || kind == pq.Int32) && sameScale(t, c)
	case column.Float32:
		return kind == pq.Float
	case column.Float64:
		return kind == pq.Double || kind == pq.Float
	case column.Bytes:
		return kind == pq.ByteArray
	default:
		return kind == pq.FixedLenByteArray && length == s.Width && sameScale(t, c)
	}
}

func sameScale(t schema.Type, c *pq.Column) bool {
	if t.Kind != schema.Decimal {
		return true
	}
	lt := c.Type().LogicalType()
	if lt == nil {
		return false
	}
	d, ok := lt.Value.(*format.DecimalType)
	return ok && int(d.Scale) == t.Scale
}

// read appends the next value of the branch to v.
func (b *branch) read(v *column.Vector) error {
	if b.first == nil {
		v.AppendNull()
		return nil
	}
	next, err := b.first.peek()
	if err != nil {
		return err
	}
	if next.DefinitionLevel() < b.def {
		return b.skip(v.AppendNull)
	}
	switch b.typ.Kind {
	case schema.Struct:
		return b.readStruct(v)
	case schema.List:
		return b.readList(v, next)
	}
	b.leaf.at++
	appendValue(v, *next)
	return nil
}

// skip takes one entry of every leaf below: a null or an empty list has exactly one.
func (b *branch) skip(then func()) error {
	for _, c := range b.all {
		if _, err := c.peek(); err != nil {
			return err
		}
		c.at++
	}
	then()
	return nil
}

func (b *branch) readStruct(v *column.Vector) error {
	inner := false
	for i, child := range b.children {
		inner = inner || child.first != nil
		if err := child.read(v.Children[i]); err != nil {
			return err
		}
	}
	if !inner {
		if err := b.skipValue(); err != nil {
			return err
		}
	}
	v.AppendStruct()
	return nil
}

// skipValue takes all entries of one present value from the leaf that only shows the structure.
func (b *branch) skipValue() error {
	c := b.first
	c.at++
	for {
		next, err := c.peek()
		if err == errNoMore {
			return nil
		}
		if err != nil {
			return err
		}
		if next.RepetitionLevel() <= b.rep {
			return nil
		}
		c.at++
	}
}

func (b *branch) readList(v *column.Vector, next *pq.Value) error {
	if next.DefinitionLevel() == b.def {
		return b.skip(v.AppendList)
	}
	for {
		if err := b.children[0].read(v.Children[0]); err != nil {
			return err
		}
		more, err := b.first.peek()
		if err == errNoMore || err == nil && more.RepetitionLevel() < b.rep {
			v.AppendList()
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func appendValue(v *column.Vector, x pq.Value) {
	switch v.Kind {
	case column.Bool:
		v.AppendBool(x.Boolean())
	case column.Int32:
		v.AppendInt32(x.Int32())
	case column.Int64:
		if x.Kind() == pq.Int32 {
			v.AppendInt64(int64(x.Int32()))
		} else {
			v.AppendInt64(x.Int64())
		}
	case column.Float32:
		v.AppendFloat32(x.Float())
	case column.Float64:
		if x.Kind() == pq.Float {
			v.AppendFloat64(float64(x.Float()))
		} else {
			v.AppendFloat64(x.Double())
		}
	default:
		v.AppendBytes(x.ByteArray())
	}
}
