package sweep

import (
	"encoding/base64"
	"time"

	"tidemark/internal/status"
	"tidemark/internal/telemetry"
	"tidemark/remotestorage/stored"
)

// Finding is a segment, an upload or an object that nothing needs, or that cannot be judged.
type Finding struct {
	Identity stored.Identity // zero for an object with an unknown key
	Keys     []string
	Upload   string // id of the unfinished upload; "" = objects
	Bytes    int64
	Modified time.Time
	Verdict  Verdict
	Done     bool // it was removed, given up or aborted; false in a dry run
}

// Report is the outcome of one sweep.
type Report struct {
	Took         time.Duration
	Partitions   int // judged
	Segments     int // looked at
	Objects      int
	Reasons      map[Reason]int // segments by reason; UnknownKey counts objects
	Orphans      int            // segments that are, or would be, removed or given up
	Bytes        int64          // of these
	Removed      int            // objects
	GivenUp      int            // segments
	OldUploads   int            // unfinished, older than the grace time, and of nobody
	Aborted      int
	Failed       int // partitions, topics and deletes that could not be judged or done
	FirstError   string
	UploadsError error    // why unfinished uploads could not all be found or aborted; the rest is right
	Foreign      []string // other clusters that left their mark
}

func (r *Report) count(reason Reason) { r.Reasons[reason]++ }

func (r *Report) fail(err error) {
	r.Failed++
	if r.FirstError == "" {
		r.FirstError = status.Of(err).String() + ": " + err.Error()
	}
}

func (r *Report) attrs(dry bool) []any {
	out := []any{"dry_run", dry, "took", r.Took.Round(time.Millisecond), "partitions", r.Partitions, "segments", r.Segments, "objects", r.Objects,
		"orphans", r.Orphans, "bytes", r.Bytes, "removed_objects", r.Removed, "given_up", r.GivenUp, "old_uploads", r.OldUploads, "aborted_uploads", r.Aborted,
		"failed", r.Failed}
	if r.FirstError != "" {
		out = append(out, "first_error", r.FirstError)
	}
	if r.UploadsError != nil {
		out = append(out, "uploads_error", status.Of(r.UploadsError).String()+": "+r.UploadsError.Error())
	}
	for _, reason := range Reasons() {
		if n := r.Reasons[reason]; n > 0 {
			out = append(out, string(reason), n)
		}
	}
	return out
}

func idText(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// Metrics are the series of the sweep. A nil *Metrics counts nothing.
type Metrics struct {
	finished, orphans, orphanBytes, seconds, uploads telemetry.Gauge
	removed, givenUp, aborted, uploadErrors          telemetry.Counter
	runs                                             map[string]telemetry.Counter
	segments                                         map[Reason]telemetry.Gauge
}

// NewMetrics makes the series.
func NewMetrics(set *telemetry.Set) *Metrics {
	m := &Metrics{
		finished:     set.Gauge("sweep_last_success_timestamp_seconds", "When the last whole sweep for orphans ended, in seconds since 1970; 0 if none did since the start."),
		orphans:      set.Gauge("sweep_orphan_segments", "Stored segments that Kafka's metadata does not know or gave up, found by the last sweep. With sweep.dry.run=true they stay, and cost money."),
		orphanBytes:  set.Gauge("sweep_orphan_bytes", "Bytes of those segments."),
		seconds:      set.Gauge("sweep_seconds", "How long the last sweep took."),
		uploads:      set.Gauge("sweep_old_uploads", "Unfinished multipart uploads that nobody goes on with, found by the last sweep that could list them: they are paid for and in no listing."),
		removed:      set.Counter("sweep_removed_objects_total", "Orphaned objects that sweeps removed."),
		givenUp:      set.Counter("sweep_given_up_copies_total", "Copies that never ended and that sweeps had Kafka give up. Kafka then deletes them, in topics without retention the next sweep."),
		aborted:      set.Counter("sweep_aborted_uploads_total", "Unfinished multipart uploads that sweeps aborted."),
		uploadErrors: set.Counter("sweep_uploads_errors_total", "Sweeps that could not list or abort unfinished multipart uploads, which then stay and cost money; segments were swept all the same. The event sweep.uploads.failed says why: often the rights ListBucketMultipartUploads and AbortMultipartUpload are not granted."),
		runs:         set.Counters("sweep_runs_total", "Sweeps by outcome. partial: some partitions could not be judged, failed: the sweep did not come to its end; the log says why.", "outcome", "ok", "partial", "failed"),
		segments:     map[Reason]telemetry.Gauge{},
	}
	by := set.GaugeVec("sweep_segments", "Stored segments that the last sweep looked at, by what it found.", "reason")
	for _, r := range Reasons() {
		m.segments[r] = by.With(string(r))
	}
	return m
}

func (m *Metrics) take(r Report, err error) {
	if m == nil {
		return
	}
	m.removed.Add(int64(r.Removed))
	m.givenUp.Add(int64(r.GivenUp))
	m.aborted.Add(int64(r.Aborted))
	if r.UploadsError != nil {
		m.uploadErrors.Inc()
	}
	if err != nil {
		m.runs["failed"].Inc()
		return // the gauges are those of a whole sweep
	}
	if r.Failed > 0 {
		m.runs["partial"].Inc()
	} else {
		m.runs["ok"].Inc()
	}
	m.finished.Set(float64(time.Now().Unix()))
	m.orphans.Set(float64(r.Orphans))
	m.orphanBytes.Set(float64(r.Bytes))
	m.seconds.Set(r.Took.Seconds())
	if r.UploadsError == nil {
		m.uploads.Set(float64(r.OldUploads))
	}
	for reason, g := range m.segments {
		g.Set(float64(r.Reasons[reason]))
	}
}
