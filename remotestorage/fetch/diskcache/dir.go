package diskcache

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"tidemark/internal/status"
)

const lockName = "lock"

func (o *owner) lockPath() string { return filepath.Join(o.c.cfg.Dir, lockName) }

// open locks the directory and takes in the files that are there.
func (o *owner) open(ctx context.Context) error {
	o.again = time.Time{}
	if err := os.MkdirAll(o.c.cfg.Dir, 0o755); err != nil {
		return status.Errorf(status.Transient, "%w", err)
	}
	lock, err := os.OpenFile(o.lockPath(), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return status.Errorf(status.Transient, "%w", err)
	}
	o.lock = lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return status.Errorf(status.Transient, "fetch.disk.cache.dir is in use by another broker or plugin instance, give each its own: %w", err)
	}
	list, err := os.ReadDir(o.c.cfg.Dir)
	if err != nil {
		return status.Errorf(status.Transient, "%w", err)
	}
	var seqs []uint64
	for _, f := range list {
		var seq uint64
		if n, err := fmt.Sscanf(f.Name(), "slab-%016x.cache", &seq); n == 1 && err == nil && f.Name() == slabName(seq) {
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	o.next = 1
	names, buried := map[string]string{}, map[string]place{}
	for i, seq := range seqs {
		if ctx.Err() != nil {
			return nil
		}
		o.next = seq + 1
		if err := o.load(seq, i == len(seqs)-1, names, buried); err != nil {
			return err
		}
	}
	if len(buried) > 0 {
		o.clear(o.c.detach(func(e *entry) bool {
			at, ok := buried[e.object]
			return ok && (e.slab.seq < at.seq || e.slab.seq == at.seq && e.start < at.start)
		}))
	}
	for o.full() {
		s := o.c.oldest(o.active)
		if s == nil {
			break
		}
		o.remove(s)
	}
	return nil
}

// load takes a file in. One that is not a slab of this version, or cannot be read, is removed. last: it is the newest, and goes on
// being written if it was not sealed. buried takes the tombstones in it.
func (o *owner) load(seq uint64, last bool, names map[string]string, buried map[string]place) error {
	s := &slab{seq: seq, path: filepath.Join(o.c.cfg.Dir, slabName(seq))}
	f, err := o.c.device.Open(s.path)
	if err != nil {
		return status.Errorf(status.Transient, "%w", err)
	}
	s.f = f
	blocks, end, sealed, err := read(f, seq)
	if err != nil {
		_ = f.Close()
		_ = o.c.device.Remove(s.path)
		return nil
	}
	for i := range blocks { // blocks of an object share its name
		object := blocks[i].object
		if known, ok := names[object]; ok {
			blocks[i].object = known
		} else {
			names[object] = object
		}
		if blocks[i].chunk == tombstone {
			buried[object] = place{seq, blocks[i].start}
		}
	}
	size, err := f.Size()
	goOn := last && !sealed && err == nil
	if goOn {
		// What follows the last whole block must not be found again behind blocks that are written over it.
		if err := f.Truncate(end); err != nil {
			_ = f.Close()
			return status.Errorf(status.Transient, "cut %s: %w", s.path, err)
		}
		size = end
	}
	o.c.adopt(s)
	o.c.add(s, blocks, size)
	if goOn {
		o.active, o.end, o.table, o.begun = s, end, 0, span{}
		for _, m := range blocks {
			o.table += m.entry()
		}
	}
	return nil
}

// read finds the blocks of a slab file: by its table if it is sealed, else by their headers, up to the first that is not
// whole.
func read(f file, seq uint64) (blocks []meta, end int64, sealed bool, err error) {
	size, err := f.Size()
	if err != nil {
		return nil, 0, false, err
	}
	head := make([]byte, slabHeader)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, 0, false, err
	}
	if err := decodeSlab(head, seq); err != nil {
		return nil, 0, false, err
	}
	if blocks, end, ok := readTable(f, seq, size); ok {
		return blocks, end, true, nil
	}
	end = slabHeader
	for p := make([]byte, blockHeader+maxObject); ; {
		n := min(int64(len(p)), size-end)
		if _, err := f.ReadAt(p[:n], end); err != nil {
			return nil, 0, false, err
		}
		m, ok := decodeBlock(p[:n], seq, end)
		if !ok || m.end() > size {
			return blocks, end, false, nil
		}
		blocks = append(blocks, m)
		end = m.end()
	}
}

// maxTable bounds the memory for a table: slabs of 1 GiB with chunks of 64 KiB need an eighth.
const maxTable = 128 << 20

func readTable(f file, seq uint64, size int64) (blocks []meta, end int64, ok bool) {
	if size < slabHeader+tailSize {
		return nil, 0, false
	}
	tail := make([]byte, tailSize)
	if _, err := f.ReadAt(tail, size-tailSize); err != nil {
		return nil, 0, false
	}
	end, count, crc, ok := decodeTail(tail, seq, size)
	if !ok || size-tailSize-end > maxTable {
		return nil, 0, false
	}
	table := make([]byte, size-tailSize-end)
	if _, err := f.ReadAt(table, end); err != nil {
		return nil, 0, false
	}
	blocks, ok = decodeTable(table, seq, end, count, crc)
	return blocks, end, ok
}
