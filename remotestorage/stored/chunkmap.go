package stored

import (
	"hash/crc32"

	"tidemark/internal/status"
)

// Limits of the chunk map. A Kafka segment is below 2 GiB (its size is an int32), so a manifest has at most 32 768 chunks.
const (
	MinChunkSize = 64 << 10
	MaxChunkSize = 64 << 20
	maxSegment   = 1<<31 - 1
)

// Chunk is a run of original bytes and where it is stored. Offsets and sizes are in bytes.
type Chunk struct {
	Original   int64  // position of its first byte in the log file
	Stored     int64  // position of its first byte in the log object
	StoredSize int32  // bytes in the log object
	CRC        uint32 // CRC32C of the stored bytes
}

// Map says which chunks hold which original bytes. Every chunk but the last has ChunkSize original bytes.
type Map struct {
	Size       int64 // original bytes
	StoredSize int64 // bytes of the log object
	ChunkSize  int32 // original bytes per chunk
	Chunks     []Chunk
}

// Span is a part of one chunk: original bytes [From, To) counted from the chunk's first byte.
type Span struct {
	Chunk    int
	From, To int64
}

// OriginalSize is how many original bytes chunk i holds.
func (m Map) OriginalSize(i int) int64 {
	return min(int64(m.ChunkSize), m.Size-int64(i)*int64(m.ChunkSize))
}

// Index is the chunk that holds the original byte at pos, which must be in [0, Size).
func (m Map) Index(pos int64) int { return int(pos / int64(m.ChunkSize)) }

// Spans are the parts of chunks that hold the original bytes [start, end), in order. A range outside the segment is Invalid.
func (m Map) Spans(start, end int64) ([]Span, error) {
	if start < 0 || end < start || end > m.Size {
		return nil, status.Errorf(status.Invalid, "range [%d, %d) is not within the segment's %d bytes", start, end, m.Size)
	}
	if start == end {
		return nil, nil
	}
	first, last := m.Index(start), m.Index(end-1)
	spans := make([]Span, 0, last-first+1)
	for i := first; i <= last; i++ {
		at := int64(i) * int64(m.ChunkSize)
		spans = append(spans, Span{
			Chunk: i,
			From:  max(start-at, 0),
			To:    min(end-at, m.OriginalSize(i)),
		})
	}
	return spans, nil
}

// check reports a map that is not consistent as Corrupt. Chunks of format 1 are untransformed.
func (m Map) check() error {
	bad := func(format string, args ...any) error {
		return status.Errorf(status.Corrupt, "chunk map: "+format, args...)
	}
	if m.Size < 0 || m.Size > maxSegment {
		return bad("segment size %d", m.Size)
	}
	if m.StoredSize != m.Size {
		return bad("%d bytes are stored as %d, but chunks of format 1 are untransformed", m.Size, m.StoredSize)
	}
	if m.ChunkSize < MinChunkSize || m.ChunkSize > MaxChunkSize {
		return bad("chunk size %d is not in [%d, %d]", m.ChunkSize, MinChunkSize, MaxChunkSize)
	}
	if want := (m.Size + int64(m.ChunkSize) - 1) / int64(m.ChunkSize); int64(len(m.Chunks)) != want {
		return bad("%d chunks of %d bytes for a segment of %d, want %d", len(m.Chunks), m.ChunkSize, m.Size, want)
	}
	for i, c := range m.Chunks {
		at := int64(i) * int64(m.ChunkSize)
		if c.Original != at || c.Stored != at || int64(c.StoredSize) != m.OriginalSize(i) {
			return bad("chunk %d: original %d, stored %d, size %d; want %d, %d, %d",
				i, c.Original, c.Stored, c.StoredSize, at, at, m.OriginalSize(i))
		}
	}
	return nil
}

// Chunker computes the chunk map and the checksum of the whole object from the bytes of a log file, given in order.
type Chunker struct {
	m     Map
	whole uint32
	crc   uint32 // of the open chunk
	fill  int64  // bytes in the open chunk
}

// NewChunker starts at position 0. The size must be in [MinChunkSize, MaxChunkSize].
func NewChunker(chunkSize int32) *Chunker { return &Chunker{m: Map{ChunkSize: chunkSize}} }

// Write takes the next bytes of the file; it keeps nothing of p and never fails.
func (c *Chunker) Write(p []byte) (int, error) {
	n := len(p)
	c.whole = crc32.Update(c.whole, castagnoli, p)
	for len(p) > 0 {
		k := min(int64(c.m.ChunkSize)-c.fill, int64(len(p)))
		c.crc = crc32.Update(c.crc, castagnoli, p[:k])
		c.fill += k
		p = p[k:]
		if c.fill == int64(c.m.ChunkSize) {
			c.cut()
		}
	}
	return n, nil
}

func (c *Chunker) cut() {
	c.m.Chunks = append(c.m.Chunks, Chunk{Original: c.m.Size, Stored: c.m.Size, StoredSize: int32(c.fill), CRC: c.crc})
	c.m.Size += c.fill
	c.m.StoredSize = c.m.Size
	c.crc, c.fill = 0, 0
}

// Finish returns the map and the CRC32C of all bytes. The chunker must not be used after it.
func (c *Chunker) Finish() (Map, uint32) {
	if c.fill > 0 {
		c.cut()
	}
	return c.m, c.whole
}
