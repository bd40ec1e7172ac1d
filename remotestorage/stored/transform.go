package stored

import (
	"tidemark/internal/status"
)

// Form is how the bytes of a chunk are stored: a set of bits, 0 is as they were. Compression comes before encryption.
type Form uint8

// The bits of Form.
const (
	Compressed Form = 1 << iota // one zstd frame
	Sealed                      // AES-256-GCM, the tag at the end
	knownForms = Compressed | Sealed
)

// String names the form for people.
func (f Form) String() string {
	switch f {
	case 0:
		return "plain"
	case Compressed:
		return "zstd"
	case Sealed:
		return "aes-256-gcm"
	case Compressed | Sealed:
		return "zstd, aes-256-gcm"
	}
	return "unknown"
}

// minSaving is which part of a chunk must be saved for its compressed form to be kept: below it the reader's time is worth more.
const minSaving = 16

// Transform is what is done to the chunks of a segment.
type Transform struct {
	Compressor *Compressor // nil: chunks are not compressed
	Sealer     *Sealer     // nil: chunks are not encrypted
}

// Transformer cuts the batches of a log file into chunks and makes their stored form. A chunk ends where the kind of batches changes, once it
// is a quarter full, so that batches which are compressed already are not compressed again. It belongs to one goroutine and holds two
// chunks of memory.
type Transformer struct {
	t    Transform
	emit func(c Chunk, data []byte) error

	m       Map
	size    int    // original bytes of a full chunk
	whole   uint32 // CRC32C of what is stored
	buf     []byte // the open chunk, with room for a tag
	out     []byte // its compressed form
	willing int    // bytes of the open chunk in batches that are not compressed
	kind    bool   // of its first batch
}

// NewTransformer starts at position 0. The size must be in [MinChunkSize, MaxChunkSize]. emit takes each chunk in order with its
// stored bytes, which it must not keep.
func NewTransformer(chunkSize int32, t Transform, emit func(c Chunk, data []byte) error) *Transformer {
	size := int(chunkSize)
	if t.Sealer != nil {
		size -= tagSize // so that a reader's memory for it is that of any chunk
	}
	return &Transformer{t: t, emit: emit, m: Map{ChunkSize: chunkSize}, size: size, buf: make([]byte, 0, chunkSize)}
}

// Write takes the next bytes of the file, which are part of one batch; compressible says that the batch is not compressed. It keeps nothing of
// p. Errors are those of emit.
func (t *Transformer) Write(p []byte, compressible bool) error {
	for len(p) > 0 {
		if compressible != t.kind && len(t.buf) >= int(t.m.ChunkSize/4) {
			if err := t.cut(); err != nil {
				return err
			}
		}
		if len(t.buf) == 0 {
			t.kind = compressible
		}
		k := min(t.size-len(t.buf), len(p))
		t.buf = append(t.buf, p[:k]...)
		if compressible {
			t.willing += k
		}
		p = p[k:]
		if len(t.buf) == t.size {
			if err := t.cut(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Transformer) cut() error {
	n, data, form := len(t.buf), t.buf, Form(0)
	if t.t.Compressor != nil && 2*t.willing >= n {
		t.out = t.t.Compressor.compress(t.out, data)
		if len(t.out) <= n-n/minSaving {
			data, form = t.out, Compressed
		}
	}
	if t.t.Sealer != nil {
		form |= Sealed
		data = t.t.Sealer.sealChunk(data, len(t.m.Chunks), t.m.Size, n, form)
		if form&Compressed != 0 {
			t.out = data // it may have grown
		}
	}
	c := Chunk{Original: t.m.Size, Stored: t.m.StoredSize, StoredSize: int32(len(data)), CRC: CRC(data), Form: form}
	if err := t.emit(c, data); err != nil {
		return err
	}
	t.whole = CombineCRC(t.whole, c.CRC, int64(len(data)))
	t.m.Chunks = append(t.m.Chunks, c)
	t.m.Size += int64(n)
	t.m.StoredSize += int64(len(data))
	t.buf, t.willing = t.buf[:0], 0
	return nil
}

// Finish returns the map and the CRC32C of all stored bytes. The transformer must not be used after it. Errors are those of emit.
func (t *Transformer) Finish() (Map, uint32, error) {
	if len(t.buf) > 0 {
		if err := t.cut(); err != nil {
			return Map{}, 0, err
		}
	}
	return t.m, t.whole, nil
}

// Decoder makes original bytes of the stored chunks of one segment. It is safe for concurrent use.
type Decoder struct {
	m      Map
	sealer *Sealer
	z      *Decompressor
}

// Scratch tells how many bytes of memory Decode needs for chunk i beside the chunk's own: 0 if none.
func (d Decoder) Scratch(i int) int {
	if c := d.m.Chunks[i]; c.Form&Compressed != 0 {
		return int(c.StoredSize)
	}
	return 0
}

// Decode replaces the stored bytes of chunk i by its original bytes in the same memory, whose capacity must hold both (Map.Room). The checksum
// of the stored bytes must have been compared. scratch has at least Scratch(i) bytes of capacity. Corrupt: the bytes are those that were written,
// but not by Tidemark for this place; data then has any bytes.
func (d Decoder) Decode(i int, data, scratch []byte) ([]byte, error) {
	c, n := d.m.Chunks[i], int(d.m.OriginalSize(i))
	if c.Form == 0 {
		return data, nil
	}
	if cap(data) < n || cap(scratch) < d.Scratch(i) {
		return nil, status.Errorf(status.Internal, "chunk %d: room for %d bytes of %d, scratch of %d", i, cap(data), n, cap(scratch))
	}
	if c.Form&Sealed != 0 && d.sealer == nil {
		return nil, status.Errorf(status.Internal, "chunk %d is encrypted, and its sidecar was not opened", i)
	}
	packed := data
	if c.Form&Sealed != 0 {
		dst := data[:0]
		if c.Form&Compressed != 0 {
			dst = scratch[:0]
		}
		var err error
		if packed, err = d.sealer.openChunk(dst, data, i, c.Original, n, c.Form); err != nil {
			return nil, err
		}
	} else {
		packed = append(scratch[:0], data...)
	}
	if c.Form&Compressed != 0 {
		if err := d.z.decompress(data[:n], packed); err != nil {
			return nil, status.Wrapf(err, "chunk %d", i)
		}
	}
	return data[:n], nil
}
