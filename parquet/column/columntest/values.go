package columntest

import (
	"math"

	"tidemark/parquet/column"
)

// Append appends a value to a vector.
func Append(v *column.Vector, x any) {
	switch x := x.(type) {
	case nil:
		v.AppendNull()
	case bool:
		v.AppendBool(x)
	case int32:
		v.AppendInt32(x)
	case int64:
		v.AppendInt64(x)
	case float32:
		v.AppendFloat32(x)
	case float64:
		v.AppendFloat64(x)
	case string:
		v.AppendBytes([]byte(x))
	case []any:
		if v.Kind == column.List {
			for _, e := range x {
				Append(v.Children[0], e)
			}
			v.AppendList()
			return
		}
		for i, e := range x {
			Append(v.Children[i], e)
		}
		v.AppendStruct()
	}
}

// Read is value i of a vector.
func Read(v *column.Vector, i int) any {
	if !v.Valid(i) {
		return nil
	}
	switch v.Kind {
	case column.Bool:
		return v.Bool(i)
	case column.Int32:
		return v.Int32(i)
	case column.Int64:
		return v.Int64(i)
	case column.Float32:
		return Float(v.Float32(i))
	case column.Float64:
		return Float(v.Float64(i))
	case column.Struct:
		row := []any{}
		for _, c := range v.Children {
			row = append(row, Read(c, i))
		}
		return row
	case column.List:
		row := []any{}
		from, to := v.Elements(i)
		for j := from; j < to; j++ {
			row = append(row, Read(v.Children[0], j))
		}
		return row
	}
	return string(v.Bytes(i))
}

// Float is a floating point number as Read gives it.
func Float[T float32 | float64](x T) any {
	if math.IsNaN(float64(x)) {
		return "NaN"
	}
	return x
}
