package reclaim

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"tidemark/internal/status"
)

const (
	journalName = "tombstones.journal"
	lockName    = "tombstones.lock"
	asideName   = "tombstones.damaged-"
)

// journal is the file of tombstones. It belongs to one goroutine at a time. Records are written at size, which only moves
// when a write was whole, so the rest of a failed write is overwritten by the next.
type journal struct {
	dir     string
	lock    *os.File
	f       file
	size    int64
	records int64
}

// file is what a journal does with its file after it was opened.
type file interface {
	io.ReaderAt
	io.WriterAt
	Sync() error
	Close() error
}

// replayed is what a journal said when it was opened.
type replayed struct {
	pending map[[16]byte]Tombstone // by segment id
	damaged int                    // records whose checksum did not match, the header among them
	cut     int64                  // bytes of an unfinished record at the end
	aside   string                 // where a damaged file was kept
}

// openJournal locks the directory, making it if need be, and reads the journal in it.
func openJournal(dir string) (*journal, replayed, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, replayed{}, status.Errorf(status.Invalid, "local.dir %s: %w", dir, err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, replayed{}, status.Errorf(status.Invalid, "local.dir %s: %w", dir, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, replayed{}, status.Errorf(status.Invalid, "local.dir %s is in use by another broker or plugin instance: give each its own", dir)
	}
	if rest, err := filepath.Glob(filepath.Join(dir, journalName+".*")); err == nil {
		for _, path := range rest { // of a rewrite that a crash ended
			_ = os.Remove(path)
		}
	}
	j := &journal{dir: dir, lock: lock}
	r, err := j.load()
	if err != nil {
		j.close()
		return nil, replayed{}, err
	}
	return j, r, nil
}

func (j *journal) path() string { return filepath.Join(j.dir, journalName) }

func (j *journal) load() (replayed, error) {
	f, err := os.OpenFile(j.path(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return replayed{pending: map[[16]byte]Tombstone{}}, j.rewrite(nil)
	}
	if err != nil {
		return replayed{}, status.Errorf(status.Invalid, "tombstone journal: %w", err)
	}
	j.f = f
	r, err := j.replay(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return replayed{}, status.Wrapf(err, "tombstone journal %s", j.path())
	}
	if r.damaged > 0 {
		if r.aside, err = j.keep(); err != nil {
			return r, err
		}
		return r, j.rewrite(slices.Collect(maps.Values(r.pending)))
	}
	if r.cut > 0 {
		if err := f.Truncate(j.size); err != nil {
			return replayed{}, status.Errorf(status.Internal, "tombstone journal %s: cut %d bytes at its end: %w", j.path(), r.cut, err)
		}
	}
	return r, nil
}

// replay reads header and records and sets size and records. A damaged header counts as a damaged record: the records
// have checksums of their own.
func (j *journal) replay(src io.Reader) (replayed, error) {
	r := replayed{pending: map[[16]byte]Tombstone{}}
	head := make([]byte, headerSize)
	switch n, err := io.ReadFull(src, head); {
	case short(err):
		r.damaged, r.cut = 1, int64(n)
		return r, nil
	case err != nil:
		return r, unreadable(int64(n), err)
	}
	switch err := checkHeader(head); status.Of(err) {
	case status.OK:
	case status.Corrupt:
		r.damaged = 1
	default:
		return r, err
	}
	j.size = headerSize
	for buf := make([]byte, recordSize); ; {
		n, err := io.ReadFull(src, buf)
		if short(err) {
			r.cut = int64(n)
			return r, nil
		}
		if err != nil {
			return r, unreadable(j.size+int64(n), err)
		}
		j.size += recordSize
		j.records++
		switch k, t, ok := decodeRecord(buf); {
		case !ok:
			r.damaged++
		case k == wantedGone:
			r.pending[t.SegmentID] = t
		default:
			delete(r.pending, t.SegmentID)
		}
	}
}

// short tells the end of a file from a disk that does not give what it has.
func short(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

// unreadable is no damage: what the disk does not give now may be whole, and it names deletes that are still to be done.
func unreadable(at int64, err error) error {
	return status.Errorf(status.Transient, "cannot be read at byte %d, and is left as it is: %w. Mend the disk and start again; if the file is lost, "+
		"move it away: the objects of its deletes then stay in the store until a sweep removes them", at, err)
}

// keep copies the file as it is to one beside it and makes that durable: what was damaged may be of use to somebody. A copy, not
// a rename, because the deletes that can be read must be in a file all the time.
func (j *journal) keep() (path string, err error) {
	f, err := os.CreateTemp(j.dir, asideName+time.Now().UTC().Format("20060102T150405Z")+"-*")
	if err == nil {
		path = f.Name()
		_, err = io.Copy(f, io.NewSectionReader(j.f, 0, math.MaxInt64))
		if err == nil {
			err = f.Sync()
		}
		err = cmp.Or(err, f.Close())
		if err != nil {
			_ = os.Remove(path)
		}
	}
	if err != nil {
		return "", status.Errorf(status.Transient, "tombstone journal %s is damaged, and could not be kept aside: %w", j.path(), err)
	}
	return path, nil
}

// append writes records of one kind, with one write. After an error none of them counts.
func (j *journal) append(k kind, tombstones ...Tombstone) error {
	p := make([]byte, 0, recordSize*len(tombstones))
	for _, t := range tombstones {
		p = appendRecord(p, k, t)
	}
	if _, err := j.f.WriteAt(p, j.size); err != nil {
		return status.Errorf(status.Transient, "tombstone journal %s: %w", j.path(), err)
	}
	j.size += int64(len(p))
	j.records += int64(len(tombstones))
	return nil
}

// rewrite replaces the file by one with these tombstones only. After an error the journal is as good as before: it is the
// old file, or the new one whose name is not durable yet.
func (j *journal) rewrite(live []Tombstone) error {
	p := header()
	for _, t := range live {
		p = appendRecord(p, wantedGone, t)
	}
	f, err := os.CreateTemp(j.dir, journalName+".*")
	if err != nil {
		return status.Errorf(status.Transient, "tombstone journal %s: %w", j.path(), err)
	}
	_, err = f.WriteAt(p, 0)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), j.path())
	}
	if err != nil {
		f.Close()
		_ = os.Remove(f.Name())
		return status.Errorf(status.Transient, "tombstone journal %s: rewrite: %w", j.path(), err)
	}
	if j.f != nil {
		j.f.Close()
	}
	j.f, j.size, j.records = f, int64(len(p)), int64(len(live))
	if err := syncDir(j.dir); err != nil {
		return status.Errorf(status.Transient, "tombstone journal %s: sync its directory: %w", j.path(), err)
	}
	return nil
}

func (j *journal) close() {
	if j.f != nil {
		_ = j.f.Sync()
		j.f.Close()
	}
	j.lock.Close()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
