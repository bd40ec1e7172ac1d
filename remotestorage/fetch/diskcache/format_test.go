package diskcache

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"tidemark/internal/status"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The golden file is a sealed slab of two blocks, written by the cache itself.
func TestGoldenSlab(t *testing.T) {
	const path = "testdata/slab.golden"
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := sizes{capacity: 32 << 10, slab: 400, stage: 200}
		f := start(t, dir, s, disk{})
		f.put("segments/a/b.log", 7, []byte("first block"))
		f.put("segments/a/b.log", 8, []byte("second block"))
		f.put("segments/a/c.log", 0, []byte("this one needs a slab of its own"))
		f.stop()
		got, err := os.ReadFile(filepath.Join(dir, slabName(1)))
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("a slab is written as\n%q, the golden file is\n%q", got, want)
		}
		dir = t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, slabName(1)), want, 0o644); err != nil {
			t.Fatal(err)
		}
		f = start(t, dir, s, disk{})
		defer f.stop()
		for chunk, want := range map[int]string{7: "first block", 8: "second block"} {
			if p, ok := f.get("segments/a/b.log", chunk, len(want)); !ok || string(p) != want {
				t.Errorf("chunk %d of the golden file: %q, %v", chunk, p, ok)
			}
		}
	})
}

// A damaged table is not used: the blocks are found by their headers.
func TestSlabWithDamagedTable(t *testing.T) {
	whole, err := os.ReadFile("testdata/slab.golden")
	if err != nil {
		t.Fatal(err)
	}
	end, _, _, ok := decodeTail(whole[len(whole)-tailSize:], 1, int64(len(whole)))
	if !ok {
		t.Fatal("the golden file has no tail")
	}
	for at := int(end); at < len(whole); at++ {
		f := bytesFile(bytes.Clone(whole))
		f[at] ^= 0x10
		blocks, until, sealed, err := read(f, 1)
		if err != nil || sealed || len(blocks) != 2 || until != end {
			t.Errorf("byte %d flipped: %d blocks until %d, sealed %v, %v", at, len(blocks), until, sealed, err)
		}
	}
	for at := range slabHeader {
		f := bytesFile(bytes.Clone(whole))
		f[at] ^= 0x10
		if _, _, _, err := read(f, 1); err == nil {
			t.Errorf("byte %d of the header flipped: the slab is taken", at)
		}
	}
	if _, _, _, err := read(bytesFile(whole), 2); !status.Is(err, status.Corrupt) {
		t.Errorf("a slab with another's name: %v", err)
	}
}

// FuzzRead: whatever a file holds, the blocks found in it lie in it.
func FuzzRead(f *testing.F) {
	if whole, err := os.ReadFile("testdata/slab.golden"); err == nil {
		f.Add(whole)
		f.Add(whole[:100])
	}
	f.Add(encodeSlab(1))
	f.Fuzz(func(t *testing.T, data []byte) {
		blocks, end, _, err := read(bytesFile(data), 1)
		if err != nil {
			return
		}
		for _, m := range blocks {
			if m.start < slabHeader || m.end() > end || end > int64(len(data)) {
				t.Errorf("block [%d, %d) in a file of %d bytes whose blocks end at %d", m.start, m.end(), len(data), end)
			}
		}
	})
}

// bytesFile is a file that is only read.
type bytesFile []byte

func (f bytesFile) ReadAt(p []byte, off int64) (int, error)  { return bytes.NewReader(f).ReadAt(p, off) }
func (f bytesFile) WriteAt(p []byte, off int64) (int, error) { return 0, os.ErrPermission }
func (f bytesFile) Truncate(int64) error                     { return os.ErrPermission }
func (f bytesFile) Size() (int64, error)                     { return int64(len(f)), nil }
func (f bytesFile) Begin(off, n int64) error                 { return nil }
func (f bytesFile) Settle(off, n int64) error                { return nil }
func (f bytesFile) Punch(int64, int64) error                 { return nil }
func (f bytesFile) Close() error                             { return nil }
