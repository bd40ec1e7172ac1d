package stored

import (
	"hash/crc32"
	"sort"

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
	Form       Form
}

// Map says which chunks hold which original bytes. No chunk has more than ChunkSize original bytes, and none but the last less than a quarter
// of it. In format 1 each but the last has all of it.
type Map struct {
	Size       int64 // original bytes
	StoredSize int64 // bytes of the log object
	ChunkSize  int32 // most original bytes of a chunk
	Chunks     []Chunk
}

// Span is a part of one chunk: original bytes [From, To) counted from the chunk's first byte.
type Span struct {
	Chunk    int
	From, To int64
}

// OriginalSize is how many original bytes chunk i holds.
func (m Map) OriginalSize(i int) int64 {
	if i+1 < len(m.Chunks) {
		return m.Chunks[i+1].Original - m.Chunks[i].Original
	}
	return m.Size - m.Chunks[i].Original
}

// Room is the memory in bytes that chunk i needs while it is read: for its stored bytes and for its original bytes.
func (m Map) Room(i int) int { return int(max(m.OriginalSize(i), int64(m.Chunks[i].StoredSize))) }

// Index is the chunk that holds the original byte at pos, which must be in [0, Size).
func (m Map) Index(pos int64) int {
	i := int(pos / int64(m.ChunkSize)) // a lower bound, and exact for chunks of one size
	if i+1 >= len(m.Chunks) || pos < m.Chunks[i+1].Original {
		return i
	}
	return i + sort.Search(len(m.Chunks)-i-1, func(k int) bool { return m.Chunks[i+k+1].Original > pos })
}

// Transformed tells whether the log object differs from the log file.
func (m Map) Transformed() bool {
	for _, c := range m.Chunks {
		if c.Form != 0 {
			return true
		}
	}
	return false
}

// Uniform is ChunkSize if every chunk is plain and all but the last have it, else 0.
func (m Map) Uniform() int32 {
	if !m.uniform() {
		return 0
	}
	return m.ChunkSize
}

// uniform tells whether format 1 can say what the map says: plain chunks, each but the last of ChunkSize.
func (m Map) uniform() bool {
	for i, c := range m.Chunks {
		if c.Form != 0 || c.Original != int64(i)*int64(m.ChunkSize) {
			return false
		}
	}
	return true
}

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
		at := m.Chunks[i].Original
		spans = append(spans, Span{
			Chunk: i,
			From:  max(start-at, 0),
			To:    min(end-at, m.OriginalSize(i)),
		})
	}
	return spans, nil
}

// check reports a map that is not consistent as Corrupt, and one with forms that are not known as Unsupported.
func (m Map) check() error {
	bad := func(format string, args ...any) error {
		return status.Errorf(status.Corrupt, "chunk map: "+format, args...)
	}
	if m.Size < 0 || m.Size > maxSegment {
		return bad("segment size %d", m.Size)
	}
	if m.ChunkSize < MinChunkSize || m.ChunkSize > MaxChunkSize {
		return bad("chunk size %d is not in [%d, %d]", m.ChunkSize, MinChunkSize, MaxChunkSize)
	}
	if m.Size > 0 && len(m.Chunks) == 0 {
		return bad("no chunk for a segment of %d bytes", m.Size)
	}
	var at, stored int64
	for i, c := range m.Chunks {
		if c.Original != at || c.Stored != stored {
			return bad("chunk %d: original %d, stored %d; want %d, %d", i, c.Original, c.Stored, at, stored)
		}
		n := m.OriginalSize(i)
		if n < 1 || n > int64(m.ChunkSize) || i+1 < len(m.Chunks) && n < int64(m.ChunkSize/4) {
			return bad("chunk %d has %d of at most %d original bytes", i, n, m.ChunkSize)
		}
		if err := c.checkForm(i, n); err != nil {
			return err
		}
		at, stored = at+n, stored+int64(c.StoredSize)
	}
	if at != m.Size || stored != m.StoredSize {
		return bad("chunks of %d bytes stored as %d, want %d as %d", at, stored, m.Size, m.StoredSize)
	}
	return nil
}

// checkForm checks the stored size of chunk i with n original bytes.
func (c Chunk) checkForm(i int, n int64) error {
	if c.Form&^knownForms != 0 {
		return status.Errorf(status.Unsupported, "chunk map: chunk %d has form %d, which this release does not know: upgrade Tidemark on this broker", i, c.Form)
	}
	size := int64(c.StoredSize)
	if c.Form&Sealed != 0 {
		size -= tagSize
	}
	if size < 1 || c.Form&Compressed == 0 && size != n || c.Form&Compressed != 0 && size >= n {
		return status.Errorf(status.Corrupt, "chunk map: chunk %d (%s): %d bytes are stored as %d", i, c.Form, n, c.StoredSize)
	}
	return nil
}

// Chunker computes the chunk map of format 1 and the checksum of the whole object from the bytes of a log file, given in order.
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
	c.whole = CombineCRC(c.whole, c.crc, c.fill)
	c.crc, c.fill = 0, 0
}

// Finish returns the map and the CRC32C of all bytes. The chunker must not be used after it.
func (c *Chunker) Finish() (Map, uint32) {
	if c.fill > 0 {
		c.cut()
	}
	return c.m, c.whole
}
