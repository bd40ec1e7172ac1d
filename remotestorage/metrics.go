package remotestorage

import (
	"sync"
	"time"

	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// metrics are the series of copies.
type metrics struct {
	copies, bytes, stored, cleanups, slow telemetry.Counter
	seconds                               telemetry.Histogram
	errors                                map[string]telemetry.Counter

	mu      sync.Mutex
	running map[*flight]struct{}
	success time.Time // when the last copy ended well, else when the instance started
}

// flight is one copy under way.
type flight struct {
	start time.Time
	size  int64
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
		cleanups: set.Counter("copy_cleanups_deferred_total", "Failed copies whose objects could not be removed at once."),
		slow:     set.Counter("handover_slow_total", "Segments whose hand-over to the table side was skipped or took longer than handover.timeout.ms."),
		seconds:  set.Histogram("copy_seconds", "Duration of copies that succeeded.", telemetry.Seconds),
		errors:   set.Counters("copy_errors_total", "Copies that failed.", "class", classes...),
		running:  map[*flight]struct{}{},
		success:  time.Now(),
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
	f := &flight{start: time.Now(), size: size}
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
	if err != nil {
		m.errors[status.Of(err).String()].Inc()
		return
	}
	m.copies.Inc()
	m.bytes.Add(f.size)
	m.seconds.Observe(time.Since(f.start).Seconds())
}
