package fetch

import (
	"errors"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/status"
)

// Config is the settings of reading. The zero value is invalid; DefaultConfig has the documented defaults.
type Config struct {
	CacheBytes   int64         `config:"fetch.cache.bytes" default:"268435456" doc:"Memory for segment chunks, cached and on their way, in bytes, outside of the JVM's heap. Each concurrent reader needs one chunk (segment.chunk.bytes of the writer); more memory makes GETs larger when many partitions are read, and saves GETs when consumers re-read."`
	ReadAhead    int64         `config:"fetch.read.ahead.bytes" default:"67108864" doc:"How far ahead of a consumer that reads in sequence segments are fetched at most, in bytes; 0 fetches only what is asked for. All consumers together get three quarters of fetch.cache.bytes."`
	GetBytes     int64         `config:"fetch.get.max.bytes" default:"33554432" doc:"Largest ranged GET, in bytes. GETs grow up to it while a consumer reads in sequence, whatever segment.chunk.bytes is."`
	ParallelGets int           `config:"fetch.parallel.gets" default:"64" doc:"Most GETs at once on this broker; half of them are kept for bytes that somebody waits for."`
	Hedge        bool          `config:"fetch.hedge" default:"true" doc:"Ask a second time for bytes that somebody waits for when the first GET stands still for longer than 95 % of them take, or four times as long as half of them do. At most one GET in ten; none after calls of the store failed for good."`
	SidecarBytes int64         `config:"fetch.sidecar.cache.bytes" default:"67108864" doc:"Memory for sidecars (indexes and manifests), in bytes. A sidecar in the cache saves one GET per first read of a segment."`
	Deadline     time.Duration `config:"fetch.deadline.ms" default:"60000" doc:"Longest time one chunk or sidecar may take, retries included, beside the time its bytes take at fetch.min.rate."`
	MinRate      int64         `config:"fetch.min.rate" default:"262144" doc:"Slowest progress of a read that is still waited for, in bytes per second. The body of a GET from S3 that stays behind it for ten seconds is ended, and its rest is asked for again."`
}

// DefaultConfig has the documented defaults.
func DefaultConfig() Config {
	return Config{CacheBytes: 256 << 20, ReadAhead: 64 << 20, GetBytes: 32 << 20, ParallelGets: 64, Hedge: true, SidecarBytes: 64 << 20, Deadline: time.Minute, MinRate: 256 << 10}
}

// Smallest budgets: below them one reader would wait for another all the time.
const (
	minCacheBytes   = 16 << 20
	minSidecarBytes = 4 << 20
	minGetBytes     = 1 << 20
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
	if c.ReadAhead < 0 {
		faults = append(faults, status.Errorf(status.Invalid, "fetch.read.ahead.bytes is %d, it must not be negative", c.ReadAhead))
	}
	if c.GetBytes < minGetBytes {
		faults = append(faults, status.Errorf(status.Invalid, "fetch.get.max.bytes is %d, at least %d is needed", c.GetBytes, minGetBytes))
	}
	if c.ParallelGets < 1 {
		faults = append(faults, status.Errorf(status.Invalid, "fetch.parallel.gets is %d, it must be positive", c.ParallelGets))
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
