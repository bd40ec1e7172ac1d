package remotestorage

import (
	"errors"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/status"
	"tidemark/remotestorage/fetch"
	"tidemark/remotestorage/fetch/diskcache"
	"tidemark/remotestorage/reclaim"
	"tidemark/remotestorage/stored"
)

// Config is the settings of tiering. The zero value is invalid; DefaultConfig has the documented defaults.
type Config struct {
	CopyParallel    int           `config:"copy.parallel" default:"10" doc:"Segments copied at the same time. More than Kafka's remote.log.manager.copier.thread.pool.size has no effect."`
	CopyDeadline    time.Duration `config:"copy.deadline.ms" default:"120000" doc:"Longest time a copy may take beside the time its bytes take at copy.min.rate. A copy that does not end blocks the tiering of its partition."`
	CopyMinRate     int64         `config:"copy.min.rate" default:"1048576" doc:"Slowest progress of a copy that is still waited for."`
	CleanupDeadline time.Duration `config:"copy.cleanup.deadline.ms" default:"20000" doc:"Longest time to remove the objects of a failed copy before it is left to the background."`
	ChunkBytes      int           `config:"segment.chunk.bytes" default:"1048576" doc:"Unit of checking and caching of new segments, in bytes: 65536 to 67108864. The first read at a position fetches one chunk; a consumer that reads in sequence gets many with one GET."`
	HoldMaxBytes    int64         `config:"hold.max.bytes" default:"10737418240" doc:"Disk that segments waiting for their table may keep after local retention, in bytes per broker. Beyond it the stored segment is read back instead. 0 = no hold files."`
	HandOverTimeout time.Duration `config:"handover.timeout.ms" default:"2000" doc:"Longest time that handing a copied segment to the table side may delay the return of the copy."`
	Fetch           fetch.Config
	DiskCache       diskcache.Config
	Reclaim         reclaim.Config
}

// DefaultConfig has the documented defaults; local.dir has none.
func DefaultConfig() Config {
	return Config{
		CopyParallel: 10, CopyDeadline: 2 * time.Minute, CopyMinRate: 1 << 20, CleanupDeadline: 20 * time.Second,
		ChunkBytes: 1 << 20, HoldMaxBytes: 10 << 30, HandOverTimeout: 2 * time.Second,
		Fetch: fetch.DefaultConfig(), DiskCache: diskcache.DefaultConfig(), Reclaim: reclaim.DefaultConfig(),
	}
}

// Validate returns all faults at once, each Invalid and naming its key.
func (c Config) Validate() error {
	var faults []error
	bad := func(format string, args ...any) {
		faults = append(faults, status.Errorf(status.Invalid, format, args...))
	}
	if c.CopyParallel < 1 || c.CopyParallel > 1000 {
		bad("copy.parallel is %d, it must be in [1, 1000]", c.CopyParallel)
	}
	if c.CopyDeadline < time.Second {
		bad("copy.deadline.ms is %v, at least 1s is needed", c.CopyDeadline)
	}
	if c.CopyMinRate < 1 {
		bad("copy.min.rate is %d, it must be positive", c.CopyMinRate)
	}
	if c.CleanupDeadline < time.Second {
		bad("copy.cleanup.deadline.ms is %v, at least 1s is needed", c.CleanupDeadline)
	}
	if c.ChunkBytes < stored.MinChunkSize || c.ChunkBytes > stored.MaxChunkSize {
		bad("segment.chunk.bytes is %d, it must be in [%d, %d]", c.ChunkBytes, stored.MinChunkSize, stored.MaxChunkSize)
	}
	if c.HoldMaxBytes < 0 {
		bad("hold.max.bytes is %d, it must not be negative", c.HoldMaxBytes)
	}
	if c.HandOverTimeout <= 0 || c.HandOverTimeout > time.Minute {
		bad("handover.timeout.ms is %v, it must be above 0 and at most 1m", c.HandOverTimeout)
	}
	return errors.Join(append(faults, c.Fetch.Validate(), c.DiskCache.Validate(), c.Reclaim.Validate())...)
}

func (c Config) copyPace() budget.Pace {
	return budget.Pace{Floor: c.CopyDeadline, MinRate: c.CopyMinRate}
}
