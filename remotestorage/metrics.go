package remotestorage

import (
	"sync"
	"time"

	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// metrics are the series of copies.
type metrics struct {
	copies, bytes, stored, requests, cleanups, slow, late, hung, limited, dropped telemetry.Counter

	seconds telemetry.Histogram
	stages  map[string]telemetry.Histogram
	errors  map[string]telemetry.Counter

	mu      sync.Mutex
	running map[*flight]struct{}
	success time.Time // when the last copy ended well, else when the instance started
}

func newMetrics(set *telemetry.Set) *metrics {
	var classes []string
	for _, c := range status.Classes() {
		classes = append(classes, c.String())
	}
	m := &metrics{
		copies:   set.Counter("copy_segments_total", "Segments copied."),
		bytes:    set.Counter("copy_bytes_total", "Bytes of the log files of segments copied."),
		stored:   set.Counter("copy_stored_bytes_total", "Bytes of the log objects of segments copied: less than copy_bytes_total where segments are compressed."),
		requests: set.Counter("copy_requests_total", "Requests to the store made by copies, each attempt and failed copies included; beside copy_bytes_total, what a stored GiB costs. The file store counts objects written."),
		late:     set.Counter("copy_slow_total", "Times that a copy under way had used up another quarter of its deadline; the event copy.slow names the segment and the stage it is in."),
		dropped:  set.Counter("copy_page_cache_dropped_bytes_total", "Bytes of local segments that copies read from the disk and gave up in the page cache again: what was there before stays."),
		hung:     set.Counter("copy_hung_total", "Copies that were given up because a system call on a local file did not return: the disk hangs."),
		limited:  set.Counter("copy_limit_wait_seconds_total", "Time that copies waited for copy.max.bytes.per.second, of all parts together: while it grows the limit holds them back."),
		cleanups: set.Counter("copy_cleanups_deferred_total", "Failed copies whose objects could not be removed at once."),
		slow:     set.Counter("handover_slow_total", "Segments whose hand-over to the table side was skipped or took longer than handover.timeout.ms."),
		seconds:  set.Histogram("copy_seconds", "Duration of copies that succeeded.", telemetry.Seconds),
		stages: set.Histograms("copy_stage_seconds", "Duration of each stage of copies that succeeded: open (files), wait (for copy.parallel), check (every batch is read), data (the log object is sent), sidecar, handover.",
			telemetry.Seconds, "stage", stageNames[:cleaning]...),
		errors:  set.Counters("copy_errors_total", "Copies that failed.", "class", classes...),
		running: map[*flight]struct{}{},
		success: time.Now(),
	}
	set.GaugeFunc("copy_in_flight", "Copies under way.", func() float64 { n, _ := m.flights(); return float64(n) })
	set.GaugeFunc("copy_oldest_in_flight_seconds", "Age of the oldest copy under way: it grows when a copy is stuck.",
		func() float64 { _, age := m.flights(); return age.Seconds() })
	set.GaugeFunc("copy_since_success_seconds", "Time since a segment was last copied, since the start of the broker before the first: with errors beside it, how long nothing was tiered.",
		func() float64 { m.mu.Lock(); defer m.mu.Unlock(); return time.Since(m.success).Seconds() })
	return m
}

func (m *metrics) flights() (n int, oldest time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for f := range m.running {
		oldest = max(oldest, time.Since(f.start))
	}
	return len(m.running), oldest
}

func (m *metrics) begin(size int64) *flight {
	f := newFlight(size)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running[f] = struct{}{}
	return f
}

func (m *metrics) finish(f *flight, err error) {
	m.mu.Lock()
	delete(m.running, f)
	if err == nil {
		m.success = time.Now()
	}
	m.mu.Unlock()
	requests, _, _ := f.tally.Sums()
	m.requests.Add(requests)
	if err != nil {
		m.errors[status.Of(err).String()].Inc()
		return
	}
	m.copies.Inc()
	m.bytes.Add(f.size)
	m.seconds.Observe(time.Since(f.start).Seconds())
	for s, d := range f.times() {
		if h, ok := m.stages[stageNames[s]]; ok {
			h.Observe(d.Seconds())
		}
	}
}
