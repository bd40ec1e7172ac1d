package diskcache

import (
	"encoding/binary"
	"hash/crc32"

	"tidemark/internal/status"
)

// The layout of a slab file; all integers are little-endian, all checksums CRC32C.
const (
	version = 1

	slabMagic   = "TIDESLAB"
	slabHeader  = 32
	blockMagic  = 0x4b4c4244 // "DBLK"
	blockHeader = 40
	tableMagic  = 0x4c425444 // "DTBL"
	tableEntry  = 8          // before each copied block header: its position
	tailMagic   = "TIDETAIL"
	tailSize    = 40
	maxObject   = 1024 // bytes of an object key
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

// key says which chunk a block is.
type key struct {
	object string
	chunk  int32
}

// meta describes a block: what its header says and where it lies.
type meta struct {
	key
	size  uint32 // of the data
	crc   uint32 // of the data
	start int64  // of the header in the slab
}

func (m meta) head() int64 { return int64(blockHeader + len(m.object)) }

// data is the position of the data.
func (m meta) data() int64 { return m.start + m.head() }

// end is the position after the block.
func (m meta) end() int64 { return m.data() + int64(m.size) }

// entry is the size of the block in the table of a sealed slab.
func (m meta) entry() int64 { return tableEntry + m.head() }

// encodeSlab is the header of slab seq.
func encodeSlab(seq uint64) []byte {
	p := make([]byte, slabHeader)
	copy(p, slabMagic)
	binary.LittleEndian.PutUint32(p[8:], version)
	binary.LittleEndian.PutUint64(p[16:], seq)
	binary.LittleEndian.PutUint32(p[28:], checksum(p[:28]))
	return p
}

// decodeSlab checks the header of slab seq. Unsupported: another version.
func decodeSlab(p []byte, seq uint64) error {
	switch {
	case len(p) < slabHeader || string(p[:8]) != slabMagic || checksum(p[:28]) != binary.LittleEndian.Uint32(p[28:]):
		return status.Errorf(status.Corrupt, "the header is damaged")
	case binary.LittleEndian.Uint32(p[8:]) != version:
		return status.Errorf(status.Unsupported, "version %d, this release knows %d", binary.LittleEndian.Uint32(p[8:]), version)
	case binary.LittleEndian.Uint64(p[16:]) != seq:
		return status.Errorf(status.Corrupt, "it is slab %d", binary.LittleEndian.Uint64(p[16:]))
	}
	return nil
}

// putBlock writes the header of a block of slab seq, object key included, to the front of p.
func putBlock(p []byte, seq uint64, m meta) {
	le := binary.LittleEndian
	le.PutUint32(p[4:], blockMagic)
	le.PutUint64(p[8:], seq)
	le.PutUint32(p[16:], m.size)
	le.PutUint32(p[20:], m.crc)
	le.PutUint32(p[24:], uint32(m.chunk))
	le.PutUint32(p[28:], uint32(len(m.object)))
	le.PutUint64(p[32:], uint64(m.start))
	n := copy(p[blockHeader:], m.object)
	le.PutUint32(p, checksum(p[4:blockHeader+n]))
}

// decodeBlock reads the header at the front of p, which lies at start of slab seq. ok is false when there is no whole and
// undamaged one.
func decodeBlock(p []byte, seq uint64, start int64) (m meta, ok bool) {
	le := binary.LittleEndian
	if len(p) < blockHeader || le.Uint32(p[4:]) != blockMagic || le.Uint64(p[8:]) != seq || le.Uint64(p[32:]) != uint64(start) {
		return m, false
	}
	n := le.Uint32(p[28:])
	if n > maxObject || len(p) < blockHeader+int(n) || checksum(p[4:blockHeader+n]) != le.Uint32(p) {
		return m, false
	}
	m = meta{key: key{string(p[blockHeader : blockHeader+n]), int32(le.Uint32(p[24:]))}, size: le.Uint32(p[16:]), crc: le.Uint32(p[20:]), start: start}
	return m, true
}

// encodeTable is the end of a sealed slab: copies of all block headers and the tail, for a slab whose blocks end at at.
func encodeTable(seq uint64, blocks []meta, at int64) []byte {
	le := binary.LittleEndian
	size := int64(tailSize)
	for _, m := range blocks {
		size += m.entry()
	}
	p := make([]byte, size)
	q := p
	for _, m := range blocks {
		le.PutUint64(q, uint64(m.start))
		putBlock(q[tableEntry:], seq, m)
		q = q[m.entry():]
	}
	copy(q, tailMagic)
	le.PutUint64(q[8:], seq)
	le.PutUint64(q[16:], uint64(at))
	le.PutUint32(q[24:], uint32(len(blocks)))
	le.PutUint32(q[28:], checksum(p[:len(p)-tailSize]))
	le.PutUint32(q[32:], tableMagic)
	le.PutUint32(q[36:], checksum(q[:36]))
	return p
}

// decodeTail reads the last bytes of a slab: where its table begins and how many blocks it has.
func decodeTail(p []byte, seq uint64, size int64) (at int64, blocks, crc uint32, ok bool) {
	le := binary.LittleEndian
	if len(p) < tailSize {
		return 0, 0, 0, false
	}
	at = int64(le.Uint64(p[16:]))
	ok = string(p[:8]) == tailMagic && le.Uint64(p[8:]) == seq && le.Uint32(p[32:]) == tableMagic &&
		checksum(p[:36]) == le.Uint32(p[36:]) && at >= slabHeader && at <= size-tailSize
	return at, le.Uint32(p[24:]), le.Uint32(p[28:]), ok
}

// decodeTable reads the table before the tail. Blocks lie within [slabHeader, at).
func decodeTable(p []byte, seq uint64, at int64, count, crc uint32) (blocks []meta, ok bool) {
	if checksum(p) != crc {
		return nil, false
	}
	for range count {
		if len(p) < tableEntry {
			return nil, false
		}
		start := int64(binary.LittleEndian.Uint64(p))
		m, ok := decodeBlock(p[tableEntry:], seq, start)
		if !ok || m.start < slabHeader || m.end() > at {
			return nil, false
		}
		blocks = append(blocks, m)
		p = p[m.entry():]
	}
	return blocks, len(p) == 0
}
