package iceberg

import (
	"fmt"
	"maps"
	"strconv"

	lib "github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"tidemark/catalog"
)

// summary is the snapshot summary of an append: the writer's keys, what was added, and the running totals. A total is carried
// on only from a parent that has it: one that another writer left out stays out, for a made-up total would be wrong.
func summary(parent *table.Snapshot, a Addition) *table.Summary {
	var files, rows, size int64
	partitions := map[string]bool{}
	for _, f := range a.Files {
		files++
		rows += f.Rows
		size += f.Size
		partitions[fmt.Sprint(f.Spec, f.Partition)] = true
	}
	out := lib.Properties{}
	if files > 0 {
		out["added-data-files"] = itoa(files)
		out["added-records"] = itoa(rows)
		out["added-files-size"] = itoa(size)
	}
	out["changed-partition-count"] = itoa(int64(len(partitions)))
	for _, t := range []struct {
		key   string
		added int64
	}{
		{"total-data-files", files}, {"total-records", rows}, {"total-files-size", size},
		{"total-delete-files", 0}, {"total-position-deletes", 0}, {"total-equality-deletes", 0},
	} {
		if total, ok := before(parent, t.key); ok {
			out[t.key] = itoa(total + t.added)
		}
	}
	maps.Copy(out, a.Summary)
	return &table.Summary{Operation: table.OpAppend, Properties: out}
}

// before is a total of the parent snapshot; zero if there is no parent.
func before(parent *table.Snapshot, key string) (int64, bool) {
	if parent == nil {
		return 0, true
	}
	if parent.Summary == nil {
		return 0, false
	}
	total, err := strconv.ParseInt(parent.Summary.Properties[key], 10, 64)
	return total, err == nil && total >= 0
}

// dataFile describes a file of ours for a manifest.
func (m *Metadata) dataFile(f catalog.File) (lib.DataFile, error) {
	spec := m.meta.PartitionSpecByID(f.Spec)
	if spec == nil {
		return nil, invalidFile(f, "partition spec %d is unknown to table %s", f.Spec, m.meta.Location())
	}
	if !m.hasSchema(f.Schema) {
		return nil, invalidFile(f, "schema %d is unknown to table %s", f.Schema, m.meta.Location())
	}
	if !within(m.meta.Location(), f.URI) {
		return nil, invalidFile(f, "it lies outside table %s", m.meta.Location())
	}
	if f.Rows <= 0 || f.Size <= 0 {
		return nil, invalidFile(f, "%d rows, %d bytes", f.Rows, f.Size)
	}
	tuple, err := m.partition(*spec, f)
	if err != nil {
		return nil, err
	}
	b, err := lib.NewDataFileBuilder(*spec, lib.EntryContentData, f.URI, lib.ParquetFile, tuple, nil, nil, f.Rows, f.Size)
	if err != nil {
		return nil, invalidFile(f, "%v", err)
	}
	setColumns(b, f)
	if len(f.Splits) > 0 {
		b.SplitOffsets(f.Splits)
	}
	return b.Build(), nil
}

func setColumns(b *lib.DataFileBuilder, f catalog.File) {
	sizes, values, nulls, nans := map[int]int64{}, map[int]int64{}, map[int]int64{}, map[int]int64{}
	lower, upper := map[int][]byte{}, map[int][]byte{}
	for _, c := range f.Columns {
		sizes[c.FieldID], values[c.FieldID], nulls[c.FieldID] = c.Size, c.Values, c.Nulls
		if c.NaNs >= 0 {
			nans[c.FieldID] = c.NaNs
		}
		if c.Lower != nil {
			lower[c.FieldID] = c.Lower
		}
		if c.Upper != nil {
			upper[c.FieldID] = c.Upper
		}
	}
	b.ColumnSizes(sizes).ValueCounts(values).NullValueCounts(nulls)
	if len(nans) > 0 {
		b.NaNValueCounts(nans)
	}
	if len(lower) > 0 {
		b.LowerBoundValues(lower)
	}
	if len(upper) > 0 {
		b.UpperBoundValues(upper)
	}
}
