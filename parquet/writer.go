package parquet

import (
	"context"
	"io"
	"maps"
	"slices"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"tidemark/internal/budget"
	"tidemark/internal/status"
	"tidemark/parquet/column"
	"tidemark/parquet/schema"
)

// Codec is how pages are compressed.
type Codec uint8

// The codecs. Levels are those of klauspost/compress.
const (
	Zstd        Codec = iota // the default level, about 3
	ZstdFastest              // about level 1
	Snappy
	Uncompressed
)

func (c Codec) codec() (compress.Codec, error) {
	switch c {
	case Zstd:
		return &pq.Zstd, nil
	case ZstdFastest:
		return &zstdFastest, nil
	case Snappy:
		return &pq.Snappy, nil
	case Uncompressed:
		return &pq.Uncompressed, nil
	}
	return nil, status.Errorf(status.Invalid, "parquet codec %d is not known", c)
}

// zstdFastest holds pools of encoders, so it is shared.
var zstdFastest = zstd.Codec{Level: zstd.SpeedFastest}

const (
	// DefaultRowGroupBytes is the size of a row group: its compressed pages stay in memory until it is complete.
	DefaultRowGroupBytes = 64 << 20
	// dictionaryMaxBytes is where a column gives up its dictionary for the rest of the row group.
	dictionaryMaxBytes = 1 << 20
	pageBytes          = 256 << 10
	minPageBytes       = 8 << 10
	// sliceBytes bounds the rows of a batch that are written before the size of the row group is looked at.
	sliceBytes   = 1 << 20
	sliceRows    = 1024
	memoryStep   = 1 << 20
	memoryOfLeaf = 4 << 10
)

// Options are how a file is written. The zero value is usable.
type Options struct {
	Codec Codec
	// RowGroupBytes is where a row group is cut, measured in its pages (compressed once a page is full) and buffers.
	// 0 means DefaultRowGroupBytes.
	RowGroupBytes int64
	// KeyValue is the file's key-value metadata; Writer.SetKeyValue adds to it.
	KeyValue map[string]string
	// Memory, if set, is charged with what the writer holds. A refusal later than at the start cuts the row group early
	// instead of waiting: two writers that wait for each other's memory would never end.
	Memory *budget.Bytes
	// Context bounds the wait for the first grant of Memory; nil means the memory must be free at once.
	Context context.Context
}

// Writer writes one Parquet file. It must be ended by Close or Discard.
type Writer struct {
	schema  schema.Schema
	plan    *plan
	options Options
	codec   compress.Codec
	memory  memory

	out *tail
	//lint:ignore SA1019 the generic writer wants a Go type; the columns are known at run time only
	file    *pq.Writer // nil until the first batch, which decides the encodings
	leaves  []*leafWriter
	rows    int64
	started int64 // file.Size() at the start of the current row group
	ended   bool
	err     error
}

// NewWriter starts a file on w, which is written from beginning to end and not closed. Field ids must be positive and
// unique: those of the loaded table. Invalid tells of a schema that Parquet cannot hold, Throttled of a memory budget that
// has nothing left.
func NewWriter(w io.Writer, s schema.Schema, opt Options) (*Writer, error) {
	p, err := newPlan(s)
	if err != nil {
		return nil, err
	}
	codec, err := opt.Codec.codec()
	if err != nil {
		return nil, err
	}
	if opt.RowGroupBytes == 0 {
		opt.RowGroupBytes = DefaultRowGroupBytes
	}
	if opt.RowGroupBytes < 0 {
		return nil, status.Errorf(status.Invalid, "row groups of %d bytes", opt.RowGroupBytes)
	}
	opt.KeyValue = maps.Clone(opt.KeyValue)
	if opt.KeyValue == nil {
		opt.KeyValue = map[string]string{}
	}
	out := &Writer{schema: s, plan: p, options: opt, codec: codec, out: newTail(w), memory: memory{budget: opt.Memory}}
	if err := out.memory.start(opt.Context, int64(memoryStep+len(p.leaves)*memoryOfLeaf)); err != nil {
		return nil, err
	}
	return out, nil
}

// SetKeyValue sets one entry of the key-value metadata; it may be called until Close.
func (w *Writer) SetKeyValue(key, value string) { w.options.KeyValue[key] = value }

// Size is the size of the file so far, without the footer: an estimate from above, since open pages are not compressed yet.
func (w *Writer) Size() int64 {
	if w.file == nil {
		return 0
	}
	return w.file.Size()
}

// Rows is the number of rows written.
func (w *Writer) Rows() int64 { return w.rows }

// WriteBatch appends the rows of b, whose columns must have the shapes of the schema. b is not kept. After an error the
// writer can only be discarded.
func (w *Writer) WriteBatch(b *column.Batch) error {
	if err := w.usable(); err != nil {
		return err
	}
	if err := fits(w.schema.Fields, b.Columns, b.Len()); err != nil {
		return err // nothing was written: the writer stays usable
	}
	w.err = w.write(b)
	return w.err
}

func (w *Writer) usable() error {
	if w.ended {
		return status.Errorf(status.Closed, "the parquet writer was ended")
	}
	return w.err
}

func (w *Writer) write(b *column.Batch) error {
	n := b.Len()
	if n == 0 {
		return nil
	}
	if w.file == nil {
		w.open(b)
	}
	rows := min(max(n*sliceBytes/max(b.Size(), 1), 1), sliceRows)
	for from := 0; from < n; from += rows {
		to := min(from+rows, n)
		for _, l := range w.leaves {
			if err := l.write(b, from, to); err != nil {
				return err
			}
		}
		w.rows += int64(to - from)
		if err := w.cut(); err != nil {
			return err
		}
	}
	return nil
}

// cut ends the row group if it is large enough or if there is no memory for more.
func (w *Writer) cut() error {
	held := w.file.Size() - w.started
	if held < w.options.RowGroupBytes && w.memory.grow(held) {
		return nil
	}
	if err := w.file.Flush(); err != nil {
		return status.Wrapf(err, "write row group")
	}
	w.started = w.file.Size()
	w.memory.shrink()
	return nil
}

// open makes the library's writer. first is nil for a file without rows.
func (w *Writer) open(first *column.Batch) {
	encodings := chooseEncodings(w.plan.leaves, first)
	page := min(max(w.options.RowGroupBytes/int64(2*len(w.plan.leaves)), minPageBytes), pageBytes)
	w.file = pq.NewWriter(w.out,
		w.plan.schema(w.schema, encodings),
		pq.CreatedBy("tidemark", "1", ""),
		pq.Compression(w.codec),
		pq.PageBufferSize(int(page)),
		pq.WriteBufferSize(0), // the tail has the buffer
		pq.DictionaryMaxBytes(dictionaryMaxBytes),
		pq.DataPageStatistics(false), // the page index has them; in headers long values would be stored four times
		pq.ColumnIndexSizeLimit(func([]string) int { return indexBytes }),
	)
	writers := w.file.ColumnWriters()
	for i, l := range w.plan.leaves {
		dictionary := -1
		if encodings[i] == &pq.RLEDictionary {
			dictionary = 0
		}
		w.leaves = append(w.leaves, &leafWriter{leaf: l, out: writers[i], bounds: newBounds(l.typ, l.full), dictionary: dictionary})
	}
}

// Close writes the footer and returns the facts of the finished file. The underlying writer is not closed. An error means
// that the file is not complete.
func (w *Writer) Close() (Facts, error) {
	if err := w.usable(); err != nil {
		w.Discard()
		return Facts{}, err
	}
	defer w.Discard()
	if w.file == nil {
		w.open(nil)
	}
	for _, k := range slices.Sorted(maps.Keys(w.options.KeyValue)) {
		w.file.SetKeyValueMetadata(k, w.options.KeyValue[k])
	}
	if err := w.file.Flush(); err != nil {
		return Facts{}, status.Wrapf(err, "write row group")
	}
	w.out.hold = true
	if err := w.file.Close(); err != nil {
		return Facts{}, status.Wrapf(err, "end parquet file")
	}
	meta := *w.file.File().Metadata()
	if err := w.finish(&meta); err != nil {
		return Facts{}, err
	}
	return w.facts(&meta), nil
}

// Discard gives back memory and makes the writer unusable. It may follow Close.
func (w *Writer) Discard() {
	w.ended = true
	w.file, w.leaves = nil, nil
	w.memory.end()
}

// fits checks that vectors have the shapes of the fields: a mismatch must not become a panic deep in the library.
func fits(fields []schema.Field, vectors []*column.Vector, n int) error {
	if len(fields) != len(vectors) {
		return status.Errorf(status.Invalid, "batch has %d columns, the schema %d", len(vectors), len(fields))
	}
	for i, f := range fields {
		v, s := vectors[i], f.Type.Shape()
		if v.Kind != s.Kind || v.Width != s.Width || v.Len() < n {
			return status.Errorf(status.Invalid, "column %s of the batch does not hold %d values of %s", f.Name, n, f.Type)
		}
		switch f.Type.Kind {
		case schema.Struct:
			if err := fits(f.Type.Fields, v.Children, n); err != nil {
				return err
			}
		case schema.List:
			elements := 0
			if n > 0 {
				_, elements = v.Elements(n - 1)
			}
			if err := fits([]schema.Field{*f.Type.Element}, v.Children, elements); err != nil {
				return err
			}
		}
	}
	return nil
}

// memory is a writer's share of a budget. The first grant stands for buffers that exist without any row.
type memory struct {
	budget   *budget.Bytes
	held     int64 // beside the first grant
	releases []func()
}

func (m *memory) start(ctx context.Context, n int64) error {
	if m.budget == nil {
		return nil
	}
	if ctx != nil {
		release, err := m.budget.Acquire(ctx, n)
		if err != nil {
			return err
		}
		m.releases = append(m.releases, release)
		return nil
	}
	release, ok := m.budget.TryAcquire(n)
	if !ok {
		return status.Errorf(status.Throttled, "no memory for a parquet writer: %d bytes are needed", n)
	}
	m.releases = append(m.releases, release)
	return nil
}

// grow holds at least n bytes, or reports false.
func (m *memory) grow(n int64) bool {
	if m.budget == nil || n <= m.held {
		return true
	}
	step := max(n-m.held, memoryStep)
	release, ok := m.budget.TryAcquire(step)
	if ok {
		m.held += step
		m.releases = append(m.releases, release)
	}
	return ok
}

// shrink gives back all but the first grant.
func (m *memory) shrink() { m.release(1) }

func (m *memory) end() { m.release(0) }

func (m *memory) release(keep int) {
	if len(m.releases) <= keep {
		return
	}
	for _, release := range m.releases[keep:] {
		release()
	}
	m.releases = m.releases[:keep]
	m.held = 0
}
