package remotestorage

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

func wanted([16]byte) (uint64, bool) { return 7, true }

func TestHoldFile(t *testing.T) {
	m, c := start(t, config(t), storetest.NewMemory(), Deps{Wanted: wanted}), segment(t, 1000)
	copied(t, m, &c)
	held := m.Held()
	want := Held{
		TopicID: c.TopicID, Partition: 3, Base: c.BaseOffset, End: c.EndOffset + 1, Epoch: 4, Generation: 7, SegmentID: c.ID, Size: c.Size,
	}
	want.Path = filepath.Join(c.dir, want.name())
	if len(held) != 1 || held[0] != want {
		t.Fatalf("held %+v, want %+v", held, want)
	}
	must(t, os.RemoveAll(filepath.Dir(c.paths.Log)))
	src, size, closer, err := m.OpenHeld(held[0])
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, size)
	if _, err := src.ReadAt(got, 0); err != nil || !bytes.Equal(got, c.log) {
		t.Errorf("content: %v", err)
	}
	closer.Close()
	entries, err := os.ReadDir(c.dir)
	if err != nil || len(entries) != 1 || entries[0].IsDir() {
		t.Errorf("the log directory: %v, %v", entries, err)
	}
	if metric(t, m, "hold_files") != 1 || metric(t, m, "hold_bytes") != float64(c.Size) {
		t.Error("hold files are not counted")
	}
	m.ReleaseHeld(c.TopicID, 3, c.EndOffset) // the table lacks the last offset
	m.ReleaseHeld(c.TopicID, 4, 1<<60)
	m.ReleaseHeld([16]byte{9}, -1, 1<<60)
	if len(m.Held()) != 1 {
		t.Error("released although the table does not have it")
	}
	m.ReleaseHeld(c.TopicID, -1, c.EndOffset+1)
	if entries, _ := os.ReadDir(c.dir); len(m.Held()) != 0 || len(entries) != 0 || metric(t, m, "hold_bytes") != 0 {
		t.Errorf("after the release: %v, %v", m.Held(), entries)
	}
}

// Names alone bring holds back, in directories that are given or that a copy teaches. Other files are not touched.
func TestHoldFilesAreFoundAgain(t *testing.T) {
	cfg, store, c := config(t), storetest.NewMemory(), segment(t, 1000)
	m := start(t, cfg, store, Deps{Wanted: wanted})
	copied(t, m, &c)
	want := m.Held()
	m.Close(deadline(t))
	var out bytes.Buffer
	foreign := filepath.Join(c.dir, "tidemark-something.hold")
	must(t, os.WriteFile(foreign, nil, 0o644))
	must(t, os.WriteFile(filepath.Join(c.dir, "meta.properties"), nil, 0o644))
	dirs := func() []string { return []string{c.dir, filepath.Join(c.dir, "not-there"), c.dir + "/"} }
	m = start(t, cfg, store, Deps{Wanted: wanted, LogDirs: dirs, Log: slog.New(slog.NewTextHandler(&out, nil))})
	if got := m.Held(); len(got) != 1 || got[0] != want[0] {
		t.Errorf("found %v, want %v", got, want)
	}
	if !strings.Contains(out.String(), foreign) {
		t.Errorf("the foreign file is not reported: %s", out.String())
	}
	m.Close(deadline(t))
	m = start(t, cfg, store, Deps{Wanted: wanted})
	if got := m.Held(); len(got) != 1 || got[0] != want[0] {
		t.Errorf("in a directory of an earlier life: %v", got)
	}
	m.Close(deadline(t))
	must(t, os.Remove(filepath.Join(cfg.Reclaim.Dir, logDirsName)))
	m = start(t, cfg, store, Deps{Wanted: wanted})
	if got := m.Held(); len(got) != 0 {
		t.Errorf("known without a directory: %v", got)
	}
	c.ID[3]++
	copied(t, m, &c)
	if got := m.Held(); len(got) != 2 {
		t.Errorf("after a copy in the directory: %v", got)
	}
	m.ReleaseHeld(c.TopicID, -1, 1<<60)
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("the foreign file: %v", err)
	}
}

func TestHoldQuota(t *testing.T) {
	cfg, c := config(t), segment(t, 1000)
	cfg.HoldMaxBytes = c.Size + 10
	var out bytes.Buffer
	var mu sync.Mutex
	m := start(t, cfg, storetest.NewMemory(), Deps{Wanted: wanted, Log: slog.New(slog.NewTextHandler(lockedWriter{&mu, &out}, nil))})
	for range 4 {
		copied(t, m, &c)
		c.ID[3]++
	}
	if n := len(m.Held()); n != 1 {
		t.Errorf("%d hold files, the quota is enough for 1", n)
	}
	if n := metric(t, m, "hold_skipped_total"); n != 3 {
		t.Errorf("%v skipped, want 3", n)
	}
	mu.Lock()
	n := strings.Count(out.String(), "hold.skipped")
	mu.Unlock()
	if n != 1 {
		t.Errorf("logged %d times, want once", n)
	}
	m.ReleaseHeld(c.TopicID, 3, 1<<60)
	copied(t, m, &c)
	if n := len(m.Held()); n != 1 {
		t.Errorf("%d hold files after the release", n)
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	w  *bytes.Buffer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// The directory cannot be written, or is gone: the copy succeeds without.
func TestHoldCannotBeMade(t *testing.T) {
	m, c := start(t, config(t), storetest.NewMemory(), Deps{Wanted: wanted}), segment(t, 1000)
	f, err := os.Open(c.paths.Log)
	must(t, err)
	defer f.Close()
	m.holds.make(f, filepath.Join(c.dir, "not-there"), Held{Size: 5})
	if n := metric(t, m, "hold_skipped_total"); n != 1 || metric(t, m, "hold_bytes") != 0 {
		t.Errorf("%v skipped", n)
	}
	m.holds.make(f, "/proc", Held{Size: 5}) // another file system
	if n := metric(t, m, "hold_skipped_total"); n != 2 || len(m.Held()) != 0 {
		t.Errorf("%v skipped, %v held", n, m.Held())
	}
}

// An unclean leader election truncates the file through its other name.
func TestTruncatedHoldFile(t *testing.T) {
	m, c := start(t, config(t), storetest.NewMemory(), Deps{Wanted: wanted}), segment(t, 1000)
	copied(t, m, &c)
	held := m.Held()[0]
	must(t, os.Truncate(c.paths.Log, 100))
	if _, _, _, err := m.OpenHeld(held); !status.Is(err, status.Corrupt) || !strings.Contains(err.Error(), held.Path) {
		t.Errorf("truncated: %v, want Corrupt naming it", err)
	}
	must(t, os.Remove(held.Path))
	if _, _, _, err := m.OpenHeld(held); !status.Is(err, status.NotFound) {
		t.Errorf("removed by hand: %v, want NotFound", err)
	}
	if len(m.Held()) != 0 {
		t.Error("a file that is gone is still listed")
	}
}
