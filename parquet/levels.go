package parquet

import (
	pq "github.com/parquet-go/parquet-go"

	"tidemark/internal/status"
	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

const (
	// callValues and callBytes bound one WriteRowValues call: the library cuts pages only between calls, so large calls
	// make large pages, and small ones cost per call.
	callValues = 256
	callBytes  = 64 << 10
)

// leafWriter turns one leaf of batches into values with levels.
type leafWriter struct {
	*leaf
	chain  []*column.Vector // of the current batch, one per step
	values []pq.Value       // reused
	bytes  int              // of the byte arrays in values
	out    *pq.ColumnWriter
	bounds bounds
	// dictionary is the bytes given to a column with a dictionary since its last page; -1 without one.
	dictionary int
}

// write gives the rows [from, to) of b to the column.
func (w *leafWriter) write(b *column.Batch, from, to int) error {
	w.chain = append(w.chain[:0], b.Columns[w.column])
	for _, s := range w.steps[:len(w.steps)-1] {
		w.chain = append(w.chain, w.chain[len(w.chain)-1].Children[s.child])
	}
	last := w.chain[len(w.chain)-1]
	if !w.inList {
		w.bounds.observe(last, from, to)
	}
	for at := from; at < to; {
		w.values, w.bytes = w.values[:0], 0
		if len(w.chain) == 1 && w.steps[0].optional {
			at = w.flat(last, at, to)
		} else {
			for at < to && len(w.values) < callValues && w.bytes < callBytes {
				if err := w.nested(0, at, 0, 0); err != nil {
					return err
				}
				at++
			}
		}
		if _, err := w.out.WriteRowValues(w.values); err != nil {
			return status.Wrapf(err, "column %d", w.id)
		}
		if err := w.checkDictionary(); err != nil {
			return err
		}
	}
	return nil
}

// checkDictionary makes the library look at the size of the dictionary, which it does only at the end of a page: an index
// page of 256 KiB may stand for many megabytes of strings.
func (w *leafWriter) checkDictionary() error {
	if w.dictionary < 0 {
		return nil
	}
	if w.dictionary += w.bytes; w.dictionary <= 4*dictionaryMaxBytes {
		return nil
	}
	w.dictionary = 0
	return status.Wrapf(w.out.Flush(), "column %d", w.id)
}

// flat fills values from the optional top-level leaf v and returns the row it stopped before.
func (w *leafWriter) flat(v *column.Vector, from, to int) int {
	if v.Kind == column.Bytes {
		for ; from < to && len(w.values) < callValues && w.bytes < callBytes; from++ {
			w.append(v, from, 0, 1)
		}
		return from
	}
	to = min(to, from+callValues)
	for i := from; i < to; i++ {
		w.append(v, i, 0, 1)
	}
	return to
}

// append adds value i of the leaf vector v. def is the definition level of a value that is present; a null has one less.
func (w *leafWriter) append(v *column.Vector, i, rep, def int) {
	if !v.Valid(i) {
		w.null(rep, def-1)
		return
	}
	var x pq.Value
	switch v.Kind {
	case column.Bool:
		x = pq.BooleanValue(v.Bool(i))
	case column.Int32:
		x = pq.Int32Value(v.Int32(i))
	case column.Int64:
		x = pq.Int64Value(v.Int64(i))
	case column.Float32:
		x = pq.FloatValue(v.Float32(i))
	case column.Float64:
		x = pq.DoubleValue(v.Float64(i))
	case column.Bytes:
		x = pq.ByteArrayValue(v.Bytes(i))
		w.bytes += len(v.Bytes(i))
	case column.Fixed:
		x = pq.FixedLenByteArrayValue(v.Bytes(i))
	}
	x.SetRepetitionLevel(rep)
	x.SetDefinitionLevel(def)
	w.values = append(w.values, x)
}

// null adds an entry without a value.
func (w *leafWriter) null(rep, def int) {
	var x pq.Value
	x.SetRepetitionLevel(rep)
	x.SetDefinitionLevel(def)
	w.values = append(w.values, x)
}

// nested adds everything of the leaf below value i of step k. rep and def are the levels reached above it.
func (w *leafWriter) nested(k, i, rep, def int) error {
	v, s := w.chain[k], w.steps[k]
	if s.optional {
		def++
	}
	if !v.Valid(i) {
		if !s.optional {
			return status.Errorf(status.Invalid, "column %d: a required value is null", w.id)
		}
		w.null(rep, def-1)
		return nil
	}
	switch s.kind {
	case schema.Struct:
		return w.nested(k+1, i, rep, def)
	case schema.List:
		from, to := v.Elements(i)
		if from == to {
			w.null(rep, def)
		}
		for j := from; j < to; j++ {
			if err := w.nested(k+1, j, rep, def+1); err != nil {
				return err
			}
			rep = int(s.rep)
		}
		return nil
	}
	if w.inList {
		w.bounds.countNaNs(v, i)
	}
	w.append(v, i, rep, def)
	return nil
}
