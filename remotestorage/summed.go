package remotestorage

import (
	"sort"

	"tidemark/internal/objectstore"
	"tidemark/remotestorage/stored"
)

// summed is a log object whose chunks were summed when the batches were checked: the store compares what it gets with what was checked, and the
// file is read once less.
type summed struct {
	objectstore.Source
	chunks []stored.Chunk
}

var _ objectstore.Summed = summed{}

// CRC32C is known for ranges of whole chunks.
func (s summed) CRC32C(offset, length int64) (crc uint32, ok bool) {
	i := sort.Search(len(s.chunks), func(i int) bool { return s.chunks[i].Stored >= offset })
	for at := offset; at < offset+length; i++ {
		if i == len(s.chunks) || s.chunks[i].Stored != at {
			return 0, false
		}
		n := int64(s.chunks[i].StoredSize)
		crc = stored.CombineCRC(crc, s.chunks[i].CRC, n)
		at += n
		if at > offset+length {
			return 0, false
		}
	}
	return crc, true
}
