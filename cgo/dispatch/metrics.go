package dispatch

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"runtime/metrics"
	"sort"
	"strings"
	"time"

	"tidemark/internal/telemetry"
)

// ProcessSeries are the series of the process itself: name without prefix and what it says. They stand in every
// instance's snapshot.
var ProcessSeries = []struct{ Name, Help string }{
	{"process_panics_total", "panics recovered at the boundary"},
	{"process_goroutines", "goroutines alive"},
	{"process_threads", "threads of the Go runtime"},
	{"process_heap_bytes", "live and not yet swept heap objects of Go"},
	{"process_memory_bytes", "memory the Go runtime has mapped"},
	{"process_gc_cycles_total", "garbage collections of Go"},
	{"process_slabs", "read buffers shared with the JVM"},
	{"process_slabs_in_use", "read buffers lent to streams"},
	{"process_operations", "operations open"},
	{"process_operation_oldest_seconds", "age of the oldest running call"},
	{"process_streams", "streams open"},
	{"process_log_dropped_total", "log records dropped because nobody fetched them in time"},
	{"process_poisoned", "1 when the instance has stopped itself after repeated panics"},
}

// runtimeNumbers reads the Go runtime's own counters without stopping the world.
func runtimeNumbers() (goroutines, threads, heap, memory, gcs float64) {
	s := []metrics.Sample{
		{Name: "/sched/goroutines:goroutines"}, {Name: "/sched/threads/total:threads"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(s)
	v := make([]float64, len(s))
	for i := range s {
		if s[i].Value.Kind() == metrics.KindUint64 {
			v[i] = float64(s[i].Value.Uint64())
		}
	}
	return v[0], v[1], v[2], v[3], v[4]
}

func (p *Process) oldest() time.Duration {
	now, oldest := p.now(), time.Duration(0)
	p.ops.each(func(op *operation) { oldest = max(oldest, op.age(now)) })
	return oldest
}

func (p *Process) samples(poisoned bool) []telemetry.Sample {
	goroutines, threads, heap, memory, gcs := runtimeNumbers()
	slabs := p.slabs()
	stopped := 0.0
	if poisoned {
		stopped = 1
	}
	values := []float64{
		float64(p.panics.Load()), goroutines, threads, heap, memory, gcs,
		float64(len(slabs.slabs)), float64(slabs.inUse()),
		float64(p.ops.len()), p.oldest().Seconds(), float64(p.streams.len()),
		float64(p.ring.dropped.Load()), stopped,
	}
	out := make([]telemetry.Sample, len(ProcessSeries))
	for i, s := range ProcessSeries {
		out[i] = telemetry.Sample{Name: telemetry.Prefix + s.Name, Help: s.Help, Value: values[i]}
	}
	return out
}

// snapshot is all series of an instance and of the process, by name and labels, and the schema text for them.
func (p *Process) snapshot(h Handle) (schema []byte, samples []telemetry.Sample, err error) {
	i, err := p.instances.get(h)
	if err != nil {
		return nil, nil, err
	}
	samples = p.samples(i.poisoned.Load())
	if !i.poisoned.Load() {
		if err := i.enter(); err != nil {
			return nil, nil, err
		}
		defer i.leave()
		err = i.protect("metrics", func() error {
			own, err := i.impl.Samples()
			samples = append(samples, own...)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	sort.SliceStable(samples, func(a, b int) bool {
		if samples[a].Name != samples[b].Name {
			return samples[a].Name < samples[b].Name
		}
		return samples[a].Labels < samples[b].Labels
	})
	var text strings.Builder
	for _, s := range samples {
		text.WriteString(clean(s.Name, false) + "\t" + clean(s.Labels, false) + "\t" + clean(s.Help, false) + "\n")
	}
	return []byte(text.String()), samples, nil
}

// MetricsSchema is one line "name\tlabels\thelp" per series, in the order of the values of Metrics.
func (p *Process) MetricsSchema(inst Handle) (schema []byte, err error) {
	defer p.guard("metrics schema", &err)
	schema, _, err = p.snapshot(inst)
	return schema, err
}

// Metrics is the CRC32C of the schema that the values belong to, then one float64 per series, all little-endian.
func (p *Process) Metrics(inst Handle) (out []byte, err error) {
	defer p.guard("metrics", &err)
	schema, samples, err := p.snapshot(inst)
	if err != nil {
		return nil, err
	}
	out = binary.LittleEndian.AppendUint32(make([]byte, 0, 4+8*len(samples)), crc32.Checksum(schema, castagnoli))
	for _, s := range samples {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(s.Value))
	}
	return out, nil
}
