package convert

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"tidemark/catalog"
	"tidemark/internal/budget"
	"tidemark/internal/kafkalog"
	"tidemark/internal/status"
	"tidemark/parquet"
	"tidemark/parquet/column"
	"tidemark/parquet/payload"
	"tidemark/parquet/schema"
)

// Rows are gathered in a batch of this many rows or bytes (of the records, or of the columns) before the writer gets them.
const (
	batchRows  = 4096
	batchBytes = 4 << 20
)

// value is a partition value: a day, or null.
type value struct {
	day  int64
	null bool
}

// tables writes the rows of one conversion: one open file per table and partition value.
type tables struct {
	converter  *Converter
	in         Input
	out        Output
	decoder    payload.Decoder
	memory     *budget.Bytes // of all files but the first of each table; of this conversion alone, so that row groups depend on nothing else
	main       table
	quarantine table
	order      []*file // in order of creation
}

// table is the open files of one table.
type table struct {
	role   catalog.Role
	schema schema.Schema
	spec   Spec
	places []int // position in the schema of each column that a row fills
	files  map[value]*file
	last   *file // the file of the row before
	spare  *file // not created yet: a row that turns out to be bad leaves no file
}

// file is one file being written.
type file struct {
	table   *table
	index   int
	value   value
	batch   *column.Batch
	columns []*column.Vector // of batch, in the order of table.places
	rows    int              // in batch
	bytes   int              // of the records in batch
	out     later
	writer  *parquet.Writer // nil: not created yet
}

// later is a writer that is known before the first byte, but not at once.
type later struct{ io.Writer }

func newTables(c *Converter, in Input, out Output) *tables {
	t := &tables{converter: c, in: in, out: out, decoder: c.def.Decoder(), memory: budget.NewBytes("conversion memory", c.def.Limits.Memory)}
	t.main = table{role: catalog.Main, schema: c.def.Main, spec: c.def.Specs[catalog.Main], places: c.mapping, files: map[value]*file{}}
	t.quarantine = table{role: catalog.Quarantine, schema: c.def.Quarantine, spec: c.def.Specs[catalog.Quarantine], places: c.quarant, files: map[value]*file{}}
	return t
}

// full reports whether the range should end before the next batch.
func (t *tables) full() bool {
	limits := t.converter.def.Limits
	if len(t.main.files) >= limits.OpenPartitions || len(t.quarantine.files) >= limits.OpenPartitions {
		return true
	}
	for _, f := range t.order {
		if f.writer.Size() >= limits.FileBytes {
			return true
		}
	}
	return false
}

// row appends a row to the main table, or says why the value is bad and leaves no trace of it. errFull: it needs a file too
// many, and left no trace either.
func (t *tables) row(sys system, rec *kafkalog.Record) (*payload.BadValue, error) {
	f := t.main.file(sys)
	sys.appendTo(f.columns)
	if bad := t.decoder.Decode(rec.Value, f.columns[schema.SystemColumns:]); bad != nil {
		f.batch.Truncate(f.rows)
		return bad, nil
	}
	return nil, t.added(f, rec)
}

// badRow appends a row to the quarantine table.
func (t *tables) badRow(sys system, rec *kafkalog.Record, bad *payload.BadValue) error {
	f := t.quarantine.file(sys)
	sys.appendTo(f.columns)
	quarantineValues(f.columns, rec.Value, bad, t.converter.def.Pipeline)
	return t.added(f, rec)
}

// file returns the open file for a row, or the spare one for it.
func (t *table) file(sys system) *file {
	var v value
	if t.spec.Day {
		if v.null = !sys.timed; sys.timed {
			v.day = sys.day()
		}
	}
	if t.last != nil && t.last.value == v {
		return t.last
	}
	f := t.files[v]
	if f == nil {
		if t.spare == nil {
			t.spare = &file{table: t, batch: column.NewBatch(schema.Shapes(t.schema.Fields))}
			for _, at := range t.places {
				t.spare.columns = append(t.spare.columns, t.spare.batch.Columns[at])
			}
		}
		t.spare.value = v
		return t.spare
	}
	t.last = f
	return f
}

// added ends a row: columns that the definition does not write (added by others) get a null, a spare file is created, a
// full batch goes to the writer.
func (t *tables) added(f *file, rec *kafkalog.Record) error {
	if f.writer == nil {
		if err := t.create(f); err != nil {
			f.batch.Truncate(0)
			return err
		}
	}
	f.rows++
	f.bytes += len(rec.Key) + len(rec.Value)
	for _, h := range rec.Headers {
		f.bytes += len(h.Key) + len(h.Value)
	}
	if len(f.batch.Columns) > len(f.columns) {
		for _, c := range f.batch.Columns {
			for c.Len() < f.rows {
				c.AppendNull()
			}
		}
	}
	if f.rows < batchRows && f.bytes < batchBytes && (f.rows%64 != 0 || f.batch.Size() < batchBytes) {
		return nil
	}
	return f.flush()
}

// create makes a spare file an open one. The first of each table always gets its memory, so that every range makes progress.
func (t *tables) create(f *file) error {
	table := f.table
	options := parquet.Options{Codec: t.converter.def.Codec}
	if len(table.files) > 0 {
		options.Memory = t.memory
	}
	if len(table.files) >= 2*t.converter.def.Limits.OpenPartitions {
		return errFull
	}
	writer, err := parquet.NewWriter(&f.out, table.schema, options)
	if status.Is(err, status.Throttled) {
		return errFull
	}
	if err != nil {
		return err
	}
	f.writer, f.index = writer, len(t.order)
	t.order = append(t.order, f)
	table.files[f.value], table.last, table.spare = f, f, nil
	f.out.Writer, err = t.out.Create(f.index, table.role)
	return err
}

func (f *file) flush() error {
	if f.rows == 0 {
		return nil
	}
	err := f.writer.WriteBatch(f.batch)
	f.batch.Reset()
	f.rows, f.bytes = 0, 0
	return err
}

// close finishes all files.
func (t *tables) close(r Result) ([]File, error) {
	part := map[catalog.Role]int{}
	files := make([]File, 0, len(t.order))
	for _, f := range t.order {
		if err := f.flush(); err != nil {
			return nil, err
		}
		part[f.table.role]++
		footer := catalog.FileFooter{
			Claim: t.converter.def.Claim, Role: f.table.role, Range: r.Range, LeaderEpoch: t.in.LeaderEpoch,
			Layout: strconv.Itoa(Layout), Pipeline: strconv.FormatUint(t.converter.def.Pipeline, 10),
			Generation: t.converter.def.Generation, Part: part[f.table.role], Parts: len(f.table.files), Counts: r.Counts,
		}
		for k, v := range footer.Encode() {
			f.writer.SetKeyValue(k, v)
		}
		facts, err := f.writer.Close()
		if err != nil {
			return nil, err
		}
		files = append(files, finished(f, facts))
	}
	return files, nil
}

// discard gives up all files that are not finished.
func (t *tables) discard() {
	for _, f := range t.order {
		f.writer.Discard()
	}
}

func finished(f *file, facts parquet.Facts) File {
	spec := f.table.spec
	out := File{Index: f.index, Role: f.table.role, File: catalog.File{
		Size: facts.Size, Rows: facts.Rows, Splits: facts.Splits, Schema: f.table.schema.ID, Spec: spec.ID,
	}}
	for _, c := range facts.Columns {
		out.Columns = append(out.Columns, catalog.ColumnFacts(c))
	}
	if spec.Day {
		out.Partition = []catalog.PartitionValue{{FieldID: spec.FieldID, Null: f.value.null, Value: f.value.day}}
	}
	return out
}

// appendText appends bytes that should be UTF-8 to a string column; what is not becomes U+FFFD, because engines refuse
// the whole file otherwise.
func appendText(v *column.Vector, b []byte) {
	if utf8.Valid(b) {
		v.AppendBytes(b)
		return
	}
	v.AppendString(strings.ToValidUTF8(string(b), "\uFFFD"))
}
