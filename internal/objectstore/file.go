package objectstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/internal/status"
)

// temps is where objects are written before they get their name. It is in the root, so that a rename never crosses a
// file system.
const temps = reserved + "/tmp"

// tempAge is the age at which a temporary file is taken for the remains of a crash. No put lasts that long.
const tempAge = 24 * time.Hour

// FileOptions are the settings of a file store. The zero value is right for a writer.
type FileOptions struct {
	// ReadOnly makes and removes nothing, not even the directory itself: for looking into a store from outside. Puts and
	// deletes are Invalid.
	ReadOnly bool
}

// File is a store in a directory of a local file system: an object is a file, its key is its path. Several processes of
// one host may use one root at the same time.
//
// A put writes a temporary file, syncs it, gives it its name by rename (or by link, which fails if the name is taken, for
// Condition.Absent) and syncs the directories above. Condition.Match is Unsupported: no system call replaces a file
// only if it is still a certain one, and a lock would leave the writers of a crashed or stopped process waiting.
//
// A key cannot be both an object and the prefix of another (a file is no directory): such a put is Invalid. Calls end
// between blocks when the context ends; a call of the system that hangs cannot be interrupted.
//
// The ETag is inode, modification time and size: cheap for Head and List. Every put makes a new inode, so two puts have
// different ETags even for equal content.
type File struct {
	root     *os.Root
	dir      string
	readOnly bool
}

var _ Store = (*File)(nil)

// OpenFile opens the store in dir, which is made if it is missing, and removes what crashed writers left behind more than
// a day ago. A root on a network file system or on one without hard links is Unsupported; a path with characters that
// engines read differently in a file: address (control characters, '%', '?', '#') is Invalid.
func OpenFile(dir string, opt FileOptions) (*File, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, status.Errorf(status.Invalid, "file store: %w", err)
	}
	if strings.ContainsFunc(dir, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '%' || r == '?' || r == '#' }) {
		return nil, status.Errorf(status.Invalid, "file store: path %q holds a character that engines read differently in a file: address "+
			"(a control character, '%%', '?' or '#'): choose another directory", dir)
	}
	if !opt.ReadOnly {
		if err := os.MkdirAll(filepath.Join(dir, temps), 0o755); err != nil {
			return nil, fileError(err, "open file store "+dir)
		}
	}
	if err := checkFileSystem(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, readError(err, "open file store "+dir)
	}
	s := &File{root: root, dir: dir, readOnly: opt.ReadOnly}
	if !s.readOnly {
		if err = s.removeTemps(); err == nil {
			err = s.probe()
		}
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return s, nil
}

// Close releases the root directory. No call may follow or be running.
func (s *File) Close() error { return s.root.Close() }

// removeTemps removes old temporary files. One that is a second name of a finished object (a crash between link and
// unlink) goes the same way: the object keeps its own name.
func (s *File) removeTemps() error {
	d, err := s.root.Open(temps)
	if err != nil {
		return fileError(err, "open file store "+s.dir)
	}
	defer d.Close()
	limit := time.Now().Add(-tempAge)
	for {
		entries, err := d.ReadDir(256)
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(limit) {
				continue
			}
			if err := s.root.Remove(temps + "/" + e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fileError(err, "remove an old temporary file of file store "+s.dir)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fileError(err, "open file store "+s.dir)
		}
	}
}

// probe makes sure that a link fails on a name that is taken: creation with Condition.Absent rests on it.
func (s *File) probe() error {
	name := temps + "/" + rand.Text()
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fileError(err, "write to file store "+s.dir)
	}
	f.Close()
	defer s.root.Remove(name)
	other := name + ".link"
	defer s.root.Remove(other)
	if err := s.root.Link(name, other); err != nil {
		return status.Errorf(status.Unsupported, "file store %s: the file system makes no hard links (%w): use ext4, xfs, btrfs or tmpfs", s.dir, err)
	}
	if err := s.root.Link(name, other); !errors.Is(err, fs.ErrExist) {
		return status.Errorf(status.Unsupported, "file store %s: the file system links over an existing name (%v): use ext4, xfs, btrfs or tmpfs", s.dir, err)
	}
	return nil
}

// URI is file:// with the absolute path, without any encoding: that is what engines write and read.
func (s *File) URI(key string) string { return "file://" + s.dir + "/" + key }

// Key is the inverse of URI; file:/path, as Java writes it, is understood too.
func (s *File) Key(uri string) (string, bool) {
	path, ok := strings.CutPrefix(uri, "file:")
	if !ok {
		return "", false
	}
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		path = rest
	}
	key, ok := strings.CutPrefix(path, s.dir+"/")
	return key, ok && CheckKey(key) == nil
}

// Get returns the whole object.
func (s *File) Get(ctx context.Context, key string, limit int64) ([]byte, Info, error) {
	f, info, err := s.open(ctx, key)
	if err != nil {
		return nil, Info{}, err
	}
	defer f.Close()
	if info.Size > limit {
		return nil, info, TooLarge(key, info.Size, limit)
	}
	data := make([]byte, info.Size)
	if err := readFull(ctx, f, key, data, 0, info.Size); err != nil {
		return nil, info, err
	}
	return data, info, nil
}

// ReadRange fills dst from offset on.
func (s *File) ReadRange(ctx context.Context, key string, dst []byte, offset int64) error {
	if err := CheckRange(key, offset); err != nil {
		return err
	}
	f, info, err := s.open(ctx, key)
	if err != nil {
		return err
	}
	defer f.Close()
	if offset+int64(len(dst)) > info.Size {
		return ShortRange(key, offset, len(dst), info.Size)
	}
	return readFull(ctx, f, key, dst, offset, info.Size)
}

// ReadScatter fills one buffer after the other.
func (s *File) ReadScatter(ctx context.Context, key string, dsts [][]byte, offset int64, filled func(i int)) error {
	if err := CheckRange(key, offset); err != nil {
		return err
	}
	f, info, err := s.open(ctx, key)
	if err != nil {
		return err
	}
	defer f.Close()
	if n := Length(dsts); offset+n > info.Size {
		return ShortRange(key, offset, int(n), info.Size)
	}
	for i, dst := range dsts {
		if err := readFull(ctx, f, key, dst, offset, info.Size); err != nil {
			return err
		}
		offset += int64(len(dst))
		filled(i)
	}
	return nil
}

// Head returns the description of an object.
func (s *File) Head(ctx context.Context, key string) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return Info{}, status.Wrapf(err, "head %s", key)
	}
	fi, err := s.root.Lstat(key)
	if err != nil {
		return Info{}, readError(err, "head "+key)
	}
	if !fi.Mode().IsRegular() {
		return Info{}, status.Errorf(status.NotFound, "head %s: it is a %s, not an object", key, fi.Mode().Type())
	}
	return describe(key, fi), nil
}

// open opens an object for reading. Its bytes never change: a put makes a new file.
func (s *File) open(ctx context.Context, key string) (*os.File, Info, error) {
	if _, err := s.Head(ctx, key); err != nil { // before the open, which would wait for ever on a pipe
		return nil, Info{}, err
	}
	f, err := s.root.Open(key)
	if err != nil {
		return nil, Info{}, readError(err, "open "+key)
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		f.Close()
		return nil, Info{}, readError(err, "open "+key)
	}
	return f, describe(key, fi), nil
}

// block is the largest piece read or written between two looks at the context.
const block = 1 << 20

func readFull(ctx context.Context, f *os.File, key string, dst []byte, offset, size int64) error {
	for done := 0; done < len(dst); {
		if err := ctx.Err(); err != nil {
			return status.Wrapf(err, "read %s at byte %d", key, offset+int64(done))
		}
		n, err := f.ReadAt(dst[done:min(done+block, len(dst))], offset+int64(done))
		done += n
		if errors.Is(err, io.EOF) && done < len(dst) {
			return status.Errorf(status.Corrupt, "object %s became shorter while it was read: it ends at byte %d of %d", key, offset+int64(done), size)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fileError(err, fmt.Sprintf("read %s at byte %d", key, offset+int64(done)))
		}
	}
	return nil
}
