package convert

import (
	"context"
	"errors"
	"io"

	"tidemark/catalog"
	"tidemark/internal/kafkalog"
	"tidemark/internal/status"
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
}

// Spec is how a table is partitioned.
type Spec struct {
	ID      int // partition spec id of the loaded table
	FieldID int // partition field id
	Day     bool
}

// Limits end a range early; all count work, none counts time.
type Limits struct {
	FileBytes      int64 // of the main table's largest file, estimated before compression of the open row group
	OpenPartitions int   // partition values written at once
	Records        kafkalog.Limits
}

// DefaultLimits are those of a broker that does not say otherwise.
func DefaultLimits() Limits {
	return Limits{FileBytes: 256 << 20, OpenPartitions: 32, Records: kafkalog.DefaultLimits()}
}

// Segment is the original bytes of one log segment.
type Segment struct {
	Name   string // for errors
	Source io.ReaderAt
	Size   int64
}

// Input is one asked range of one partition.
type Input struct {
	Partition int32
	Base, End int64 // [Base, End)
	// Segments tile [Base, End) in offset order; they may overlap and reach beyond it.
	Segments []Segment
	// Aborted holds every aborted transaction with a record in [Base, End), whichever segment its marker is in.
	Aborted *kafkalog.TxnView
	// Before is the ledger's entry: the identity of the last covered batch if the range holds none.
	Before catalog.Progress
	// LeaderEpoch is that of the converting broker, for the file's footer.
	LeaderEpoch int32
}

// Output receives the bytes of files. Create is called once per file, before its first byte; index counts from 0 in
// order of creation.
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

// New checks that the loaded schemas hold every column the definition writes: Invalid names the one that is missing or has
// another type.
func New(def Definition) (*Converter, error) {
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
	positions := make([]int, len(want))
	for i, w := range want {
		found := -1
		for j, f := range loaded.Fields {
			if f.Name == w.Name {
				found = j
			}
		}
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

// A walk ends early at a batch boundary: past the asked range, or because a limit is reached.
var (
	errPast = errors.New("past the range")
	errFull = errors.New("limit reached")
)

// Run converts as much of the asked range as the limits allow. Errors: Corrupt when a segment's bytes do not verify or do
// not reach the range's end, the context's class, or what the output says.
func (c *Converter) Run(ctx context.Context, in Input, out Output) (Result, error) {
	r := &run{converter: c, in: in, next: in.Base, decoder: kafkalog.NewDecoder(c.def.Limits.Records)}
	r.tables = newTables(c, in, out)
	defer r.tables.discard()
	r.result = Result{Reasons: map[string]int64{}, Range: catalog.Range{
		Partition: in.Partition, Base: in.Base, LastRow: -1,
		BatchEpoch: in.Before.BatchEpoch, LastBatchBase: in.Before.LastBatchBase, LastBatchCRC: in.Before.LastBatchCRC,
	}}
	r.result.Range.End = in.End
	for _, s := range in.Segments {
		err := kafkalog.Walk(s.Source, s.Size, func(b kafkalog.Batch) error { return r.batch(ctx, b) })
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

// run is the state of one conversion.
type run struct {
	converter *Converter
	in        Input
	next      int64 // first offset not looked at
	decoder   *kafkalog.Decoder
	tables    *tables
	result    Result
}

// batch converts one batch. Batches below next were seen in an overlapping segment; the asked range ends at a batch boundary
// because transactions start and segments end at one.
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
	skip := r.next // a batch that reaches below base: its covered records are not repeated
	r.next = min(b.NextOffset(), r.in.End)
	switch {
	case b.IsControl():
		r.result.Counts.Control += int64(b.Count())
	case r.in.Aborted.Aborted(b):
		r.result.Counts.Aborted += int64(b.Count())
	default:
		err := r.decoder.Records(b, func(rec *kafkalog.Record) error {
			if rec.Offset < skip || rec.Offset >= r.in.End {
				return nil
			}
			return r.record(b, rec)
		})
		if err != nil {
			return err
		}
	}
	r.result.Range.BatchEpoch = b.LeaderEpoch()
	r.result.Range.LastBatchBase = b.BaseOffset()
	r.result.Range.LastBatchCRC = b.CRC()
	return nil
}

func (r *run) record(b kafkalog.Batch, rec *kafkalog.Record) error {
	sys := systemValues(r.in.Partition, b, rec)
	bad, err := r.tables.main(sys, rec.Value)
	if err != nil {
		return err
	}
	if bad != nil {
		r.result.Counts.Quarantined++
		r.result.Reasons[string(bad.Reason)]++
		return r.tables.quarantine(sys, rec.Value, bad)
	}
	r.result.Counts.Rows++
	r.result.Range.LastRow = rec.Offset
	if rec.Value == nil {
		r.result.Counts.Tombstones++
	}
	return nil
}
