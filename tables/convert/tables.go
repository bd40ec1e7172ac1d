package convert

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"tidemark/catalog"
	"tidemark/parquet"
	"tidemark/parquet/column"
	"tidemark/parquet/payload"
	"tidemark/parquet/schema"
)

// Rows are gathered in a batch of this many rows or bytes before the writer gets them.
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
	converter *Converter
	in        Input
	out       Output
	decoder   payload.Decoder
	created   int
	files     map[catalog.Role]map[value]*file
	order     []*file // in order of creation
}

// file is one file being written.
type file struct {
	index  int
	role   catalog.Role
	value  value
	batch  *column.Batch
	writer *parquet.Writer
}

func newTables(c *Converter, in Input, out Output) *tables {
	return &tables{converter: c, in: in, out: out, decoder: c.def.Decoder(), files: map[catalog.Role]map[value]*file{
		catalog.Main: {}, catalog.Quarantine: {},
	}}
}

// full reports whether the range should end before the next batch.
func (t *tables) full() bool {
	limits := t.converter.def.Limits
	if len(t.files[catalog.Main]) >= limits.OpenPartitions || len(t.files[catalog.Quarantine]) >= limits.OpenPartitions {
		return true
	}
	for _, f := range t.order {
		if f.writer.Size() >= limits.FileBytes {
			return true
		}
	}
	return false
}

// main appends a row to the main table, or says why the value is bad and leaves no trace of it.
func (t *tables) main(sys system, val []byte) (*payload.BadValue, error) {
	f, err := t.file(catalog.Main, sys)
	if err != nil {
		return nil, err
	}
	mapping := t.converter.mapping
	row := f.batch.Columns[mapping[schema.KafkaOffset]].Len()
	sys.appendTo(func(i int) *column.Vector { return f.batch.Columns[mapping[i]] })
	vectors := t.vectors(f)
	if bad := t.decoder.Decode(val, vectors); bad != nil {
		f.batch.Truncate(row)
		return bad, nil
	}
	t.fill(f, row+1)
	return nil, t.flush(f, false)
}

// quarantine appends a row to the quarantine table.
func (t *tables) quarantine(sys system, val []byte, bad *payload.BadValue) error {
	f, err := t.file(catalog.Quarantine, sys)
	if err != nil {
		return err
	}
	at := func(i int) *column.Vector { return f.batch.Columns[t.converter.quarant[i]] }
	sys.appendTo(at)
	quarantineValues(at, val, bad, t.converter.def.Pipeline)
	t.fill(f, at(schema.KafkaOffset).Len())
	return t.flush(f, false)
}

// vectors are the decoder's columns in the file's batch, in the decoder's order.
func (t *tables) vectors(f *file) []*column.Vector {
	mapping := t.converter.mapping[schema.SystemColumns:]
	vectors := make([]*column.Vector, len(mapping))
	for i, at := range mapping {
		vectors[i] = f.batch.Columns[at]
	}
	return vectors
}

// fill gives columns that the definition does not write (added by others) a null.
func (t *tables) fill(f *file, rows int) {
	for _, c := range f.batch.Columns {
		for c.Len() < rows {
			c.AppendNull()
		}
	}
}

func (t *tables) schema(role catalog.Role) schema.Schema {
	if role == catalog.Quarantine {
		return t.converter.def.Quarantine
	}
	return t.converter.def.Main
}

// file returns the open file for a row.
func (t *tables) file(role catalog.Role, sys system) (*file, error) {
	var v value
	if t.converter.def.Specs[role].Day {
		v = value{day: 0, null: !sys.timed}
		if sys.timed {
			v.day = sys.day()
		}
	}
	if f := t.files[role][v]; f != nil {
		return f, nil
	}
	w, err := t.out.Create(t.created, role)
	if err != nil {
		return nil, err
	}
	s := t.schema(role)
	writer, err := parquet.NewWriter(w, s, parquet.Options{})
	if err != nil {
		return nil, err
	}
	f := &file{index: t.created, role: role, value: v, writer: writer, batch: column.NewBatch(schema.Shapes(s.Fields))}
	t.created++
	t.files[role][v] = f
	t.order = append(t.order, f)
	return f, nil
}

func (t *tables) flush(f *file, all bool) error {
	n := f.batch.Len()
	if n == 0 || !all && n < batchRows && (n%64 != 0 || f.batch.Size() < batchBytes) {
		return nil
	}
	if err := f.writer.WriteBatch(f.batch); err != nil {
		return err
	}
	f.batch.Reset()
	return nil
}

// close finishes all files. Files without rows (every record of a partition value was bad) are left out.
func (t *tables) close(r Result) ([]File, error) {
	parts := map[catalog.Role]int{}
	for _, f := range t.order {
		if err := t.flush(f, true); err != nil {
			return nil, err
		}
		if f.writer.Rows() > 0 {
			parts[f.role]++
		}
	}
	var files []File
	part := map[catalog.Role]int{}
	for _, f := range t.order {
		if f.writer.Rows() == 0 {
			continue
		}
		part[f.role]++
		footer := catalog.FileFooter{
			Claim: t.converter.def.Claim, Role: f.role, Range: r.Range, LeaderEpoch: t.in.LeaderEpoch,
			Layout: strconv.Itoa(Layout), Pipeline: strconv.FormatUint(t.converter.def.Pipeline, 10),
			Generation: t.converter.def.Generation, Part: part[f.role], Parts: parts[f.role], Counts: r.Counts,
		}
		for k, v := range footer.Encode() {
			f.writer.SetKeyValue(k, v)
		}
		facts, err := f.writer.Close()
		if err != nil {
			return nil, err
		}
		files = append(files, t.finished(f, facts))
	}
	return files, nil
}

// discard gives up all files that are not finished.
func (t *tables) discard() {
	for _, f := range t.order {
		f.writer.Discard()
	}
}

func (t *tables) finished(f *file, facts parquet.Facts) File {
	spec := t.converter.def.Specs[f.role]
	out := File{Index: f.index, Role: f.role, File: catalog.File{
		Size: facts.Size, Rows: facts.Rows, Splits: facts.Splits,
		Schema: t.schema(f.role).ID, Spec: spec.ID,
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
