package column

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A model row is nil, bool, int32, int64, float32, float64, string (of bytes) or []any (a struct or a list).

func drawShape(t *rapid.T, depth int) Shape {
	last := int(List)
	if depth == 0 {
		last = int(Fixed)
	}
	s := Shape{Kind: Kind(rapid.IntRange(0, last).Draw(t, "kind"))}
	switch s.Kind {
	case Fixed:
		s.Width = rapid.IntRange(1, 3).Draw(t, "width")
	case Struct:
		for range rapid.IntRange(1, 3).Draw(t, "fields") {
			s.Children = append(s.Children, drawShape(t, depth-1))
		}
	case List:
		s.Children = []Shape{drawShape(t, depth-1)}
	}
	return s
}

func drawRow(t *rapid.T, s Shape) any {
	if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return nil
	}
	switch s.Kind {
	case Bool:
		return rapid.Bool().Draw(t, "bool")
	case Int32:
		return rapid.Int32().Draw(t, "int32")
	case Int64:
		return rapid.Int64().Draw(t, "int64")
	case Float32:
		return float32(rapid.Int16().Draw(t, "float32"))
	case Float64:
		return float64(rapid.Int32().Draw(t, "float64"))
	case Fixed:
		return string(rapid.SliceOfN(rapid.Byte(), s.Width, s.Width).Draw(t, "fixed"))
	case Struct:
		row := []any{}
		for _, c := range s.Children {
			row = append(row, drawRow(t, c))
		}
		return row
	case List:
		row := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			row = append(row, drawRow(t, s.Children[0]))
		}
		return row
	}
	return string(rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "bytes"))
}

// push appends a row; half stops before the outermost value is closed, as a decoder does when it meets a bad value.
func push(v *Vector, row any, half bool) {
	switch x := row.(type) {
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
		if v.Kind == Bytes && len(x)%2 == 0 {
			v.AppendString(x)
		} else {
			v.AppendBytes([]byte(x))
		}
	case []any:
		for i, e := range x {
			if half && i == len(x)-1 {
				return
			}
			push(v.Children[min(i, len(v.Children)-1)], e, false)
		}
		if half {
			return
		}
		if v.Kind == Struct {
			v.AppendStruct()
		} else {
			v.AppendList()
		}
	}
}

func pull(v *Vector, i int) any {
	if !v.Valid(i) {
		return nil
	}
	switch v.Kind {
	case Bool:
		return v.Bool(i)
	case Int32:
		return v.Int32(i)
	case Int64:
		return v.Int64(i)
	case Float32:
		return v.Float32(i)
	case Float64:
		return v.Float64(i)
	case Struct:
		row := []any{}
		for _, c := range v.Children {
			row = append(row, pull(c, i))
		}
		return row
	case List:
		row := []any{}
		from, to := v.Elements(i)
		for j := from; j < to; j++ {
			row = append(row, pull(v.Children[0], j))
		}
		return row
	}
	return string(v.Bytes(i))
}

func check(t *rapid.T, v *Vector, rows []any) {
	t.Helper()
	if v.Len() != len(rows) {
		t.Fatalf("length %d, want %d", v.Len(), len(rows))
	}
	nulls := 0
	for i, row := range rows {
		if row == nil {
			nulls++
		}
		if diff := cmp.Diff(row, pull(v, i)); diff != "" {
			t.Fatalf("row %d (-model +vector):\n%s", i, diff)
		}
	}
	if v.Nulls() != nulls {
		t.Fatalf("%d nulls, want %d", v.Nulls(), nulls)
	}
	checkChildren(t, v)
}

// checkChildren checks what doc.go guarantees: children of structs have the same length, a null struct has null children,
// and no element is left over behind the last list.
func checkChildren(t *rapid.T, v *Vector) {
	for _, c := range v.Children {
		want := v.Len()
		if v.Kind == List {
			want = 0
			if v.Len() > 0 {
				_, want = v.Elements(v.Len() - 1)
			}
		}
		if c.Len() != want {
			t.Fatalf("a child has length %d, want %d", c.Len(), want)
		}
		for i := 0; v.Kind == Struct && i < v.Len(); i++ {
			if !v.Valid(i) && c.Valid(i) {
				t.Fatalf("the child of null struct %d is not null", i)
			}
		}
		checkChildren(t, c)
	}
}

// Any sequence of appends, half-finished rows that are undone, truncations and resets is like the same on a slice.
func TestVectorIsLikeASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t, 3)
		v := New(shape)
		var rows []any
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				row := drawRow(t, shape)
				push(v, row, false)
				rows = append(rows, row)
			},
			"bad row": func(t *rapid.T) {
				push(v, drawRow(t, shape), true)
				v.Truncate(len(rows))
			},
			"truncate": func(t *rapid.T) {
				rows = rows[:rapid.IntRange(0, len(rows)).Draw(t, "n")]
				v.Truncate(len(rows))
			},
			"reset": func(t *rapid.T) {
				rows = rows[:0]
				v.Reset()
			},
			"": func(t *rapid.T) { check(t, v, rows) },
		})
	})
}

func TestBatchCountsCompleteRows(t *testing.T) {
	b := NewBatch([]Shape{{Kind: Int64}, {Kind: Bytes}, {Kind: Fixed, Width: 2}})
	if b.Len() != 0 || NewBatch(nil).Len() != 0 {
		t.Error("an empty batch has rows")
	}
	b.Columns[0].AppendInt64(1)
	b.Columns[1].AppendString("a")
	if b.Len() != 0 {
		t.Error("a row without its last column counts")
	}
	b.Columns[2].AppendBytes([]byte("xy"))
	b.Columns[0].AppendInt64(2)
	if b.Len() != 1 || b.Size() == 0 {
		t.Errorf("length %d, size %d", b.Len(), b.Size())
	}
	b.Truncate(1)
	if b.Columns[0].Len() != 1 || b.Len() != 1 {
		t.Error("Truncate kept half a row")
	}
	if b.Reset(); b.Len() != 0 || b.Columns[1].Len() != 0 {
		t.Error("Reset kept rows")
	}
}

func TestFixedOfAnotherWidthPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(Shape{Kind: Fixed, Width: 2}).AppendBytes([]byte("abc"))
}

func TestAppendingDoesNotAllocateAfterReset(t *testing.T) {
	b := NewBatch([]Shape{{Kind: Bool}, {Kind: Bytes}, {Kind: List, Children: []Shape{{Kind: Float64}}}, {Kind: Fixed, Width: 16}})
	fill := func() {
		b.Reset()
		for range 100 {
			b.Columns[0].AppendBool(true)
			b.Columns[1].AppendString("abc")
			b.Columns[2].Children[0].AppendFloat64(1)
			b.Columns[2].AppendList()
			b.Columns[3].AppendNull()
		}
	}
	fill()
	if n := testing.AllocsPerRun(10, fill); n != 0 {
		t.Errorf("%v allocations per batch", n)
	}
}
