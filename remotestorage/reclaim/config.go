package reclaim

import (
	"errors"
	"path/filepath"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// Config is the settings of deletion. The zero value is invalid; DefaultConfig has the documented defaults.
type Config struct {
	Dir        string        `config:"local.dir" doc:"Directory of the plugin's own files on this broker, an absolute path outside of every log.dirs entry. Holds the journal of deletes; must survive a restart."`
	Interval   time.Duration `config:"delete.interval.ms" default:"10000" doc:"How often objects of deleted segments that are still held are looked at again. A delete that is not held begins at once."`
	Batch      int           `config:"delete.batch" default:"1000" doc:"Segments whose objects are removed with one pair of requests to the store, where the store can delete in batches."`
	MaxBackoff time.Duration `config:"delete.backoff.max.ms" default:"300000" doc:"Longest pause between attempts while the store refuses deletes."`
	Deadline   time.Duration `config:"delete.deadline.ms" default:"60000" doc:"Longest time one request to remove a batch may take, retries included."`
}

// DefaultConfig has the documented defaults; Dir has none.
func DefaultConfig() Config {
	return Config{Interval: 10 * time.Second, Batch: 1000, MaxBackoff: 5 * time.Minute, Deadline: time.Minute}
}

// Validate returns all faults at once, each Invalid and naming its key.
func (c Config) Validate() error {
	var faults []error
	bad := func(format string, args ...any) {
		faults = append(faults, status.Errorf(status.Invalid, format, args...))
	}
	if !filepath.IsAbs(c.Dir) {
		bad("local.dir is %q, it must be an absolute path", c.Dir)
	}
	if c.Interval < 10*time.Millisecond {
		bad("delete.interval.ms is %v, at least 10ms is needed", c.Interval)
	}
	if c.Batch < 1 || c.Batch > 1000 {
		bad("delete.batch is %d, it must be in [1, 1000]", c.Batch)
	}
	if c.MaxBackoff < c.Interval {
		bad("delete.backoff.max.ms is %v, less than delete.interval.ms %v", c.MaxBackoff, c.Interval)
	}
	if c.Deadline < time.Second {
		bad("delete.deadline.ms is %v, at least 1s is needed", c.Deadline)
	}
	return errors.Join(faults...)
}

// pace is for requests, whose bytes do not matter.
func (c Config) pace() budget.Pace { return budget.Pace{Floor: c.Deadline, MinRate: 1 << 30} }
