package parquet

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"tidemark/internal/status"
	"tidemark/parquet/schema"
)

const (
	// indexBytes is the length of strings in the page index, statBytes in the statistics of a column chunk.
	indexBytes = 64
	statBytes  = 64
	magic      = "PAR1"
)

// tail passes bytes on and counts them. From hold on it keeps them instead: the page index and footer, which finish
// corrects.
type tail struct {
	w    *bufio.Writer
	n    int64
	hold bool
	kept []byte
}

func newTail(w io.Writer) *tail { return &tail{w: bufio.NewWriterSize(w, 64<<10)} }

func (t *tail) Write(p []byte) (int, error) {
	if t.hold {
		t.kept = append(t.kept, p...)
		return len(p), nil
	}
	n, err := t.w.Write(p)
	t.n += int64(n)
	return n, err
}

// finish writes what the library left in the tail, with a footer and a page index in which every statistic is sound. meta
// is changed to what was written. The column indexes stay in order and without gaps, then come the offset indexes: readers
// fetch each kind as one range.
func (w *Writer) finish(meta *format.FileMetaData) error {
	kept, start := w.out.kept, w.out.n
	if len(kept) < 8 {
		return status.Errorf(status.Internal, "parquet footer is missing")
	}
	read := func(offset int64, length int32) []byte { return kept[offset-start : offset-start+int64(length)] }
	var body []byte
	if len(meta.RowGroups) == 0 {
		body = append(body, kept[:len(kept)-8-int(binary.LittleEndian.Uint32(kept[len(kept)-8:]))]...) // the first magic
	}
	for g := range meta.RowGroups {
		for i, l := range w.leaves {
			chunk := &meta.RowGroups[g].Columns[i]
			index, err := l.correct(&chunk.MetaData.Statistics, read(chunk.ColumnIndexOffset, chunk.ColumnIndexLength))
			if err != nil {
				return err
			}
			chunk.ColumnIndexOffset, chunk.ColumnIndexLength = 0, int32(len(index))
			if len(index) > 0 {
				chunk.ColumnIndexOffset = start + int64(len(body))
			}
			body = append(body, index...)
		}
	}
	for g := range meta.RowGroups {
		for i := range meta.RowGroups[g].Columns {
			chunk := &meta.RowGroups[g].Columns[i]
			at := start + int64(len(body))
			body = append(body, read(chunk.OffsetIndexOffset, chunk.OffsetIndexLength)...)
			chunk.OffsetIndexOffset = at
		}
	}
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		return status.Errorf(status.Internal, "encode parquet footer: %w", err)
	}
	body = append(body, footer...)
	body = binary.LittleEndian.AppendUint32(body, uint32(len(footer)))
	body = append(body, magic...)
	w.out.hold, w.out.kept = false, nil
	if _, err = w.out.Write(body); err == nil {
		err = w.out.w.Flush()
	}
	return status.Wrapf(err, "write parquet footer")
}

// correct makes the statistics and the page index of one column chunk sound. It returns the index to write, nil for none.
func (l *leafWriter) correct(stats *format.Statistics, index []byte) ([]byte, error) {
	switch l.typ.Kind {
	case schema.Decimal:
		if isWideDecimal(l.typ) {
			stats.MinValue, stats.MaxValue = nil, nil
			return nil, nil
		}
	case schema.Float, schema.Double:
		correctFloats(stats, l.typ.Kind)
		if l.bounds.nans > 0 {
			return nil, nil
		}
	case schema.String, schema.Binary, schema.Fixed:
		text := l.typ.Kind == schema.String
		if len(stats.MaxValue) > indexBytes && bytes.Count(stats.MaxValue[:indexBytes], []byte{0xff}) == indexBytes {
			index = nil // the library's cut value would be below the maximum
		}
		if len(stats.MinValue) > statBytes {
			stats.MinValue = cutLower(stats.MinValue, statBytes, text)
		}
		if len(stats.MaxValue) > statBytes {
			if stats.MaxValue = cutUpper(stats.MaxValue, statBytes, text); stats.MaxValue == nil {
				stats.MinValue = nil
			}
		}
		if text && index != nil {
			return correctText(index)
		}
	}
	return index, nil
}

// correctFloats removes NaN and gives zero bounds the sign that includes both zeros, as the Parquet format asks.
func correctFloats(stats *format.Statistics, kind schema.Kind) {
	if stats.MinValue == nil || stats.MaxValue == nil {
		return
	}
	var lo, hi float64
	if kind == schema.Float {
		lo = float64(math.Float32frombits(binary.LittleEndian.Uint32(stats.MinValue)))
		hi = float64(math.Float32frombits(binary.LittleEndian.Uint32(stats.MaxValue)))
	} else {
		lo = math.Float64frombits(binary.LittleEndian.Uint64(stats.MinValue))
		hi = math.Float64frombits(binary.LittleEndian.Uint64(stats.MaxValue))
	}
	if lo != lo || hi != hi {
		stats.MinValue, stats.MaxValue = nil, nil
		return
	}
	b := bounds{typ: schema.Type{Kind: kind}, flo: lo, fhi: hi}
	stats.MinValue, stats.MaxValue = b.floats()
}

// correctText replaces a page index of strings in which a cut value is not UTF-8 any more.
func correctText(encoded []byte) ([]byte, error) {
	var index format.ColumnIndex
	protocol := new(thrift.CompactProtocol)
	if err := thrift.Unmarshal(protocol, encoded, &index); err != nil {
		return nil, status.Errorf(status.Internal, "decode parquet page index: %w", err)
	}
	changed := false
	for i := range index.MinValues {
		if !utf8.Valid(index.MinValues[i]) {
			index.MinValues[i], changed = cutLower(index.MinValues[i], indexBytes, true), true
		}
		if v := index.MaxValues[i]; !utf8.Valid(v) {
			if index.MaxValues[i], changed = increaseText(v[:validPrefix(v)]), true; index.MaxValues[i] == nil {
				return nil, nil
			}
		}
	}
	if !changed {
		return encoded, nil
	}
	index.BoundaryOrder = format.Unordered // shortening may have broken the order that the library found
	encoded, err := thrift.Marshal(protocol, &index)
	if err != nil {
		return nil, status.Errorf(status.Internal, "encode parquet page index: %w", err)
	}
	return encoded, nil
}
