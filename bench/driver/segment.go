package driver

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"tidemark/bench/workload"
	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
)

// Segment is the files of one segment in a folder of its own.
type Segment struct {
	ID           int64 // also the number of its partition
	Base, End    int64 // offsets, inclusive
	MaxTimestamp int64
	Dir, Log     string
	Size         int64
	content      []byte // kept for checksums of ranges, one for all segments with equal records
}

// batchBytes is about what a producer's batch holds.
const batchBytes = 16 << 10

// WriteSegments writes n segments of about size bytes below dir, with uncompressed batches of 16 KiB of one kind of data. IDs begin at first.
// Segments after the first are hard links of its files: the same bytes in n partitions.
func WriteSegments(dir string, first int64, n int, size int64, partition int32) ([]Segment, error) {
	set, err := workload.New(11, int(partition)+1, (size+1024)*int64(partition+1))
	if err != nil {
		return nil, err
	}
	s := logtest.NewSegment(0)
	s.Epochs = []kafkalog.EpochStart{{}}
	now := time.Now().UnixMilli()
	var last int64
	for i := int64(0); int64(len(s.Log)) < size; {
		b := logtest.Batch{Base: s.Next()}
		for held := 0; held < batchBytes && i < set.Count(partition); i++ {
			key, value := set.Record(partition, i)
			b.Records = append(b.Records, kafkalog.Record{Offset: i, Timestamp: now, Key: key, Value: value})
			held += len(key) + len(value)
		}
		if len(b.Records) == 0 {
			break
		}
		last = i - 1
		s.Add(b)
	}
	var all []Segment
	var origin logtest.Files
	for i := range n {
		g := Segment{ID: first + int64(i), Base: 0, End: last, MaxTimestamp: now, Dir: filepath.Join(dir, fmt.Sprint("segment-", first+int64(i))), Size: int64(len(s.Log)), content: s.Log}
		if err := os.MkdirAll(g.Dir, 0o755); err != nil {
			return nil, err
		}
		if i == 0 {
			if origin, err = s.Write(g.Dir); err != nil {
				return nil, err
			}
		} else {
			for _, f := range []string{origin.Log, origin.OffsetIndex, origin.TimeIndex, origin.ProducerSnapshot} {
				if err := os.Link(f, filepath.Join(g.Dir, filepath.Base(f))); err != nil && !os.IsExist(err) {
					return nil, err
				}
			}
		}
		g.Log = filepath.Join(g.Dir, filepath.Base(origin.Log))
		all = append(all, g)
	}
	return all, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum is the CRC32C of bytes start to end, inclusive; end -1 is the last one.
func (s Segment) Sum(start, end int64) uint32 {
	if end < 0 || end >= s.Size {
		end = s.Size - 1
	}
	return crc32.Checksum(s.content[start:end+1], castagnoli)
}

// Bytes are the bytes of the log file; callers only read them.
func (s Segment) Bytes() []byte { return s.content }
