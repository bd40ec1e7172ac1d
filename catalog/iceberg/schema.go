package iceberg

import (
	lib "github.com/apache/iceberg-go"

	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

// maxDepth bounds the nesting of a schema that is read back.
const maxDepth = 64

// maxFixed bounds the width of fixed(n), in bytes.
const maxFixed = 1 << 16

// librarySchema converts a logical schema. Ids that are zero get placeholders: creation assigns fresh ones.
func librarySchema(s schema.Schema) (*lib.Schema, error) {
	placeholder := 0
	fields, err := libraryFields(s.Fields, &placeholder)
	if err != nil {
		return nil, err
	}
	return lib.NewSchema(s.ID, fields...), nil
}

func libraryFields(fields []schema.Field, last *int) ([]lib.NestedField, error) {
	out := make([]lib.NestedField, len(fields))
	for i, f := range fields {
		*last++
		out[i] = lib.NestedField{ID: *last, Name: f.Name, Required: f.Required, Doc: f.Doc}
		t, err := libraryType(f.Type, last)
		if err != nil {
			return nil, status.Wrapf(err, "field %q", f.Name)
		}
		out[i].Type = t
	}
	return out, nil
}

func libraryType(t schema.Type, last *int) (lib.Type, error) {
	switch t.Kind {
	case schema.Decimal:
		if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
			return nil, status.Errorf(status.Invalid, "decimal(%d, %d) is not a decimal: 1 <= precision <= 38, 0 <= scale <= precision", t.Precision, t.Scale)
		}
		return lib.DecimalTypeOf(t.Precision, t.Scale), nil
	case schema.Fixed:
		if t.Width < 1 || t.Width > maxFixed {
			return nil, status.Errorf(status.Invalid, "fixed[%d]: the length must be 1 to %d", t.Width, maxFixed)
		}
		return lib.FixedTypeOf(t.Width), nil
	case schema.Struct:
		fields, err := libraryFields(t.Fields, last)
		if err != nil {
			return nil, err
		}
		return &lib.StructType{FieldList: fields}, nil
	case schema.List:
		*last++
		id := *last
		element, err := libraryType(t.Element.Type, last)
		if err != nil {
			return nil, err
		}
		return &lib.ListType{ElementID: id, Element: element, ElementRequired: t.Element.Required}, nil
	}
	if p, ok := primitives[t.Kind]; ok {
		return p, nil
	}
	return nil, status.Errorf(status.Unsupported, "type %s has no Iceberg type in format version 2", t)
}

var primitives = map[schema.Kind]lib.Type{
	schema.Boolean:     lib.PrimitiveTypes.Bool,
	schema.Int:         lib.PrimitiveTypes.Int32,
	schema.Long:        lib.PrimitiveTypes.Int64,
	schema.Float:       lib.PrimitiveTypes.Float32,
	schema.Double:      lib.PrimitiveTypes.Float64,
	schema.Date:        lib.PrimitiveTypes.Date,
	schema.Timestamp:   lib.PrimitiveTypes.Timestamp,
	schema.Timestamptz: lib.PrimitiveTypes.TimestampTz,
	schema.String:      lib.PrimitiveTypes.String,
	schema.Binary:      lib.PrimitiveTypes.Binary,
	schema.UUID:        lib.PrimitiveTypes.UUID,
}

// logicalSchema reads a schema back, with the ids of the loaded table. A type that no topic produces (map, time, variant:
// another writer added the column) is Unsupported.
func logicalSchema(s *lib.Schema) (schema.Schema, error) {
	fields, err := logicalFields(s.Fields(), 0)
	if err != nil {
		return schema.Schema{}, status.Wrapf(err, "schema %d", s.ID)
	}
	return schema.Schema{ID: s.ID, Fields: fields}, nil
}

func logicalFields(fields []lib.NestedField, depth int) ([]schema.Field, error) {
	if depth > maxDepth {
		return nil, status.Errorf(status.Unsupported, "nested deeper than %d", maxDepth)
	}
	out := make([]schema.Field, len(fields))
	for i, f := range fields {
		t, err := logicalType(f.Type, depth)
		if err != nil {
			return nil, status.Wrapf(err, "field %q (id %d)", f.Name, f.ID)
		}
		out[i] = schema.Field{ID: f.ID, Name: f.Name, Type: t, Required: f.Required, Doc: f.Doc}
	}
	return out, nil
}

func logicalType(t lib.Type, depth int) (schema.Type, error) {
	switch t := t.(type) {
	case lib.DecimalType:
		return schema.Type{Kind: schema.Decimal, Precision: t.Precision(), Scale: t.Scale()}, nil
	case lib.FixedType:
		return schema.Type{Kind: schema.Fixed, Width: t.Len()}, nil
	case *lib.StructType:
		fields, err := logicalFields(t.FieldList, depth+1)
		return schema.Type{Kind: schema.Struct, Fields: fields}, err
	case *lib.ListType:
		element, err := logicalFields([]lib.NestedField{t.ElementField()}, depth+1)
		if err != nil {
			return schema.Type{}, err
		}
		return schema.Type{Kind: schema.List, Element: &element[0]}, nil
	}
	for kind, p := range primitives {
		if p.Equals(t) {
			return schema.Type{Kind: kind}, nil
		}
	}
	return schema.Type{}, status.Errorf(status.Unsupported, "Iceberg type %s is not one a topic can produce", t)
}
