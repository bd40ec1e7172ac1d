package broker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"tidemark/bench/measure"
)

// AwaitTiered waits until all closed segments of a topic are in the store, by what the broker says (ListOffsets, KIP-1005).
func (b *Broker) AwaitTiered(ctx context.Context, topic string) error {
	return Poll(ctx, func() error { return b.Tiered(ctx, topic) })
}

// Tiered returns nil when all closed segments of a topic are in the store, else what is missing.
func (b *Broker) Tiered(ctx context.Context, topic string) error {
	listed, err := b.Admin.ListLatestRemoteOffsets(ctx, topic)
	if err != nil {
		return err
	}
	active, err := b.activeSegments(topic)
	if err != nil {
		return err
	}
	for p, base := range active {
		if got, _ := listed.Lookup(topic, p); base > 0 && (got.Err != nil || got.Offset < base-1) {
			return fmt.Errorf("partition %d is tiered up to offset %d, its closed segments end at %d (%v)", p, got.Offset, base-1, got.Err)
		}
	}
	return nil
}

// activeSegments is the base offset of the newest segment by partition.
func (b *Broker) activeSegments(topic string) (map[int32]int64, error) {
	files, err := b.segments(topic, "*.log")
	if err != nil {
		return nil, err
	}
	active := map[int32]int64{}
	for _, f := range files {
		p, base, err := segmentOf(f)
		if err != nil {
			return nil, err
		}
		active[p] = max(active[p], base)
	}
	return active, nil
}

// segmentOf is the partition and base offset of a segment file.
func segmentOf(file string) (partition int32, base int64, err error) {
	dir := filepath.Base(filepath.Dir(file))
	p, err := strconv.ParseInt(dir[strings.LastIndexByte(dir, '-')+1:], 10, 32)
	if err != nil {
		return 0, 0, err
	}
	base, err = strconv.ParseInt(strings.TrimSuffix(filepath.Base(file), ".log"), 10, 64)
	return int32(p), base, err
}

// ClosedBytes is the size of all closed segments of a topic on the broker's disk, LogBytes that of all segments.
func (b *Broker) ClosedBytes(topic string) (int64, error) { return b.bytes(topic, false) }

// LogBytes: see ClosedBytes.
func (b *Broker) LogBytes(topic string) (int64, error) { return b.bytes(topic, true) }

func (b *Broker) bytes(topic string, all bool) (int64, error) {
	files, err := b.segments(topic, "*.log")
	if err != nil {
		return 0, err
	}
	active, err := b.activeSegments(topic)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, f := range files {
		p, base, err := segmentOf(f)
		if err != nil {
			return 0, err
		}
		if info, err := os.Stat(f); err == nil && (all || base != active[p]) {
			sum += info.Size()
		}
	}
	return sum, nil
}

func (b *Broker) segments(topic, pattern string) ([]string, error) {
	return filepath.Glob(filepath.Join(b.Node.LogDirs[0], topic+"-*", pattern))
}

// Empty lets local retention pass and waits until no byte of the topic is left on the broker's disk.
func (b *Broker) Empty(ctx context.Context, topic string) error {
	if err := b.Alter(ctx, topic, map[string]string{"local.retention.ms": "1"}); err != nil {
		return err
	}
	return Poll(ctx, func() error {
		files, err := b.segments(topic, "*.log*") // with those renamed for deletion
		var left int64
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				left += info.Size()
			}
		}
		if err == nil && left > 0 {
			err = fmt.Errorf("%d bytes of %s are still on the broker's disk", left, topic)
		}
		return err
	})
}

// DropCache takes the data of a topic out of the page cache: what the store keeps on this machine for a tiered one, else its log segments.
// stores are the directories of object servers beside the broker's own.
func (b *Broker) DropCache(topic string, stores ...string) (measure.Dropped, error) {
	if !b.Plugin.Tiered {
		return measure.DropCache(b.Node.LogDirs[0], func(path string) bool {
			return strings.HasPrefix(filepath.Base(filepath.Dir(path)), topic+"-") && filepath.Ext(path) == ".log"
		})
	}
	var all measure.Dropped
	for _, dir := range append([]string{filepath.Join(b.Cluster.Dir(), "store")}, stores...) {
		d, err := measure.DropCache(dir, func(string) bool { return true })
		if err != nil {
			return all, err
		}
		all.Files += d.Files
		all.Bytes += d.Bytes
		if d.Left < 0 || all.Left < 0 {
			all.Left = -1
		} else {
			all.Left += d.Left
		}
	}
	return all, nil
}
