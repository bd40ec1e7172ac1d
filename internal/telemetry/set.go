package telemetry

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// Prefix starts the Prometheus name of every series.
const Prefix = "tidemark_"

// Set is the metrics of one plugin instance.
type Set struct {
	registry *prometheus.Registry

	mu    sync.Mutex
	known []Description
}

// Description is what a set knows about one metric before there is a value.
type Description struct {
	Name   string // with the prefix
	Kind   string // counter, gauge or histogram
	Labels []string
	Values []string // of the label of a counter, where all are known
	Help   string
}

// describe notes a metric that was registered.
func (s *Set) describe(name, kind, help string, labels, values []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = append(s.known, Description{Prefix + name, kind, labels, values, help})
}

// Descriptions are all metrics of the set by name.
func (s *Set) Descriptions() []Description {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.known)
	slices.SortFunc(out, func(a, b Description) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// NewSet makes an empty set.
func NewSet() *Set { return &Set{registry: prometheus.NewRegistry()} }

// Counter is a number that only grows.
type Counter struct{ c prometheus.Counter }

// Inc adds one.
func (c Counter) Inc() { c.c.Inc() }

// Add adds n, which must not be negative.
func (c Counter) Add(n int64) { c.c.Add(float64(n)) }

// AddSeconds adds a duration, in seconds.
func (c Counter) AddSeconds(d time.Duration) { c.c.Add(d.Seconds()) }

// Gauge is a number that moves both ways.
type Gauge struct{ g prometheus.Gauge }

// Set replaces the value.
func (g Gauge) Set(v float64) { g.g.Set(v) }

// Add adds v, which may be negative.
func (g Gauge) Add(v float64) { g.g.Add(v) }

// Histogram is a distribution.
type Histogram struct{ h prometheus.Observer }

// Observe records one value, in the unit of the metric's name.
func (h Histogram) Observe(v float64) { h.h.Observe(v) }

// Counter registers a counter. The name is <subsystem>_<noun>_<unit>_total without the prefix.
// A name registered twice is a programming error and panics.
func (s *Set) Counter(name, help string) Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: Prefix + name, Help: help})
	s.registry.MustRegister(c)
	s.describe(name, "counter", help, nil, nil)
	return Counter{c}
}

// CounterFunc registers a counter that is kept elsewhere and asked for when it is read. f must be fast, must not block and must never fall.
func (s *Set) CounterFunc(name, help string, f func() float64) {
	s.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: Prefix + name, Help: help}, f))
	s.describe(name, "counter", help, nil, nil)
}

// Counters registers one counter per value of a label, all of which exist from the start.
func (s *Set) Counters(name, help, label string, values ...string) map[string]Counter {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: Prefix + name, Help: help}, []string{label})
	s.registry.MustRegister(v)
	s.describe(name, "counter", help, []string{label}, values)
	out := make(map[string]Counter, len(values))
	for _, value := range values {
		out[value] = Counter{v.WithLabelValues(value)}
	}
	return out
}

// Gauge registers a gauge.
func (s *Set) Gauge(name, help string) Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Name: Prefix + name, Help: help})
	s.registry.MustRegister(g)
	s.describe(name, "gauge", help, nil, nil)
	return Gauge{g}
}

// GaugeFunc registers a gauge whose value is asked for when it is read. f must be fast and must not block.
func (s *Set) GaugeFunc(name, help string, f func() float64) {
	s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: Prefix + name, Help: help}, f))
	s.describe(name, "gauge", help, nil, nil)
}

// GaugeVec registers a family of gauges whose label values come and go (tables, partitions).
func (s *Set) GaugeVec(name, help string, labels ...string) *GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: Prefix + name, Help: help}, labels)
	s.registry.MustRegister(v)
	s.describe(name, "gauge", help, labels, nil)
	return &GaugeVec{v}
}

// GaugeVec is a family of gauges.
type GaugeVec struct{ v *prometheus.GaugeVec }

// With returns the gauge of these label values, making it if need be.
func (v *GaugeVec) With(values ...string) Gauge { return Gauge{v.v.WithLabelValues(values...)} }

// Forget removes the gauge of these label values.
func (v *GaugeVec) Forget(values ...string) { v.v.DeleteLabelValues(values...) }

// Seconds are histogram buckets for latencies, from 1 ms to about 2 min.
var Seconds = prometheus.ExponentialBuckets(0.001, 2, 18)

// Histogram registers a histogram with the given upper bounds.
func (s *Set) Histogram(name, help string, buckets []float64) Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: Prefix + name, Help: help, Buckets: buckets})
	s.registry.MustRegister(h)
	s.describe(name, "histogram", help, nil, nil)
	return Histogram{h}
}

// Histograms registers one histogram per value of a label, all of which exist from the start.
func (s *Set) Histograms(name, help string, buckets []float64, label string, values ...string) map[string]Histogram {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: Prefix + name, Help: help, Buckets: buckets}, []string{label})
	s.registry.MustRegister(v)
	s.describe(name, "histogram", help, []string{label}, values)
	out := make(map[string]Histogram, len(values))
	for _, value := range values {
		out[value] = Histogram{v.WithLabelValues(value)}
	}
	return out
}

// Sample is one number of a snapshot. Labels is "" or "k=v,k=v" in label order; Help is one line.
type Sample struct {
	Name   string
	Labels string
	Help   string
	Value  float64
}

// Snapshot returns all series, sorted by name and labels. A histogram gives <name>_count and <name>_sum.
func (s *Set) Snapshot() ([]Sample, error) {
	families, err := s.registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather metrics: %w", err)
	}
	var out []Sample
	for _, f := range families {
		help := f.GetHelp()
		for _, m := range f.GetMetric() {
			labels := labelText(m.GetLabel())
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				out = append(out, Sample{f.GetName(), labels, help, m.GetCounter().GetValue()})
			case dto.MetricType_GAUGE:
				out = append(out, Sample{f.GetName(), labels, help, m.GetGauge().GetValue()})
			case dto.MetricType_HISTOGRAM:
				h := m.GetHistogram()
				out = append(out, Sample{f.GetName() + "_count", labels, help, float64(h.GetSampleCount())},
					Sample{f.GetName() + "_sum", labels, help, h.GetSampleSum()})
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Name != out[j].Name {
			return out[i].Name < out[j].Name
		}
		return out[i].Labels < out[j].Labels
	})
	return out, nil
}

func labelText(pairs []*dto.LabelPair) string {
	parts := make([]string, len(pairs))
	for i, p := range pairs {
		parts[i] = p.GetName() + "=" + p.GetValue()
	}
	return strings.Join(parts, ",")
}

// WriteText writes all series in the Prometheus text format.
func (s *Set) WriteText(w io.Writer) error {
	families, err := s.registry.Gather()
	if err != nil {
		return fmt.Errorf("gather metrics: %w", err)
	}
	enc := expfmt.NewEncoder(w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return fmt.Errorf("write metric %s: %w", f.GetName(), err)
		}
	}
	return nil
}
