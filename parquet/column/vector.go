package column

import "fmt"

// Kind is the physical kind of a vector's values.
type Kind uint8

// The kinds. Logical types (date, timestamp, decimal, uuid) are schema's and ride on these.
const (
	Bool    Kind = iota // one byte per value
	Int32               // int, date, decimal of up to 9 digits
	Int64               // long, timestamps in µs, decimal of up to 18 digits
	Float32             // float
	Float64             // double
	Bytes               // string, binary: variable length
	Fixed               // uuid, fixed, larger decimals: Width bytes per value
	Struct              // Children are the fields
	List                // Children[0] is the element
)

// Shape says how to make a vector: its kind, the width of Fixed, the children of Struct and List.
type Shape struct {
	Kind     Kind
	Width    int
	Children []Shape
}

// Vector is a column of values, some of which may be null. A null takes a place in the value slices too (zero), and in a
// struct's children (null).
type Vector struct {
	Kind     Kind
	Width    int // of Fixed, in bytes
	Children []*Vector

	valid   []bool // len is the length of the vector
	nulls   int
	bools   []bool
	int32s  []int32
	int64s  []int64
	floats  []float32
	doubles []float64
	data    []byte  // Bytes, Fixed
	ends    []int32 // Bytes: end of value i in data. List: end of row i in Children[0]
}

// New makes an empty vector.
func New(s Shape) *Vector {
	v := &Vector{Kind: s.Kind, Width: s.Width}
	for _, c := range s.Children {
		v.Children = append(v.Children, New(c))
	}
	return v
}

// Len is the number of values, nulls included.
func (v *Vector) Len() int { return len(v.valid) }

// Nulls is the number of nulls.
func (v *Vector) Nulls() int { return v.nulls }

// Valid reports whether value i is not null.
func (v *Vector) Valid(i int) bool { return v.valid[i] }

// Bool, Int32, Int64, Float32 and Float64 return value i; 0 for a null.
func (v *Vector) Bool(i int) bool       { return v.bools[i] }
func (v *Vector) Int32(i int) int32     { return v.int32s[i] }
func (v *Vector) Int64(i int) int64     { return v.int64s[i] }
func (v *Vector) Float32(i int) float32 { return v.floats[i] }
func (v *Vector) Float64(i int) float64 { return v.doubles[i] }

// Bytes returns value i of a Bytes or Fixed vector; it aliases the vector's memory.
func (v *Vector) Bytes(i int) []byte {
	if v.Kind == Fixed {
		return v.data[i*v.Width : (i+1)*v.Width : (i+1)*v.Width]
	}
	start := int32(0)
	if i > 0 {
		start = v.ends[i-1]
	}
	return v.data[start:v.ends[i]:v.ends[i]]
}

// Elements returns the half-open range of row i of a List vector in Children[0].
func (v *Vector) Elements(i int) (from, to int) {
	if i > 0 {
		from = int(v.ends[i-1])
	}
	return from, int(v.ends[i])
}

// Size is the memory of the values in bytes, an estimate for budgets and file sizes.
func (v *Vector) Size() int {
	n := len(v.valid) + len(v.bools) + 4*len(v.int32s) + 8*len(v.int64s) + 4*len(v.floats) + 8*len(v.doubles) +
		len(v.data) + 4*len(v.ends)
	for _, c := range v.Children {
		n += c.Size()
	}
	return n
}

// AppendNull appends a null; for a struct, to its children too.
func (v *Vector) AppendNull() {
	v.valid = append(v.valid, false)
	v.nulls++
	switch v.Kind {
	case Bool:
		v.bools = append(v.bools, false)
	case Int32:
		v.int32s = append(v.int32s, 0)
	case Int64:
		v.int64s = append(v.int64s, 0)
	case Float32:
		v.floats = append(v.floats, 0)
	case Float64:
		v.doubles = append(v.doubles, 0)
	case Bytes:
		v.ends = append(v.ends, int32(len(v.data)))
	case Fixed:
		v.data = append(v.data, make([]byte, v.Width)...)
	case Struct:
		for _, c := range v.Children {
			c.AppendNull()
		}
	case List:
		v.ends = append(v.ends, int32(v.Children[0].Len()))
	}
}

// AppendBool appends a value to a Bool vector. The other Append methods do the same for their kind.
func (v *Vector) AppendBool(x bool) {
	v.valid = append(v.valid, true)
	v.bools = append(v.bools, x)
}

// AppendInt32 appends to an Int32 vector.
func (v *Vector) AppendInt32(x int32) {
	v.valid = append(v.valid, true)
	v.int32s = append(v.int32s, x)
}

// AppendInt64 appends to an Int64 vector.
func (v *Vector) AppendInt64(x int64) {
	v.valid = append(v.valid, true)
	v.int64s = append(v.int64s, x)
}

// AppendFloat32 appends to a Float32 vector.
func (v *Vector) AppendFloat32(x float32) {
	v.valid = append(v.valid, true)
	v.floats = append(v.floats, x)
}

// AppendFloat64 appends to a Float64 vector.
func (v *Vector) AppendFloat64(x float64) {
	v.valid = append(v.valid, true)
	v.doubles = append(v.doubles, x)
}

// AppendBytes copies x to the end of a Bytes or Fixed vector. A Fixed value of another width is a programming error and
// panics.
func (v *Vector) AppendBytes(x []byte) {
	if v.Kind == Fixed {
		if len(x) != v.Width {
			panic(fmt.Sprintf("column: %d bytes appended to a vector of width %d", len(x), v.Width))
		}
		v.valid = append(v.valid, true)
		v.data = append(v.data, x...)
		return
	}
	v.valid = append(v.valid, true)
	v.data = append(v.data, x...)
	v.ends = append(v.ends, int32(len(v.data)))
}

// AppendString copies s to the end of a Bytes vector.
func (v *Vector) AppendString(s string) {
	v.valid = append(v.valid, true)
	v.data = append(v.data, s...)
	v.ends = append(v.ends, int32(len(v.data)))
}

// AppendStruct closes a struct value whose fields have just been appended, one to each child.
func (v *Vector) AppendStruct() { v.valid = append(v.valid, true) }

// AppendList closes a list value: everything appended to Children[0] since the last row is its elements.
func (v *Vector) AppendList() {
	v.valid = append(v.valid, true)
	v.ends = append(v.ends, int32(v.Children[0].Len()))
}

// Truncate drops all values from n on. It undoes a row that turned out to be bad half way.
func (v *Vector) Truncate(n int) {
	for _, ok := range v.valid[min(n, len(v.valid)):] {
		if !ok {
			v.nulls--
		}
	}
	switch v.Kind {
	case Bool:
		v.bools = cut(v.bools, n)
	case Int32:
		v.int32s = cut(v.int32s, n)
	case Int64:
		v.int64s = cut(v.int64s, n)
	case Float32:
		v.floats = cut(v.floats, n)
	case Float64:
		v.doubles = cut(v.doubles, n)
	case Bytes:
		v.ends = cut(v.ends, n)
		v.data = v.data[:last(v.ends)]
	case Fixed:
		v.data = cut(v.data, n*v.Width)
	case Struct:
		for _, c := range v.Children {
			c.Truncate(n)
		}
	case List:
		v.ends = cut(v.ends, n)
		v.Children[0].Truncate(last(v.ends))
	}
	v.valid = cut(v.valid, n)
}

// Reset drops all values and keeps the memory.
func (v *Vector) Reset() { v.Truncate(0) }

func cut[T any](s []T, n int) []T { return s[:min(n, len(s))] }

func last(ends []int32) int {
	if len(ends) == 0 {
		return 0
	}
	return int(ends[len(ends)-1])
}

// Batch is columns of equal length: one row per index.
type Batch struct {
	Columns []*Vector
}

// NewBatch makes an empty batch.
func NewBatch(shapes []Shape) *Batch {
	b := &Batch{}
	for _, s := range shapes {
		b.Columns = append(b.Columns, New(s))
	}
	return b
}

// Len is the number of complete rows: the length of the shortest column.
func (b *Batch) Len() int {
	if len(b.Columns) == 0 {
		return 0
	}
	n := b.Columns[0].Len()
	for _, c := range b.Columns[1:] {
		n = min(n, c.Len())
	}
	return n
}

// Size is the memory of all columns in bytes.
func (b *Batch) Size() int {
	n := 0
	for _, c := range b.Columns {
		n += c.Size()
	}
	return n
}

// Truncate drops all rows from n on, in every column, however far each got.
func (b *Batch) Truncate(n int) {
	for _, c := range b.Columns {
		c.Truncate(n)
	}
}

// Reset drops all rows and keeps the memory.
func (b *Batch) Reset() { b.Truncate(0) }
