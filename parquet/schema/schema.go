package schema

import (
	"fmt"
	"strings"

	"tidemark/parquet/column"
)

// Kind is a logical type, named as Iceberg names it.
type Kind uint8

// The kinds of the Iceberg specification, format version 2, that a topic can produce.
const (
	Boolean     Kind = iota // boolean
	Int                     // int: 32 bits
	Long                    // long: 64 bits
	Float                   // float
	Double                  // double
	Decimal                 // decimal(Precision, Scale), Precision ≤ 38
	Date                    // date: days since 1970-01-01
	Timestamp               // timestamp: µs, no zone
	Timestamptz             // timestamptz: µs, UTC
	String                  // string: UTF-8
	Binary                  // binary
	Fixed                   // fixed(Width)
	UUID                    // uuid: 16 bytes, big endian
	Struct                  // struct of Fields
	List                    // list of Element
)

// Type is a logical type with its parameters.
type Type struct {
	Kind             Kind
	Precision, Scale int     // Decimal
	Width            int     // Fixed
	Fields           []Field // Struct
	Element          *Field  // List; its Name is "element"
}

// Field is a named, possibly nested column. Tidemark makes all columns optional at every level (tables may be written and
// evolved by others), so Required is true only in tables that somebody else made.
type Field struct {
	ID       int
	Name     string
	Type     Type
	Required bool
	Doc      string
	// Source is the name in the writer's schema when it differs from Name; "" otherwise.
	Source string
}

// SourceName is the name of the field in the writer's schema.
func (f Field) SourceName() string {
	if f.Source != "" {
		return f.Source
	}
	return f.Name
}

// Schema is the columns of a table.
type Schema struct {
	ID     int // Iceberg schema id
	Fields []Field
}

// Shape is the vector that holds values of t.
func (t Type) Shape() column.Shape {
	switch t.Kind {
	case Boolean:
		return column.Shape{Kind: column.Bool}
	case Int, Date:
		return column.Shape{Kind: column.Int32}
	case Long, Timestamp, Timestamptz:
		return column.Shape{Kind: column.Int64}
	case Float:
		return column.Shape{Kind: column.Float32}
	case Double:
		return column.Shape{Kind: column.Float64}
	case Decimal:
		switch {
		case t.Precision <= 9:
			return column.Shape{Kind: column.Int32}
		case t.Precision <= 18:
			return column.Shape{Kind: column.Int64}
		}
		return column.Shape{Kind: column.Fixed, Width: DecimalWidth(t.Precision)}
	case String, Binary:
		return column.Shape{Kind: column.Bytes}
	case Fixed:
		return column.Shape{Kind: column.Fixed, Width: t.Width}
	case UUID:
		return column.Shape{Kind: column.Fixed, Width: 16}
	case Struct:
		return column.Shape{Kind: column.Struct, Children: Shapes(t.Fields)}
	case List:
		return column.Shape{Kind: column.List, Children: []column.Shape{t.Element.Type.Shape()}}
	}
	panic(fmt.Sprintf("schema: kind %d has no shape", t.Kind))
}

// Shapes are the shapes of fields, in order.
func Shapes(fields []Field) []column.Shape {
	shapes := make([]column.Shape, len(fields))
	for i, f := range fields {
		shapes[i] = f.Type.Shape()
	}
	return shapes
}

// DecimalWidth is the least number of bytes whose two's complement holds every number of precision digits
// (Parquet's FIXED_LEN_BYTE_ARRAY decimal, big endian).
func DecimalWidth(precision int) int {
	// 10^p - 1 < 2^(8w-1)  <=>  w >= (p*log2(10)+1)/8
	bits := precision*3322/1000 + 2
	return (bits + 7) / 8
}

// String is the type as Iceberg writes it.
func (t Type) String() string {
	switch t.Kind {
	case Decimal:
		return fmt.Sprintf("decimal(%d, %d)", t.Precision, t.Scale)
	case Fixed:
		return fmt.Sprintf("fixed[%d]", t.Width)
	case Struct:
		parts := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			parts[i] = f.Name + ": " + f.Type.String()
		}
		return "struct<" + strings.Join(parts, ", ") + ">"
	case List:
		return "list<" + t.Element.Type.String() + ">"
	}
	return [...]string{"boolean", "int", "long", "float", "double", "decimal", "date", "timestamp", "timestamptz",
		"string", "binary", "fixed", "uuid"}[t.Kind]
}
