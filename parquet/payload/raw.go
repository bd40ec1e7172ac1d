package payload

import (
	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

// Raw keeps the value as it is in the one column _kafka_value. It has no state.
type Raw struct{}

// NewRaw makes the decoder of the raw format.
func NewRaw() Raw { return Raw{} }

// Fields is the column _kafka_value.
func (Raw) Fields() []schema.Field { return []schema.Field{schema.RawValue()} }

// Decode copies the value. Null and empty stay different. It never fails.
func (Raw) Decode(value []byte, into []*column.Vector) *BadValue {
	if value == nil {
		into[0].AppendNull()
	} else {
		into[0].AppendBytes(value)
	}
	return nil
}
