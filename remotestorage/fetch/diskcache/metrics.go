package diskcache

import "tidemark/internal/telemetry"

type metrics struct {
	hits, misses              telemetry.Counter
	busy, bypassed, oversized telemetry.Counter
	read, written, damaged    telemetry.Counter
	evicted, rescued, deleted telemetry.Counter
}

func newMetrics(set *telemetry.Set, c *Cache) *metrics {
	lookups := set.Counters("fetch_disk_lookups_total", "Lookups of chunks in the disk cache: hit, miss. The fetch_disk metrics are there only with fetch.disk.cache.dir.", "result", "hit", "miss")
	dropped := set.Counters("fetch_disk_dropped_chunks_total", "Chunks that were not kept on disk: busy (the disk is slower than they come), bypassed (the cache is out of use, see fetch_disk_usable), oversized.",
		"reason", "busy", "bypassed", "oversized")
	m := &metrics{
		hits: lookups["hit"], misses: lookups["miss"],
		busy: dropped["busy"], bypassed: dropped["bypassed"], oversized: dropped["oversized"],
		read:    set.Counter("fetch_disk_read_bytes_total", "Bytes of chunks served from the disk cache."),
		written: set.Counter("fetch_disk_written_bytes_total", "Bytes written to the disk cache."),
		damaged: set.Counter("fetch_disk_damaged_blocks_total", "Blocks of the disk cache that could not be read or did not match their checksum; they were read from the store instead. More than a few after a power failure mean a failing disk."),
		evicted: set.Counter("fetch_disk_evicted_blocks_total", "Blocks that made room for newer ones."),
		deleted: set.Counter("fetch_disk_deleted_blocks_total", "Blocks that were given up because their segment was deleted."),
		rescued: set.Counter("fetch_disk_rescued_blocks_total", "Blocks that were read since they were written and were therefore kept when their file made room."),
	}
	set.GaugeFunc("fetch_disk_bytes", "Disk in use by the disk cache, in bytes.", func() float64 { b, _ := c.used(); return b })
	set.GaugeFunc("fetch_disk_blocks", "Chunks in the disk cache.", func() float64 { _, n := c.used(); return n })
	set.GaugeFunc("fetch_disk_usable", "1 when chunks are kept on disk; 0 when the disk cache is bypassed because its disk is full, read-only, failing, gone or in use by another instance.", c.state)
	return m
}
