package reclaim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/status"
)

// write makes a journal of three tombstones, the second already gone, and returns its bytes.
func write(t testing.TB, dir string) []byte {
	t.Helper()
	j, _, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	for n := range byte(3) {
		if err := j.append(wantedGone, Tombstone{Identity: segment(n + 1), End: int64(n), Time: 1_700_000_000_000}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.append(gone, Tombstone{Identity: segment(2), End: 1, Time: 1_700_000_000_000}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(j.path())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func reopen(t testing.TB, data []byte) (replayed, int64, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, journalName), data, 0o644); err != nil {
		t.Fatal(err)
	}
	j, r, err := openJournal(dir)
	if err != nil {
		return r, 0, err
	}
	defer j.close()
	return r, j.size, nil
}

func TestJournalReplay(t *testing.T) {
	data := write(t, t.TempDir())
	r, _, err := reopen(t, data)
	want := map[[16]byte]Tombstone{}
	for _, n := range []byte{1, 3} {
		want[segment(n).SegmentID] = Tombstone{Identity: segment(n), End: int64(n - 1), Time: 1_700_000_000_000}
	}
	if d := cmp.Diff(want, r.pending); err != nil || d != "" || r.damaged != 0 || r.cut != 0 {
		t.Errorf("%v, %d damaged, %d cut, pending (-want +got):\n%s", err, r.damaged, r.cut, d)
	}
}

// However much of the end is missing, what is whole counts and the rest is cut off.
func TestJournalTruncatedAnywhere(t *testing.T) {
	data := write(t, t.TempDir())
	for n := headerSize; n < len(data); n++ {
		r, size, err := reopen(t, data[:n])
		whole := (n - headerSize) / recordSize
		if err != nil || size != int64(headerSize+whole*recordSize) || r.cut != int64(n-headerSize-whole*recordSize) || len(r.pending) != min(whole, 3) {
			t.Fatalf("first %d bytes: size %d, cut %d, %d pending, %v", n, size, r.cut, len(r.pending), err)
		}
	}
	for n := range headerSize {
		if r, size, err := reopen(t, data[:n]); err != nil || r.damaged != 1 || size != headerSize {
			t.Fatalf("first %d bytes: %v, %d damaged, size %d", n, err, r.damaged, size)
		}
	}
}

func TestJournalEveryByteFlipIsFound(t *testing.T) {
	data := write(t, t.TempDir())
	for i := range data {
		data[i] ^= 0x40
		r, size, err := reopen(t, data)
		if err != nil || r.damaged != 1 || size != int64(headerSize+len(r.pending)*recordSize) {
			t.Fatalf("byte %d: %v, %d damaged, want 1; rewritten to %d bytes", i, err, r.damaged, size)
		}
		if i < headerSize && len(r.pending) != 2 {
			t.Fatalf("byte %d of the header: %d pending, want 2", i, len(r.pending))
		}
		data[i] ^= 0x40
	}
}

func TestJournalOfALaterVersion(t *testing.T) {
	data := write(t, t.TempDir())
	copy(data, header())
	data[8]++
	binary.LittleEndian.PutUint32(data[12:], checksum(data[:12]))
	if _, _, err := reopen(t, data); !status.Is(err, status.Unsupported) {
		t.Errorf("got %v, want Unsupported", err)
	}
}

func TestJournalDirectoryMustBeUsable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openJournal(file); !status.Is(err, status.Invalid) {
		t.Errorf("got %v, want Invalid", err)
	}
}

// A disk that fails says nothing about what is in the file: no read error may pass for damage, or the deletes in it are lost.
func TestJournalThatCannotBeReadIsLeft(t *testing.T) {
	data := write(t, t.TempDir())
	for n := range len(data) + 1 {
		_, err := (&journal{}).replay(io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(syscall.EIO)))
		if !status.Is(err, status.Transient) || !errors.Is(err, syscall.EIO) {
			t.Fatalf("EIO after %d bytes: %v (%v)", n, err, status.Of(err))
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, journalName)
	if err := os.Symlink("/proc/self/mem", path); err != nil { // its first bytes are not mapped: reading them is EIO
		t.Fatal(err)
	}
	_, _, err := openJournal(dir)
	if !status.Is(err, status.Transient) || !strings.Contains(err.Error(), path) {
		t.Errorf("open: %v (%v), want Transient with the path", err, status.Of(err))
	}
	if to, err := os.Readlink(path); err != nil || to != "/proc/self/mem" {
		t.Errorf("the file was replaced: %q, %v", to, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("%v, want journal and lock only", files)
	}
}

func TestJournalThatIsDamagedIsKept(t *testing.T) {
	whole := write(t, t.TempDir())
	for name, data := range map[string][]byte{"header": append([]byte{'X'}, whole[1:]...), "short": whole[:9], "record": append(bytes.Clone(whole[:headerSize+9]), whole[headerSize+8:]...), "empty": {}} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, journalName), data, 0o644); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time it is whole
			j, r, err := openJournal(dir)
			if err != nil {
				t.Fatal(name, err)
			}
			j.close()
			if kept, err := os.ReadFile(r.aside); r.damaged > 0 && (err != nil || !bytes.Equal(kept, data)) {
				t.Errorf("%s: kept as %q: %v, %x", name, r.aside, err, kept)
			}
		}
		if files, _ := filepath.Glob(filepath.Join(dir, asideName+"*")); len(files) != 1 {
			t.Errorf("%s: kept %v", name, files)
		}
	}
}

func FuzzReplay(f *testing.F) {
	f.Add(write(f, f.TempDir()))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		j := &journal{}
		r, err := j.replay(bytes.NewReader(data))
		if err != nil && !status.Is(err, status.Unsupported) {
			t.Fatalf("class %v: %v", status.Of(err), err)
		}
		if len(r.pending) > len(data)/recordSize || j.size > int64(max(len(data), headerSize)) {
			t.Fatalf("%d pending and size %d of %d bytes", len(r.pending), j.size, len(data))
		}
	})
}
