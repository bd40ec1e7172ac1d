package ingest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"tidemark/catalog"
	"tidemark/internal/budget"
	"tidemark/internal/kafkalog"
	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/tables/convert"
)

// pace bounds conversion and upload: a starved host is slow, not broken (D18).
var pace = budget.Pace{Floor: 5 * time.Minute, MinRate: 1 << 20}

// submitTimeout bounds the wait for a commit. The commit itself goes on; the ledger tells its fate.
const submitTimeout = 2 * time.Minute

// schedule starts jobs whenever something changed or a pause ended.
func (in *Ingest) schedule(ctx context.Context) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-in.wake:
		case <-tick.C:
		}
		for _, j := range in.ready(time.Now()) {
			in.tasks.Go("convert "+j.state.partition.String(), j.run)
		}
	}
}

// ready are the jobs to start now. A partition has one job at a time.
func (in *Ingest) ready(now time.Time) []*job {
	in.mu.Lock()
	defer in.mu.Unlock()
	var jobs []*job
	for k, s := range in.partitions {
		table, ok := in.tables[k.topic]
		if !ok || !s.led || !s.known || s.busy {
			continue
		}
		segments := make([]Segment, 0, len(s.segments))
		for _, seg := range s.segments {
			segments = append(segments, seg)
		}
		c, gap, found := cut(s.progress.Next, segments)
		in.show(s, segments)
		if !found {
			in.idle(s, gap)
			continue
		}
		if s.since.IsZero() {
			s.since = now
		}
		if s.listed.IsZero() && !s.draining || now.Before(s.notBefore) || now.Sub(s.since) < in.cfg.Linger && c.Bytes() < maxRangeBytes {
			continue
		}
		s.busy = true
		jobs = append(jobs, &job{ingest: in, state: s, table: table, cut: c, progress: s.progress})
	}
	return jobs
}

// idle notes why a partition has nothing to convert. A gap with a complete list is for an operator to decide: nothing is
// skipped silently.
func (in *Ingest) idle(s *state, gap Gap) {
	s.since = time.Time{}
	if gap == (Gap{}) {
		s.reason = ""
		return
	}
	if s.listed.IsZero() {
		return
	}
	reason := fmt.Sprintf("GAP: offsets [%d, %d) are in no remote segment, the table cannot go on", gap.From, gap.To)
	if s.reason != reason {
		s.reason = reason
		in.deps.Log.Error("table.gap", "partition", s.partition.String(), "from", gap.From, "to", gap.To)
	}
}

func (in *Ingest) show(s *state, segments []Segment) {
	end, bytes := s.progress.Next, int64(0)
	for _, seg := range segments {
		end = max(end, seg.End)
		bytes += seg.Size
	}
	p := strconv.Itoa(int(s.partition.Partition))
	in.metrics.lag.With(s.partition.Topic, p).Set(float64(end - s.progress.Next))
	in.metrics.waiting.With(s.partition.Topic, p).Set(float64(bytes))
}

// job converts one cut and takes the result to the catalog.
type job struct {
	ingest   *Ingest
	state    *state
	table    Table
	cut      Cut
	progress catalog.Progress
}

func (j *job) run(ctx context.Context) {
	in := j.ingest
	release, err := in.slots.Acquire(ctx, 1)
	if err != nil {
		in.failed(j.state, err)
		return
	}
	var offer catalog.Offer
	var some bool
	in.metrics.inFlight.Add(1)
	err = in.tasks.Guard("convert", func() (err error) { offer, some, err = j.convert(ctx); return err })
	in.metrics.inFlight.Add(-1)
	release()
	if err == nil && some {
		ctx, cancel := context.WithTimeout(ctx, submitTimeout)
		err = in.deps.Commits.Submit(ctx, j.table.TopicID, offer)
		cancel()
	}
	if err != nil {
		in.failed(j.state, err)
		return
	}
	in.mu.Lock()
	j.state.busy, j.state.failures = false, 0
	if some {
		j.state.since = time.Time{}
	} else {
		// The tail waits for the next segment; look again when one comes, at the latest after a list.
		j.state.notBefore = time.Now().Add(in.cfg.Linger)
		j.state.reason = "an open transaction at the end of the newest segment: its outcome is in the next one"
	}
	in.mu.Unlock()
	in.nudge()
}

// convert makes the files of the cut and uploads them. some is false when no offset is decided yet.
func (j *job) convert(ctx context.Context) (offer catalog.Offer, some bool, err error) {
	started := time.Now()
	ctx, cancel := pace.WithDeadline(ctx, j.cut.Bytes())
	defer cancel()
	aborted, end, err := j.outcomes(ctx)
	if err != nil || end <= j.cut.Base {
		return catalog.Offer{}, false, err
	}
	input, closeAll, err := j.open(ctx)
	defer closeAll()
	if err != nil {
		return catalog.Offer{}, false, err
	}
	input.End, input.Aborted = end, kafkalog.NewTxnView(aborted)
	scratch, err := newScratch(j.ingest.cfg.ScratchDir)
	if err != nil {
		return catalog.Offer{}, false, err
	}
	defer scratch.remove()
	result, err := j.table.Converter.Run(ctx, input, scratch)
	if err != nil {
		return catalog.Offer{}, false, err
	}
	offer = catalog.Offer{Range: result.Range, Generation: j.table.Generation, LeaderEpoch: input.LeaderEpoch,
		Counts: result.Counts, Files: map[catalog.Role][]catalog.File{}}
	if err := j.upload(ctx, scratch, result, &offer); err != nil {
		return catalog.Offer{}, false, err
	}
	j.count(result, started)
	return offer, true, nil
}

// outcomes reads the transaction indexes of the cut and the producer snapshot at its end.
func (j *job) outcomes(ctx context.Context) (aborted []kafkalog.AbortedTxn, end int64, err error) {
	segments := j.ingest.deps.Segments
	for _, s := range j.cut.Segments {
		if s.TxnIndexEmpty {
			continue
		}
		raw, err := segments.Index(ctx, s, Transaction)
		if status.Is(err, status.NotFound) {
			continue
		}
		if err != nil {
			return nil, 0, status.Wrapf(err, "transaction index of %s [%d, %d)", s.Partition, s.Base, s.End)
		}
		txns, err := kafkalog.ParseTxnIndex(raw)
		if err != nil {
			return nil, 0, status.Wrapf(err, "transaction index of %s [%d, %d)", s.Partition, s.Base, s.End)
		}
		aborted = append(aborted, txns...)
	}
	last := j.cut.Segments[len(j.cut.Segments)-1]
	raw, err := segments.Index(ctx, last, ProducerSnapshot)
	if err != nil {
		return nil, 0, status.Wrapf(err, "producer snapshot of %s [%d, %d)", last.Partition, last.Base, last.End)
	}
	open, err := kafkalog.ParseProducerSnapshot(raw)
	if err != nil {
		return nil, 0, status.Wrapf(err, "producer snapshot of %s [%d, %d)", last.Partition, last.Base, last.End)
	}
	return aborted, decided(j.cut, open), nil
}

// open opens the segments of the cut. closeAll closes what was opened, also after an error.
func (j *job) open(ctx context.Context) (in convert.Input, closeAll func(), err error) {
	var opened []io.Closer
	closeAll = func() {
		for _, c := range opened {
			_ = c.Close()
		}
	}
	in = convert.Input{Partition: j.state.partition.Partition, Base: j.cut.Base, Before: j.progress,
		LeaderEpoch: lastEpoch(j.cut.Segments[len(j.cut.Segments)-1])}
	for _, s := range j.cut.Segments {
		src, err := j.ingest.deps.Segments.Open(ctx, s)
		if err != nil {
			return in, closeAll, status.Wrapf(err, "open segment %s [%d, %d)", s.Partition, s.Base, s.End)
		}
		opened = append(opened, src)
		in.Segments = append(in.Segments, convert.Segment{
			Name: fmt.Sprintf("segment %s [%d, %d)", s.Partition, s.Base, s.End), Source: src, Size: src.Size(),
			Span: kafkalog.Span{Base: s.Base, End: s.End - 1, Epochs: s.Epochs}})
	}
	return in, closeAll, nil
}

// upload puts the files into the store under names that are never used again.
func (j *job) upload(ctx context.Context, s *scratch, result convert.Result, offer *catalog.Offer) error {
	store := j.ingest.deps.Store
	for _, f := range result.Files {
		src, err := s.source(f.Index)
		if err != nil {
			return err
		}
		var random [8]byte
		_, _ = rand.Read(random[:])
		objectKey := j.table.Location[f.Role] + "/" + catalog.DataFileName(j.table.TopicID, result.Range, offer.LeaderEpoch, f.Index, hex.EncodeToString(random[:]))
		if _, err := store.Put(ctx, objectKey, src, objectstore.Condition{Absent: true}); err != nil {
			return status.Wrapf(err, "upload table file %s", objectKey)
		}
		f.URI = store.URI(objectKey)
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
	j.ingest.deps.Log.Debug("table.converted", "partition", j.state.partition.String(), "base", r.Range.Base, "end", r.Range.End,
		"rows", r.Counts.Rows, "quarantined", r.Counts.Quarantined, "aborted", r.Counts.Aborted, "files", len(r.Files), "took", took)
	for reason, n := range r.Reasons {
		j.ingest.deps.Log.Warn("table.quarantined", "partition", j.state.partition.String(), "base", r.Range.Base, "end", r.Range.End,
			"reason", reason, "records", n)
	}
}

// scratch is the files of one conversion before upload, in a directory of their own.
type scratch struct {
	dir   string
	files map[int]*os.File
}

func newScratch(root string) (*scratch, error) {
	dir, err := os.MkdirTemp(root, "convert-")
	if err != nil {
		return nil, status.Errorf(status.Transient, "make a scratch directory in %s: %w", root, err)
	}
	return &scratch{dir: dir, files: map[int]*os.File{}}, nil
}

// Create implements convert.Output.
func (s *scratch) Create(index int, role catalog.Role) (io.Writer, error) {
	f, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("%s-%d.parquet", role, index)))
	if err != nil {
		return nil, status.Errorf(status.Transient, "make a scratch file: %w", err)
	}
	s.files[index] = f
	return f, nil
}

func (s *scratch) source(index int) (objectstore.Source, error) {
	f := s.files[index]
	info, err := f.Stat()
	if err != nil {
		return nil, status.Errorf(status.Transient, "look at a scratch file: %w", err)
	}
	return objectstore.FileSource(f, info.Size()), nil
}

func (s *scratch) remove() {
	for _, f := range s.files {
		_ = f.Close()
	}
	_ = os.RemoveAll(s.dir)
}
