package sweep

import (
	"errors"
	"time"

	"tidemark/internal/status"
)

// Config is the settings of the sweep. The zero value is valid and means: no sweep.
type Config struct {
	Interval time.Duration `config:"sweep.interval.ms" default:"86400000" doc:"How often a broker looks for stored segments of the partitions it leads that Kafka's remote log metadata does not know, and for unfinished uploads. What it finds is in the log and in the metrics sweep_*; whether it is removed says sweep.dry.run. A sweep lists the prefix: one request for 1000 objects and two for each partition. 0 = never."`
	DryRun   bool          `config:"sweep.dry.run" default:"true" doc:"Whether a sweep only reports. It is true at first because a sweep believes Kafka's remote log metadata: if that was lost, what a sweep removes cannot be restored from the store any more. Look at one report, then set false: orphans cost money for ever otherwise."`
	Grace    time.Duration `config:"sweep.grace.ms" default:"86400000" doc:"Age below which no object and no upload is touched, by the store's clock. A topic that is gone must also have been missing in two sweeps so far apart. At least 10 s; longer than any copy takes: less than twice copy.deadline.ms is warned of (sweep.grace.short)."`
	Most     int           `config:"sweep.partition.max" default:"100" doc:"Segments that one sweep removes from one partition. If it finds more it removes none of them and says so: so many orphans look like lost metadata. Raise it for a while once you know that they are orphans."`
	Rate     int           `config:"sweep.rate" default:"100" doc:"Objects that a sweep removes in a second, at most."`
}

// DefaultConfig has the documented defaults.
func DefaultConfig() Config {
	return Config{Interval: 24 * time.Hour, DryRun: true, Grace: 24 * time.Hour, Most: 100, Rate: 100}
}

// minGrace is the shortest grace time. Safety does not rest on it: it is longer than Kafka takes from the end of a copy to its
// record of it, so that no copy is given up in between.
const minGrace = 10 * time.Second

// Validate returns all faults at once, each Invalid and naming its key.
func (c Config) Validate() error {
	var faults []error
	bad := func(format string, args ...any) {
		faults = append(faults, status.Errorf(status.Invalid, format, args...))
	}
	if c.Interval != 0 && c.Interval < time.Second {
		bad("sweep.interval.ms is %v, it must be 0 or at least 1s", c.Interval)
	}
	if c.Interval == 0 {
		return errors.Join(faults...)
	}
	if c.Grace < minGrace {
		bad("sweep.grace.ms is %v, at least %v is needed", c.Grace, minGrace)
	}
	if c.Most < 1 || c.Most > 100_000 {
		bad("sweep.partition.max is %d, it must be in [1, 100000]", c.Most)
	}
	if c.Rate < 1 || c.Rate > 100_000 {
		bad("sweep.rate is %d, it must be in [1, 100000]", c.Rate)
	}
	return errors.Join(faults...)
}
