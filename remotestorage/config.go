package remotestorage

import (
	"errors"
	"path/filepath"
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
	CopyParallel      int           `config:"copy.parallel" default:"10" doc:"Segments copied at the same time. More than Kafka's remote.log.manager.copier.thread.pool.size has no effect."`
	CopyDeadline      time.Duration `config:"copy.deadline.ms" default:"120000" doc:"Longest time a copy may take beside the time its bytes take at copy.min.rate. A copy that does not end blocks the tiering of its partition."`
	CopyMinRate       int64         `config:"copy.min.rate" default:"1048576" doc:"Slowest progress of a copy that is still waited for."`
	CopyMaxRate       int64         `config:"copy.max.bytes.per.second" default:"0" doc:"Bytes per second that all copies of this broker together send to the store at most, and read from local segments at most to check them: 0 = no limit, else at least 1048576. Time that a copy waits for it does not count towards its deadline. Unlike remote.log.manager.copy.max.bytes.per.second, which decides when a segment may begin, it holds within a segment too."`
	CleanupDeadline   time.Duration `config:"copy.cleanup.deadline.ms" default:"20000" doc:"Longest time to remove the objects of a failed copy before it is left to the background."`
	ChunkBytes        int           `config:"segment.chunk.bytes" default:"1048576" doc:"Unit of checking and caching of new segments, in bytes: 65536 to 67108864. The first read at a position fetches one chunk; a consumer that reads in sequence gets many with one GET."`
	Compression       string        `config:"segment.compression" default:"none" doc:"How new segments are compressed in the store: none or zstd. What the producer or the topic compressed is left as it is; where plain and compressed batches alternate within a quarter of a chunk, the chunk is compressed if half of it is plain. Brokers of a release before this setting cannot read such segments."`
	CompressionLevel  int           `config:"segment.compression.level" default:"1" doc:"Level of zstd, 1 to 19. There are four steps: 1 and 2, 3 to 5, 6 to 9, 10 and above. Higher levels cost much CPU for little space."`
	KeysFile          string        `config:"segment.encryption.keys.file" optional:"true" doc:"Key ring: an absolute path to a file, readable by the broker's user only, with the keys that wrap the data key of each segment. New segments are encrypted with AES-256-GCM; every broker needs all keys that stored segments were encrypted with. Unset: new segments are not encrypted."`
	EncryptNew        bool          `config:"segment.encryption.new.segments" default:"true" doc:"Whether new segments are encrypted when segment.encryption.keys.file is set. false: the key ring is for reading only, while it is being brought to all brokers or until the last encrypted segment has expired."`
	TransformParallel int           `config:"segment.transform.parallel" default:"0" doc:"Segments that are compressed or encrypted at the same time, one CPU each. 0 is half of the CPUs."`
	ScratchBytes      int64         `config:"segment.scratch.max.bytes" default:"10737418240" doc:"Disk in local.dir for compressed or encrypted segments on their way to the store, in bytes. A copy that finds none free waits."`
	HoldMaxBytes      int64         `config:"hold.max.bytes" default:"10737418240" doc:"Disk that segments waiting for their table may keep after local retention, in bytes per broker. Beyond it the stored segment is read back instead. 0 = no hold files."`
	HandOverTimeout   time.Duration `config:"handover.timeout.ms" default:"2000" doc:"Longest time that handing a copied segment to the table side may delay the return of the copy."`
	Fetch             fetch.Config
	DiskCache         diskcache.Config
	Reclaim           reclaim.Config
}

// DefaultConfig has the documented defaults; local.dir has none.
func DefaultConfig() Config {
	return Config{
		CopyParallel: 10, CopyDeadline: 2 * time.Minute, CopyMinRate: 1 << 20, CleanupDeadline: 20 * time.Second,
		ChunkBytes: 1 << 20, Compression: CompressionNone, CompressionLevel: 1, EncryptNew: true, ScratchBytes: 10 << 30, HoldMaxBytes: 10 << 30, HandOverTimeout: 2 * time.Second,
		Fetch: fetch.DefaultConfig(), DiskCache: diskcache.DefaultConfig(), Reclaim: reclaim.DefaultConfig(),
	}
}

// minLimit is the least rate that copies may be limited to.
const minLimit = 1 << 20

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
	if c.CopyMaxRate != 0 && c.CopyMaxRate < minLimit {
		bad("copy.max.bytes.per.second is %d, it must be 0 or at least %d", c.CopyMaxRate, minLimit)
	}
	if c.CleanupDeadline < time.Second {
		bad("copy.cleanup.deadline.ms is %v, at least 1s is needed", c.CleanupDeadline)
	}
	if c.ChunkBytes < stored.MinChunkSize || c.ChunkBytes > stored.MaxChunkSize {
		bad("segment.chunk.bytes is %d, it must be in [%d, %d]", c.ChunkBytes, stored.MinChunkSize, stored.MaxChunkSize)
	}
	if c.Compression != CompressionNone && c.Compression != CompressionZstd {
		bad("segment.compression is %q, it must be none or zstd", c.Compression)
	}
	if c.CompressionLevel < stored.MinLevel || c.CompressionLevel > stored.MaxLevel {
		bad("segment.compression.level is %d, it must be in [%d, %d]", c.CompressionLevel, stored.MinLevel, stored.MaxLevel)
	}
	if c.KeysFile != "" && !filepath.IsAbs(c.KeysFile) {
		bad("segment.encryption.keys.file is %q, it must be an absolute path", c.KeysFile)
	}
	if c.TransformParallel < 0 || c.TransformParallel > 1000 {
		bad("segment.transform.parallel is %d, it must be in [0, 1000]", c.TransformParallel)
	}
	if c.ScratchBytes < 1<<20 {
		bad("segment.scratch.max.bytes is %d, at least 1048576 is needed", c.ScratchBytes)
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
