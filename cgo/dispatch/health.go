package dispatch

import (
	"fmt"
	"strings"
	"time"
)

// Fact is one line of the health report.
type Fact struct {
	Key   string
	Value any
}

// Health is the state of the process as lines key=value. It answers before Init too.
func (p *Process) Health() (out []byte, err error) {
	defer p.guard("health", &err)
	goroutines, threads, heap, memory, gcs := runtimeNumbers()
	poisoned := 0
	p.instances.each(func(i *instance) {
		if i.poisoned.Load() {
			poisoned++
		}
	})
	facts := []Fact{
		{"version", p.cfg.Version}, {"abi", ABI}, {"uptime_seconds", int64(p.now().Sub(p.started) / time.Second)},
		{"panics", p.panics.Load()}, {"instances", p.instances.len()}, {"poisoned", poisoned},
		{"operations", p.ops.len()}, {"operation_oldest_ms", p.oldest().Milliseconds()}, {"streams", p.streams.len()},
		{"goroutines", int64(goroutines)}, {"threads", int64(threads)}, {"heap_bytes", int64(heap)},
		{"memory_bytes", int64(memory)}, {"gc_cycles", int64(gcs)}, {"log_dropped", p.ring.dropped.Load()},
	}
	if s := p.slabs(); s != nil {
		facts = append(facts, Fact{"slabs", len(s.slabs)}, Fact{"slabs_in_use", s.inUse()})
	}
	if p.cfg.Probe != nil {
		facts = append(facts, p.cfg.Probe()...)
	}
	var text strings.Builder
	for _, f := range facts {
		text.WriteString(clean(fmt.Sprintf("%s=%v", f.Key, f.Value), false) + "\n")
	}
	return []byte(text.String()), nil
}
