package fetch

import (
	"errors"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// Config is the settings of reading. The zero value is invalid; DefaultConfig has the documented defaults.
type Config struct {
	CacheBytes   int64         `config:"fetch.cache.bytes" default:"134217728" doc:"Memory for segment chunks, cached and on their way, in bytes. Each concurrent reader needs one chunk (segment.chunk.bytes of the writer); more memory saves GETs when consumers re-read."`
	SidecarBytes int64         `config:"fetch.sidecar.cache.bytes" default:"67108864" doc:"Memory for sidecars (indexes and manifests), in bytes. A sidecar in the cache saves one GET per first read of a segment."`
	Deadline     time.Duration `config:"fetch.deadline.ms" default:"60000" doc:"Longest time one chunk or sidecar may take, retries included, beside the time its bytes take at fetch.min.rate."`
	MinRate      int64         `config:"fetch.min.rate" default:"262144" doc:"Slowest progress of a read that is still waited for."`
}

// DefaultConfig has the documented defaults.
func DefaultConfig() Config {
	return Config{CacheBytes: 128 << 20, SidecarBytes: 64 << 20, Deadline: time.Minute, MinRate: 256 << 10}
}

// Smallest budgets: below them one reader would wait for another all the time.
const (
	minCacheBytes   = 16 << 20
	minSidecarBytes = 4 << 20
)

// Validate returns all faults at once, each Invalid and naming its key.
func (c Config) Validate() error {
	var faults []error
	if c.CacheBytes < minCacheBytes {
		faults = append(faults, status.Errorf(status.Invalid, "fetch.cache.bytes is %d, at least %d is needed", c.CacheBytes, minCacheBytes))
	}
	if c.SidecarBytes < minSidecarBytes {
		faults = append(faults, status.Errorf(status.Invalid, "fetch.sidecar.cache.bytes is %d, at least %d is needed", c.SidecarBytes, minSidecarBytes))
	}
	if c.Deadline < time.Second {
		faults = append(faults, status.Errorf(status.Invalid, "fetch.deadline.ms is %v, at least 1s is needed", c.Deadline))
	}
	if c.MinRate < 1 {
		faults = append(faults, status.Errorf(status.Invalid, "fetch.min.rate is %d, it must be positive", c.MinRate))
	}
	return errors.Join(faults...)
}

func (c Config) pace() budget.Pace { return budget.Pace{Floor: c.Deadline, MinRate: c.MinRate} }
