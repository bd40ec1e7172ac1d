package catalog

import (
	"strconv"
	"strings"

	"tidemark/internal/status"
)

// PipelineVersion is the version of the conversion without a statement: the same bytes give the same rows.
const PipelineVersion = "1"

// The keys of a table file's Parquet key-value metadata: docs/format/table-files.md.
const (
	footerVersion    = "tidemark.footer"
	footerCluster    = "tidemark.cluster-id"
	footerTopicID    = "tidemark.topic-id"
	footerRole       = "tidemark.role"
	footerRange      = "tidemark.range"
	footerEnd        = "tidemark.end"
	footerEpoch      = "tidemark.leader-epoch"
	footerLayout     = "tidemark.layout"
	footerPipeline   = "tidemark.pipeline"
	footerGeneration = "tidemark.generation"
	footerPart       = "tidemark.part"
	footerCounts     = "tidemark.counts"
)

const footerFormat = "1"

// FileFooter is what a table file says of itself in its Parquet key-value metadata. Identity is the range, not the name.
type FileFooter struct {
	URI         string // where the file was found; not written
	Rows        int64  // rows of this file as its Parquet footer counts them; not written
	Claim       Claim  // cluster id and topic id are written, the topic name is not
	Role        Role
	Range       Range
	LeaderEpoch int32 // of the broker that converted the range
	Layout      string
	Pipeline    string
	Generation  uint64
	Part        int // this is file Part of Parts of its range in its table, from 1
	Parts       int
	Counts      Counts // of the whole range
}

// Encode makes the key-value metadata of a file.
func (f FileFooter) Encode() map[string]string {
	r, c := f.Range, f.Counts
	return map[string]string{
		footerVersion:    footerFormat,
		footerCluster:    f.Claim.ClusterID,
		footerTopicID:    f.Claim.TopicID.String(),
		footerRole:       string(f.Role),
		footerRange:      join(int64(r.Partition), r.Base, r.End),
		footerEnd:        join(int64(r.BatchEpoch), r.LastBatchBase, int64(r.LastBatchCRC), r.LastRow),
		footerEpoch:      strconv.FormatInt(int64(f.LeaderEpoch), 10),
		footerLayout:     f.Layout,
		footerPipeline:   f.Pipeline,
		footerGeneration: strconv.FormatUint(f.Generation, 10),
		footerPart:       join(int64(f.Part), int64(f.Parts)),
		footerCounts:     join(c.Rows, c.Quarantined, c.Aborted, c.Control, c.Tombstones),
	}
}

// DecodeFooter reads the key-value metadata of a file. ok is false, without an error, if the file has none of ours: another
// writer made it. Error classes: Corrupt, and Unsupported for a newer format.
func DecodeFooter(kv map[string]string) (f FileFooter, ok bool, err error) {
	version, ok := kv[footerVersion]
	if !ok {
		return FileFooter{}, false, nil
	}
	if version != footerFormat {
		return FileFooter{}, false, status.Errorf(status.Unsupported, "table file: footer format %q, this program reads %s", version, footerFormat)
	}
	d := fields{kv: kv}
	f.Claim.ClusterID = d.text(footerCluster)
	if id, err := ParseTopicID(d.text(footerTopicID)); err == nil {
		f.Claim.TopicID = id
	} else {
		d.fail(footerTopicID)
	}
	f.Role = Role(d.text(footerRole))
	span := d.numbers(footerRange, 3)
	f.Range.Partition, f.Range.Base, f.Range.End = d.int32(footerRange, span[0]), span[1], span[2]
	end := d.numbers(footerEnd, 4)
	f.Range.BatchEpoch, f.Range.LastBatchBase, f.Range.LastRow = d.int32(footerEnd, end[0]), end[1], end[3]
	f.Range.LastBatchCRC = uint32(end[2])
	f.LeaderEpoch = d.int32(footerEpoch, d.numbers(footerEpoch, 1)[0])
	f.Layout, f.Pipeline = d.text(footerLayout), d.text(footerPipeline)
	generation := d.numbers(footerGeneration, 1)[0]
	f.Generation = uint64(generation)
	part := d.numbers(footerPart, 2)
	f.Part, f.Parts = int(part[0]), int(part[1])
	n := d.numbers(footerCounts, 5)
	f.Counts = Counts{Rows: n[0], Quarantined: n[1], Aborted: n[2], Control: n[3], Tombstones: n[4]}
	d.check(footerRange, span[0] >= 0 && span[1] >= 0 && span[2] > span[1])
	d.check(footerEnd, end[2] >= 0 && end[2] <= 1<<32-1)
	d.check(footerGeneration, generation >= 0)
	d.check(footerPart, part[0] >= 1 && part[1] >= part[0] && part[1] < 1<<31)
	if d.bad != "" {
		return FileFooter{}, false, status.Errorf(status.Corrupt, "table file: footer entry %s is absent or malformed", d.bad)
	}
	return f, true, nil
}

func join(numbers ...int64) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(texts, " ")
}

// fields reads footer entries and remembers the first bad one.
type fields struct {
	kv  map[string]string
	bad string
}

func (d *fields) fail(key string) {
	if d.bad == "" {
		d.bad = key
	}
}

func (d *fields) check(key string, ok bool) {
	if !ok {
		d.fail(key)
	}
}

func (d *fields) text(key string) string {
	s, ok := d.kv[key]
	d.check(key, ok)
	return s
}

// numbers always returns n numbers, so that callers need no check of their own.
func (d *fields) numbers(key string, n int) []int64 {
	out := make([]int64, n)
	texts := strings.Split(d.text(key), " ")
	d.check(key, len(texts) == n)
	for i := range min(n, len(texts)) {
		v, err := strconv.ParseInt(texts[i], 10, 64)
		d.check(key, err == nil && strconv.FormatInt(v, 10) == texts[i])
		out[i] = v
	}
	return out
}

func (d *fields) int32(key string, v int64) int32 {
	d.check(key, v == int64(int32(v)))
	return int32(v)
}
