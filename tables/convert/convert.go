package convert

import (
	"context"
	"errors"
	"io"
	"slices"

	"tidemark/catalog"
	"tidemark/internal/kafkalog"
	"tidemark/internal/status"
	"tidemark/parquet"
	"tidemark/parquet/payload"
	"tidemark/parquet/schema"
)

// Layout is the version of the table layout and type map that new tables get.
const Layout = 1

// Definition is what a conversion needs to know of a table.
type Definition struct {
	Claim      catalog.Claim
	Generation uint64                 // of the ledger
	Pipeline   uint64                 // version of the table definition
	Decoder    func() payload.Decoder // a decoder for one goroutine
	Main       schema.Schema          // as loaded from the catalog: system columns, then the decoder's fields
	Quarantine schema.Schema          // as loaded
	Specs      map[catalog.Role]Spec
	Limits     Limits
	Codec      parquet.Codec // of the files' pages
}

// Spec is how a table is partitioned.
type Spec struct {
	ID      int // partition spec id of the loaded table
	FieldID int // partition field id
	Day     bool
}

// Limits end a range early or bound memory; all count work, none counts time. A field that is zero means the default.
type Limits struct {
	FileBytes int64 // of the largest file, estimated before compression of the open row group; default 256 MiB
	// OpenPartitions is after how many partition values of a table the range ends at the next batch; default 32. A batch that
	// alone has more is cut at a record once there are twice as many.
	OpenPartitions int
	// Memory is what the row groups of all files but the first of each table may hold together: above it they are cut
	// early, and a range ends before a record that would need another file. Default 256 MiB.
	Memory  int64
	Records kafkalog.Limits
}

// DefaultLimits are those of a broker that does not say otherwise.
func DefaultLimits() Limits { return Limits{}.orDefault() }

func (l Limits) orDefault() Limits {
	if l.FileBytes <= 0 {
		l.FileBytes = 256 << 20
	}
	if l.OpenPartitions <= 0 {
		l.OpenPartitions = 32
	}
	if l.Memory <= 0 {
		l.Memory = 256 << 20
	}
	return l
}

// Segment is the original bytes of one log segment.
type Segment struct {
	Name   string // for errors
	Source io.ReaderAt
	Size   int64
	// Span is what the broker says about the segment's batches. It is checked: a file that shares its content with Kafka's may
	// have been truncated and written again.
	Span kafkalog.Span
}

// Input is one asked range of one partition.
type Input struct {
	Partition int32
	Base, End int64 // [Base, End)
	// Segments tile [Base, End) by their spans, in offset order; they may overlap and reach beyond it.
	Segments []Segment
	// Aborted holds every aborted transaction with a record in [Base, End), whichever segment its marker is in; nil = none.
	Aborted *kafkalog.TxnView
	// Before is the ledger's entry: the identity of the last covered batch if the range holds none.
	Before catalog.Progress
	// LeaderEpoch is that of the converting broker, for the file's footer.
	LeaderEpoch int32
}

// Output receives the bytes of files. Create is called once per file, when its first row is there; index counts from 0
// in order of creation. A file that was created is in the result unless Run fails.
type Output interface {
	Create(index int, role catalog.Role) (io.Writer, error)
}

// File is one finished file.
type File struct {
	Index int // as given to Output.Create
	Role  catalog.Role
	catalog.File
}

// Result is a converted range and its files. The range starts at the asked base and may end before the asked end.
type Result struct {
	Range  catalog.Range
	Counts catalog.Counts
	Files  []File
	// Reasons counts quarantined rows by reason.
	Reasons map[string]int64
}

// Converter converts ranges of one table.
type Converter struct {
	def     Definition
	mapping []int // position in the loaded main schema of each decoder field
	quarant []int // position in the loaded quarantine schema of each of our columns
}

// New checks that the loaded schemas hold every column the definition writes and ask for no other: Invalid names the one
// that is missing, has another type or may not be null.
func New(def Definition) (*Converter, error) {
	def.Limits = def.Limits.orDefault()
	main, err := match(def.Main, MainFields(def.Decoder()))
	if err != nil {
		return nil, status.Wrapf(err, "table of topic %s", def.Claim.Topic)
	}
	quarantine, err := match(def.Quarantine, QuarantineFields())
	if err != nil {
		return nil, status.Wrapf(err, "quarantine table of topic %s", def.Claim.Topic)
	}
	return &Converter{def: def, mapping: main, quarant: quarantine}, nil
}

// MainFields are the columns of a main table: the system columns, then those of the value.
func MainFields(d payload.Decoder) []schema.Field { return append(schema.System(), d.Fields()...) }

// match finds each wanted column in a loaded schema by name.
func match(loaded schema.Schema, want []schema.Field) ([]int, error) {
	if name := required(loaded.Fields); name != "" {
		return nil, status.Errorf(status.Invalid, "column %s may not be null in the table; any column of a topic's table may", name)
	}
	positions := make([]int, len(want))
	for i, w := range want {
		found := slices.IndexFunc(loaded.Fields, func(f schema.Field) bool { return f.Name == w.Name })
		if found < 0 {
			return nil, status.Errorf(status.Invalid, "column %s is not in the table any more", w.Name)
		}
		if got := loaded.Fields[found].Type; got.String() != w.Type.String() {
			return nil, status.Errorf(status.Invalid, "column %s is %s in the table and %s in the definition", w.Name, got, w.Type)
		}
		positions[i] = found
	}
	return positions, nil
}

// required is the path of a field that does not take nulls, "" if there is none.
func required(fields []schema.Field) string {
	for _, f := range fields {
		inner := f.Type.Fields
		if f.Type.Element != nil {
			inner = []schema.Field{*f.Type.Element}
		}
		if f.Required {
			return f.Name
		}
		if name := required(inner); name != "" {
			return f.Name + "." + name
		}
	}
	return ""
}

// A walk ends early: past the asked range, or because a limit is reached.
var (
	errPast = errors.New("past the range")
	errFull = errors.New("limit reached")
)

// Run converts as much of the asked range as the limits allow, at least its first batch up to [Limits].OpenPartitions. Errors:
// Invalid for a range that the segments do not tile; Corrupt when a segment's bytes do not verify or are not of its span;
// Unsupported above a limit of the records; the context's class; what the output says.
func (c *Converter) Run(ctx context.Context, in Input, out Output) (Result, error) {
	if err := tiled(in); err != nil {
		return Result{}, err
	}
	if in.Aborted == nil {
		in.Aborted = kafkalog.NewTxnView(nil)
	}
	r := &run{in: in, next: in.Base, decoder: kafkalog.NewDecoder(c.def.Limits.Records), tables: newTables(c, in, out)}
	defer r.tables.discard()
	r.result = Result{Reasons: map[string]int64{}, Range: catalog.Range{
		Partition: in.Partition, Base: in.Base, End: in.End, LastRow: -1,
		BatchEpoch: in.Before.BatchEpoch, LastBatchBase: in.Before.LastBatchBase, LastBatchCRC: in.Before.LastBatchCRC,
	}}
	walker := kafkalog.Walker{Limits: c.def.Limits.Records}
	for _, s := range in.Segments {
		err := walker.Walk(s.Source, 0, s.Size, func(b kafkalog.Batch) error {
			if err := s.Span.Check(b); err != nil {
				return err
			}
			return r.batch(ctx, b)
		})
		if errors.Is(err, errPast) {
			break
		}
		if errors.Is(err, errFull) {
			r.result.Range.End = r.next
			break
		}
		if err != nil {
			return Result{}, status.Wrapf(err, "convert %s", s.Name)
		}
	}
	files, err := r.tables.close(r.result)
	if err != nil {
		return Result{}, err
	}
	r.result.Files = files
	return r.result, nil
}

// tiled checks that the segments cover the range, each continuing the one before.
func tiled(in Input) error {
	at := in.Base
	for _, s := range in.Segments {
		if s.Span.Base > at {
			break
		}
		at = max(at, s.Span.End+1)
	}
	if in.End <= in.Base || at < in.End {
		return status.Errorf(status.Invalid, "convert [%d, %d) of partition %d: the %d segments reach offset %d",
			in.Base, in.End, in.Partition, len(in.Segments), at)
	}
	return nil
}

// run is the state of one conversion.
type run struct {
	in      Input
	next    int64 // first offset not covered
	decoder *kafkalog.Decoder
	tables  *tables
	result  Result
}

// batch converts one batch. Batches below next were seen in an overlapping segment. A batch may reach below next: the log began
// inside it, or the range before ended there.
func (r *run) batch(ctx context.Context, b kafkalog.Batch) error {
	if b.LastOffset() < r.next {
		return nil
	}
	if b.BaseOffset() >= r.in.End {
		return errPast
	}
	if r.tables.full() {
		return errFull
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	from, end := max(r.next, b.BaseOffset()), min(b.NextOffset(), r.in.End)
	var err error
	switch {
	case b.IsControl():
		r.result.Counts.Control += int64(b.Count())
	case r.in.Aborted.Aborted(b):
		var n int64
		n, err = r.count(b, from, end)
		r.result.Counts.Aborted += n
	default:
		end, err = r.records(b, from, end)
	}
	if err != nil && (!errors.Is(err, errFull) || end == from) {
		return err
	}
	r.next = end
	r.result.Range.BatchEpoch = b.LeaderEpoch()
	r.result.Range.LastBatchBase = b.BaseOffset()
	r.result.Range.LastBatchCRC = b.CRC()
	return err
}

// count is the number of records of b in [from, end).
func (r *run) count(b kafkalog.Batch, from, end int64) (n int64, err error) {
	if from == b.BaseOffset() && end == b.NextOffset() {
		return int64(b.Count()), nil
	}
	err = r.decoder.Records(b, func(rec *kafkalog.Record) error {
		if rec.Offset >= from && rec.Offset < end {
			n++
		}
		return nil
	})
	return n, err
}

// records converts the records of b in [from, end). With errFull it returns the first offset that did not fit.
func (r *run) records(b kafkalog.Batch, from, end int64) (int64, error) {
	err := r.decoder.Records(b, func(rec *kafkalog.Record) error {
		if rec.Offset < from || rec.Offset >= end {
			return nil
		}
		err := r.record(b, rec)
		if errors.Is(err, errFull) {
			end = rec.Offset
		}
		return err
	})
	return end, err
}

func (r *run) record(b kafkalog.Batch, rec *kafkalog.Record) error {
	sys := systemValues(r.in.Partition, b, rec)
	bad, err := r.tables.row(sys, rec)
	if err != nil {
		return err
	}
	if bad != nil {
		if err := r.tables.badRow(sys, rec, bad); err != nil {
			return err
		}
		r.result.Counts.Quarantined++
		r.result.Reasons[string(bad.Reason)]++
		return nil
	}
	r.result.Counts.Rows++
	r.result.Range.LastRow = rec.Offset
	if rec.Value == nil {
		r.result.Counts.Tombstones++
	}
	return nil
}
