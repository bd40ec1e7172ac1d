package remotestorage

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// Why a segment has no hold file, as metric labels.
const (
	overQuota  = "quota"
	otherFS    = "file-system"
	linkFailed = "error"
)

// logDirsName is the file in local.dir that names the log directories with copied segments, one a line.
const logDirsName = "log-dirs"

// holds are the hold files of the known log directories. The directories are the truth; what is here is what was seen in
// them or made since.
type holds struct {
	quota   int64
	memory  string // file that names the directories looked into, so that the next start looks there before the first copy
	logDirs func() []string
	log     *slog.Logger
	skipped map[string]telemetry.Counter

	mu     sync.Mutex
	known  map[string]Held // by path
	bytes  int64
	dirs   map[string]bool // looked into
	warned map[string]bool // reasons already logged
}

func newHolds(quota int64, memory string, logDirs func() []string, log *slog.Logger, set *telemetry.Set) *holds {
	h := &holds{
		quota: quota, memory: memory, logDirs: logDirs, log: log,
		skipped: set.Counters("hold_skipped_total", "Segments of topics with a table that got no hold file: their stored object is read back instead.",
			"reason", overQuota, otherFS, linkFailed),
		known: map[string]Held{}, dirs: map[string]bool{}, warned: map[string]bool{},
	}
	set.GaugeFunc("hold_files", "Hold files: segments that wait for their table on local disk.", func() float64 { n, _ := h.stats(); return float64(n) })
	set.GaugeFunc("hold_bytes", "Bytes of hold files.", func() float64 { _, n := h.stats(); return float64(n) })
	if text, err := os.ReadFile(memory); err == nil {
		h.learn(strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })...)
	}
	return h
}

func (h *holds) stats() (files int, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.known), h.bytes
}

// learn looks for hold files in log directories that were not looked into yet. Other files are not touched.
func (h *holds) learn(dirs ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.dirs)
	defer func() {
		if len(h.dirs) > before {
			h.remember()
		}
	}()
	for _, dir := range dirs {
		dir = filepath.Clean(dir)
		if h.dirs[dir] {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			h.warn("list", "hold.list.failed", "dir", dir, "error", err.Error())
			continue
		}
		h.dirs[dir] = true
		for _, e := range entries {
			held, ok := ParseHoldName(e.Name())
			if !ok {
				if strings.HasPrefix(e.Name(), "tidemark-") {
					h.log.Warn("hold.foreign", "file", filepath.Join(dir, e.Name()), "effect", "it is left alone")
				}
				continue
			}
			fi, err := e.Info()
			if err != nil || !fi.Mode().IsRegular() {
				continue
			}
			held.Path, held.Size = filepath.Join(dir, e.Name()), fi.Size()
			h.add(held)
		}
	}
}

// remember writes down the directories. What is not written costs finding their hold files only at the next copy there.
func (h *holds) remember() {
	text := strings.Join(slices.Sorted(maps.Keys(h.dirs)), "\n") + "\n"
	next := h.memory + ".new"
	err := os.WriteFile(next, []byte(text), 0o644)
	if err == nil {
		err = os.Rename(next, h.memory)
	}
	if err != nil {
		h.warn("remember", "hold.dirs.failed", "file", h.memory, "error", err.Error())
	}
}

func (h *holds) add(held Held) {
	if _, ok := h.known[held.Path]; !ok {
		h.known[held.Path] = held
		h.bytes += held.Size
	}
}

func (h *holds) forget(path string) {
	if held, ok := h.known[path]; ok {
		delete(h.known, path)
		h.bytes -= held.Size
	}
}

// warn logs an event the first time that its reason occurs.
func (h *holds) warn(reason, event string, args ...any) {
	if !h.warned[reason] {
		h.warned[reason] = true
		h.log.Warn(event, args...)
	}
}

// make links an open log file into dir. What prevents it is counted, and logged once by reason.
func (h *holds) make(log *os.File, dir string, held Held) {
	held.Path = filepath.Join(filepath.Clean(dir), held.name())
	h.mu.Lock()
	if h.bytes+held.Size > h.quota {
		h.skip(overQuota, held, status.Errorf(status.Throttled, "hold.max.bytes is %d and %d are in use", h.quota, h.bytes))
		h.mu.Unlock()
		return
	}
	h.add(held) // reserves the bytes while the lock is not held
	h.mu.Unlock()
	err := link(log, held.Path)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	if err == nil {
		err = syncDir(filepath.Dir(held.Path))
	}
	if err == nil {
		return
	}
	_ = os.Remove(held.Path)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(held.Path)
	reason := linkFailed
	if errors.Is(err, syscall.EXDEV) {
		reason = otherFS
	}
	h.skip(reason, held, err)
}

func (h *holds) skip(reason string, held Held, err error) {
	h.skipped[reason].Inc()
	h.warn(reason, "hold.skipped", "reason", reason, "file", held.Path, "error", err.Error(),
		"effect", "the stored segment is read back for the table; later cases are counted only")
}

// list returns all hold files by partition and offset.
func (h *holds) list() []Held {
	if h.logDirs != nil {
		h.learn(h.logDirs()...)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Values(h.known), compareHeld)
}

// open opens a hold file. A file that is gone is forgotten.
func (h *holds) open(held Held) (io.ReaderAt, int64, io.Closer, error) {
	f, size, err := open(held.Path, "hold file")
	if status.Is(err, status.NotFound) {
		h.mu.Lock()
		h.forget(held.Path)
		h.mu.Unlock()
	}
	if err != nil {
		return nil, 0, nil, err
	}
	if size != held.Size {
		f.Close()
		return nil, 0, nil, status.Errorf(status.Corrupt, "hold file %s has %d bytes, it had %d when it was made or found: truncated through its other name",
			held.Path, size, held.Size)
	}
	return f, size, f, nil
}

// release removes the hold files of a partition, or of all if it is negative, that end at upTo or below.
func (h *holds) release(topicID [16]byte, partition int32, upTo int64) {
	for _, held := range h.list() {
		if held.TopicID != topicID || (partition >= 0 && held.Partition != partition) || held.End > upTo {
			continue
		}
		if err := os.Remove(held.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.log.Warn("hold.release.failed", "file", held.Path, "error", err.Error())
			continue
		}
		h.mu.Lock()
		h.forget(held.Path)
		h.mu.Unlock()
	}
}

// Held lists the hold files by topic, partition and offset.
func (m *Manager) Held() []Held { return m.holds.list() }

// OpenHeld opens a hold file for reading by position. The caller closes it, and checks every batch and that the last one
// reaches End: the file shares its content with Kafka's, which may have been truncated and written again. Errors: NotFound, Corrupt (another size),
// Transient.
func (m *Manager) OpenHeld(h Held) (io.ReaderAt, int64, io.Closer, error) { return m.holds.open(h) }

// ReleaseHeld removes the hold files of a partition whose last offset is below upTo, because the table has them; a negative
// partition means all of the topic. Deletes that waited for the table are looked at again.
func (m *Manager) ReleaseHeld(topicID [16]byte, partition int32, upTo int64) {
	m.holds.release(topicID, partition, upTo)
	m.reclaim.Wake()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
