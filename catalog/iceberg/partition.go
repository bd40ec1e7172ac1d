package iceberg

import (
	"fmt"
	"math"

	lib "github.com/apache/iceberg-go"

	"tidemark/catalog"
	"tidemark/internal/status"
)

// partition turns the tuple of a file into the values the manifest wants. The tuple must name exactly the fields of the spec.
func (m *Metadata) partition(spec lib.PartitionSpec, f catalog.File) (map[int]any, error) {
	values := make(map[int]catalog.PartitionValue, len(f.Partition))
	for _, v := range f.Partition {
		values[v.FieldID] = v
	}
	if len(values) != len(f.Partition) || len(values) != spec.NumFields() {
		return nil, invalidFile(f, "its partition tuple has %d values, spec %d has %d fields", len(f.Partition), f.Spec, spec.NumFields())
	}
	tuple := make(map[int]any, len(values))
	for _, field := range spec.PartitionType(m.meta.CurrentSchema()).FieldList {
		v, ok := values[field.ID]
		if !ok {
			return nil, invalidFile(f, "its partition tuple lacks field %d (%s) of spec %d", field.ID, field.Name, f.Spec)
		}
		if v.Null {
			tuple[field.ID] = nil
			continue
		}
		value, err := partitionValue(field.Type, v.Value)
		if err != nil {
			return nil, invalidFile(f, "partition field %s: %v", field.Name, err)
		}
		tuple[field.ID] = value
	}
	return tuple, nil
}

func partitionValue(t lib.Type, v int64) (any, error) {
	fits := v >= math.MinInt32 && v <= math.MaxInt32
	switch t.(type) {
	case lib.DateType:
		if fits {
			return lib.Date(v), nil
		}
	case lib.Int32Type:
		if fits {
			return int32(v), nil
		}
	case lib.Int64Type:
		return v, nil
	default:
		return nil, fmt.Errorf("values of type %s are not written by Tidemark", t)
	}
	return nil, fmt.Errorf("%d does not fit type %s", v, t)
}

func (m *Metadata) hasSchema(id int) bool {
	for _, s := range m.meta.Schemas() {
		if s.ID == id {
			return true
		}
	}
	return false
}

func invalidFile(f catalog.File, format string, args ...any) error {
	return status.Errorf(status.Invalid, "data file %s cannot be added: %s", f.URI, fmt.Sprintf(format, args...))
}
