package ingest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"tidemark/catalog"
	"tidemark/internal/budget"
	"tidemark/internal/kafkalog"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/tables/convert"
)

// pace bounds conversion and upload: a starved host is slow, not broken.
var pace = budget.Pace{Floor: 5 * time.Minute, MinRate: 1 << 20}

// submitTimeout bounds the wait for a commit. The commit itself goes on; the ledger tells its fate.
const submitTimeout = 2 * time.Minute

// uploads are repeated before the whole range is converted again.
var uploads = budget.Retry{Attempts: 4, Base: time.Second, Max: 10 * time.Second}

// job converts one cut.
type job struct {
	ingest    *Ingest
	partition Partition
	table     Table
	cut       Cut
	progress  catalog.Progress
	offer     *catalog.Offer // the converted range
	wait      string         // why there is none
}

// convert makes the files of the cut, uploads them and sets the offer. It stays nil when no offset is decided yet.
func (j *job) convert(ctx context.Context) error {
	started := time.Now()
	ctx, cancel := pace.WithDeadline(ctx, j.cut.Bytes())
	defer cancel()
	aborted, end, err := j.outcomes(ctx)
	if err != nil || end <= j.cut.Base {
		j.wait = "an open transaction at the end of the newest segment: its outcome is in the next one"
		return err
	}
	input, closeAll, err := j.open(ctx, end)
	defer closeAll()
	if err != nil {
		return err
	}
	input.Aborted = kafkalog.NewTxnView(aborted)
	scratch, err := newScratch(j.ingest.cfg.ScratchDir)
	if err != nil {
		return err
	}
	defer scratch.remove()
	result, err := j.table.Converter.Run(ctx, input, scratch)
	if err != nil {
		return err
	}
	if result.Range.BatchEpoch < 0 {
		j.wait = "no record batch up to here, and so no end that can be checked: it is covered with the next segment"
		return nil
	}
	offer := &catalog.Offer{Range: result.Range, Generation: j.table.Generation, LeaderEpoch: input.LeaderEpoch,
		Counts: result.Counts, Files: map[catalog.Role][]catalog.File{}}
	if err := j.upload(ctx, scratch, result, offer); err != nil {
		return err
	}
	j.offer = offer
	j.count(result, started)
	return nil
}

// outcomes are the aborted transactions of the cut and the end of what is decided. When a transaction is open from the cut's
// begin to its end, the indexes of the tiles that follow tell how it ended.
func (j *job) outcomes(ctx context.Context) (aborted []kafkalog.AbortedTxn, end int64, err error) {
	tiles := j.cut.tiles()
	n := len(j.cut.Segments)
	for step := 1; ; step *= 2 {
		open, err := j.openTxns(ctx, tiles[n-1])
		if err != nil {
			return nil, 0, err
		}
		if end = decided(j.cut, open); end > j.cut.Base {
			break
		}
		if n == len(tiles) {
			return nil, end, nil
		}
		n = min(n+step, len(tiles))
	}
	for _, s := range tiles[:n] {
		if s.TxnIndexEmpty {
			continue
		}
		raw, err := j.ingest.deps.Segments.Index(ctx, s, Transaction)
		if status.Is(err, status.NotFound) {
			continue
		}
		var txns []kafkalog.AbortedTxn
		if err == nil {
			txns, err = kafkalog.ParseTxnIndex(raw)
		}
		if err != nil {
			return nil, 0, status.Wrapf(err, "transaction index of %s [%d, %d)", s.Partition, s.Base, s.End)
		}
		aborted = append(aborted, txns...)
	}
	return aborted, end, nil
}

// openTxns are the transactions open at a segment's end.
func (j *job) openTxns(ctx context.Context, s Segment) ([]kafkalog.OpenTxn, error) {
	raw, err := j.ingest.deps.Segments.Index(ctx, s, ProducerSnapshot)
	var open []kafkalog.OpenTxn
	if err == nil {
		open, err = kafkalog.ParseProducerSnapshot(raw)
	}
	return open, status.Wrapf(err, "producer snapshot of %s [%d, %d)", s.Partition, s.Base, s.End)
}

// open opens the segments of the cut below end. closeAll closes what was opened, also after an error.
func (j *job) open(ctx context.Context, end int64) (in convert.Input, closeAll func(), err error) {
	var opened []io.Closer
	closeAll = func() {
		for _, c := range opened {
			_ = c.Close()
		}
	}
	in = convert.Input{Partition: j.partition.Partition, Base: j.cut.Base, End: end, Before: j.progress}
	for _, s := range j.cut.Segments {
		if s.Base >= end {
			break
		}
		name := fmt.Sprintf("segment %s [%d, %d)", s.Partition, s.Base, s.End)
		src, err := j.ingest.deps.Segments.Open(ctx, s)
		if err != nil {
			return in, closeAll, status.Wrapf(err, "open %s", name)
		}
		opened = append(opened, src)
		if src.Size() != s.Size {
			return in, closeAll, status.Errorf(status.Corrupt, "%s has %d bytes, its metadata says %d", name, src.Size(), s.Size)
		}
		in.LeaderEpoch = lastEpoch(s)
		in.Segments = append(in.Segments, convert.Segment{Name: name, Source: src, Size: s.Size,
			Span: kafkalog.Span{Base: s.Base, End: s.End - 1, Epochs: s.Epochs}})
	}
	return in, closeAll, nil
}

// upload puts the files into the store under names that are never used again: of a put whose fate is open nothing is left
// but an orphan.
func (j *job) upload(ctx context.Context, s *scratch, result convert.Result, offer *catalog.Offer) error {
	store := j.ingest.deps.Store
	for _, f := range result.Files {
		src, err := s.source(f.Index)
		if err != nil {
			return err
		}
		err = uploads.Do(ctx, func(ctx context.Context, _ int) error {
			var random [8]byte
			_, _ = rand.Read(random[:])
			name := catalog.DataFileName(j.table.TopicID, result.Range, offer.LeaderEpoch, f.Index, hex.EncodeToString(random[:]))
			objectKey := j.table.Location[f.Role] + "/" + name
			_, err := store.Put(ctx, objectKey, src, objectstore.Condition{Absent: true})
			if status.Is(err, status.Unknown) {
				return status.Errorf(status.Transient, "upload table file %s: %w", objectKey, err)
			}
			f.URI = store.URI(objectKey)
			return status.Wrapf(err, "upload table file %s", objectKey)
		})
		if err != nil {
			return err
		}
		offer.Files[f.Role] = append(offer.Files[f.Role], f.File)
		j.ingest.metrics.bytesOut.Add(f.Size)
	}
	return nil
}

func (j *job) count(r convert.Result, started time.Time) {
	m := j.ingest.metrics
	took := time.Since(started)
	m.ranges.Inc()
	m.rows.Add(r.Counts.Rows)
	m.quarantined.Add(r.Counts.Quarantined)
	m.aborted.Add(r.Counts.Aborted)
	m.bytesIn.Add(j.cut.Bytes())
	m.seconds.Observe(took.Seconds())
	j.ingest.deps.Log.Debug("table.converted", "partition", j.partition.String(), "base", r.Range.Base, "end", r.Range.End,
		"rows", r.Counts.Rows, "quarantined", r.Counts.Quarantined, "aborted", r.Counts.Aborted, "files", len(r.Files), "took", took)
	for reason, n := range r.Reasons {
		j.ingest.deps.Log.Warn("table.quarantined", "partition", j.partition.String(), "base", r.Range.Base, "end", r.Range.End,
			"reason", reason, "records", n, "effect", "these records are in the quarantine table, with payload and reason; all others are in the table")
	}
}
