package payload

import (
	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

// Decoder turns values into rows.
type Decoder interface {
	// Fields are the columns it fills, in order, with ids 0.
	Fields() []schema.Field
	// Decode appends one row to the vectors, which have the shapes of Fields. A nil value (a tombstone) is a row of nulls.
	// The value is not kept. After a BadValue the vectors may have grown by a part of a row: truncate them.
	Decode(value []byte, into []*column.Vector) *BadValue
}

// Stage is where a value was found bad, as quarantine tables name it.
type Stage string

// The stages of this package.
const (
	StageDecode  Stage = "decode"  // the bytes are not what the format asks for
	StageConvert Stage = "convert" // the bytes are fine, a value does not fit its column
)

// Reason is why a value is bad. The strings are stored in quarantine tables: they are added to, never changed.
type Reason string

// The reasons.
const (
	BadJSON         Reason = "BAD_JSON"         // not RFC 8259
	BadUTF8         Reason = "BAD_UTF8"         // invalid UTF-8 or a lone surrogate
	Limit           Reason = "LIMIT"            // nesting or length beyond what is allowed
	TypeMismatch    Reason = "TYPE_MISMATCH"    // a value of another JSON type than the schema's
	OutOfRange      Reason = "OUT_OF_RANGE"     // a number or date that the column's type cannot hold exactly
	BadFormat       Reason = "BAD_FORMAT"       // a string that is not in its declared format
	MissingRequired Reason = "MISSING_REQUIRED" // a property that the schema requires is absent or null
)

// BadValue is a value that cannot become a row. It is not an error of the system: the record goes to quarantine.
type BadValue struct {
	Stage     Stage
	Reason    Reason
	FieldPath string // in the writer's names, as in items[3].price; "" for the whole value
	Message   string // names kinds and positions, never the value
}

// Error makes BadValue printable; it is not returned as an error.
func (b *BadValue) Error() string {
	if b.FieldPath == "" {
		return string(b.Reason) + ": " + b.Message
	}
	return string(b.Reason) + " at " + b.FieldPath + ": " + b.Message
}

// in puts a name in front of the field path.
func (b *BadValue) in(name string) *BadValue {
	switch {
	case b.FieldPath == "":
		b.FieldPath = name
	case b.FieldPath[0] == '[':
		b.FieldPath = name + b.FieldPath
	default:
		b.FieldPath = name + "." + b.FieldPath
	}
	return b
}
