package diskcache

import (
	"errors"
	"path/filepath"

	"tidemark/internal/status"
)

// Config is the settings of the cache. The zero value means: no cache.
type Config struct {
	Dir   string `config:"fetch.disk.cache.dir" optional:"true" doc:"Directory of the disk cache for chunks and sidecars of segments, an absolute path outside of every log.dirs entry, for this broker alone. It survives restarts. Unset: no disk cache. A disk that fails or is full costs the cache, never a read."`
	Bytes int64  `config:"fetch.disk.cache.bytes" default:"10737418240" doc:"Disk that the cache may use, in bytes, at least 536870912. Chunks above 16 MiB are not cached on disk. About 200 bytes of memory per chunk are needed."`
}

// MinBytes is the smallest cache.
const MinBytes = 512 << 20

// DefaultConfig has the documented defaults.
func DefaultConfig() Config { return Config{Bytes: 10 << 30} }

// Validate returns all faults at once, each Invalid and naming its key.
func (c Config) Validate() error {
	var faults []error
	if c.Dir != "" && !filepath.IsAbs(c.Dir) {
		faults = append(faults, status.Errorf(status.Invalid, "fetch.disk.cache.dir is %q, an absolute path is needed", c.Dir))
	}
	if c.Dir != "" && c.Bytes < MinBytes {
		faults = append(faults, status.Errorf(status.Invalid, "fetch.disk.cache.bytes is %d, at least %d is needed", c.Bytes, MinBytes))
	}
	return errors.Join(faults...)
}

// sizes are what follows from the configuration.
type sizes struct {
	capacity int64
	slab     int64 // largest file
	stage    int   // each of the two buffers
}

// A slab is a sixteenth of the cache, so that eviction takes little at once, and at least two stages large, so that every
// block that fits a stage fits a slab.
const (
	stageBytes   = 16 << 20
	minSlabBytes = 2 * stageBytes
	maxSlabBytes = 1 << 30
)

func (c Config) sizes() sizes {
	return sizes{capacity: c.Bytes, slab: min(max(c.Bytes/16, minSlabBytes), maxSlabBytes), stage: stageBytes}
}
