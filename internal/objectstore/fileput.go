package objectstore

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"

	"tidemark/internal/status"
)

// namingTries bounds how often a put makes its directories again because a delete removed them as empty.
const namingTries = 1000

// copyBuffers are the buffers of running puts, one each.
var copyBuffers = sync.Pool{New: func() any { return new([block / 4]byte) }}

// Put writes an object. After Unknown the object is visible but may not survive a crash of the host.
func (s *File) Put(ctx context.Context, key string, src Source, cond Condition) (Info, error) {
	if err := CheckPut(key, src, cond); err != nil {
		return Info{}, err
	}
	if err := s.writable("put " + key); err != nil {
		return Info{}, err
	}
	if cond.Match != "" {
		return Info{}, status.Errorf(status.Unsupported, "put %s: the file store cannot replace an object only if it is unchanged", key)
	}
	if cond.Absent {
		switch _, err := s.Head(ctx, key); status.Of(err) {
		case status.OK:
			return Info{}, exists(key)
		case status.NotFound:
		default:
			return Info{}, err
		}
	}
	TallyOf(ctx).Request()
	temp := temps + "/" + rand.Text()
	info, err := s.writeTemp(ctx, key, temp, src)
	if err == nil {
		err = s.name(ctx, temp, key, cond.Absent)
	}
	if err != nil {
		_ = s.root.Remove(temp)
		return Info{}, err
	}
	TallyOf(ctx).Part()
	if cond.Absent {
		_ = s.root.Remove(temp) // the object has its own name; a temporary one that stays is removed at a later open
	}
	if err := s.syncDirs(path.Dir(key)); err != nil {
		return Info{}, status.Errorf(status.Unknown, "put %s: it is written, but sync of its directory failed: %w", key, err)
	}
	return info, nil
}

func (s *File) writable(doing string) error {
	if s.readOnly {
		return status.Errorf(status.Invalid, "%s: file store %s was opened for reading only", doing, s.dir)
	}
	return nil
}

func exists(key string) error {
	return status.Errorf(status.Conflict, "put %s: the object exists", key)
}

// writeTemp writes and syncs the content and describes the object to be.
func (s *File) writeTemp(ctx context.Context, key, temp string, src Source) (Info, error) {
	f, err := s.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrNotExist) { // somebody tidied up
		if err = s.root.MkdirAll(temps, 0o755); err == nil {
			f, err = s.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		}
	}
	if err != nil {
		return Info{}, fileError(err, "put "+key+": make a temporary file in "+s.dir)
	}
	defer f.Close()
	buf := copyBuffers.Get().(*[block / 4]byte)
	defer copyBuffers.Put(buf)
	for at, size := int64(0), src.Size(); at < size; {
		if err := ctx.Err(); err != nil {
			return Info{}, status.Wrapf(err, "put %s at byte %d of %d", key, at, size)
		}
		part := buf[:min(int64(len(buf)), size-at)]
		if err := Pass(ctx, int64(len(part))); err != nil {
			return Info{}, status.Wrapf(err, "put %s at byte %d of %d", key, at, size)
		}
		if err := ReadSource(src, part, at); err != nil {
			return Info{}, status.Wrapf(err, "put %s", key)
		}
		if _, err := f.Write(part); err != nil {
			return Info{}, fileError(err, "put "+key+": write to "+s.dir)
		}
		at += int64(len(part))
	}
	if err := f.Sync(); err != nil {
		return Info{}, fileError(err, "put "+key+": sync a file in "+s.dir)
	}
	fi, err := f.Stat()
	if err != nil {
		return Info{}, fileError(err, "put "+key)
	}
	if err := f.Close(); err != nil {
		return Info{}, fileError(err, "put "+key+": close a file in "+s.dir)
	}
	return describe(key, fi), nil
}

// name gives a temporary file its key, making directories as needed. A delete may remove an empty directory between its
// making and its use; then it is made again.
func (s *File) name(ctx context.Context, temp, key string, absent bool) error {
	give := s.root.Rename
	if absent {
		give = s.root.Link
	}
	for try := 0; ; try++ {
		if err := ctx.Err(); err != nil {
			return status.Wrapf(err, "put %s", key)
		}
		err := give(temp, key)
		if err == nil {
			return nil
		}
		if fi, lerr := s.root.Lstat(key); lerr == nil && fi.IsDir() {
			// A directory left empty by a crash between the steps of a delete is no prefix; one with objects is.
			if syscall.Rmdir(s.path(key)) != nil {
				return status.Errorf(status.Invalid, "put %s: there are objects below this key, and in a file store a key is an object or a prefix, not both", key)
			}
		} else if absent && errors.Is(err, fs.ErrExist) {
			return exists(key)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fileError(err, "put "+key)
		}
		if try == namingTries {
			return status.Errorf(status.Transient, "put %s: its directory was removed %d times by concurrent deletes", key, try)
		}
		if err := s.root.MkdirAll(path.Dir(key), 0o755); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError(err, "put "+key+": make its directory")
		}
	}
}

// syncDirs makes directory dir and all above it durable. Those above are synced even if they existed: another writer may
// have made them a moment ago and not be there yet.
func (s *File) syncDirs(dir string) error {
	for ; ; dir = path.Dir(dir) {
		d, err := s.root.Open(dir)
		if err == nil {
			err = d.Sync()
			d.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // not there: the object has been deleted since
			return err
		}
		if dir == "." {
			return nil
		}
	}
}

// Delete removes objects and the directories that become empty by it.
func (s *File) Delete(ctx context.Context, keys ...string) error {
	for _, key := range keys {
		if err := CheckKey(key); err != nil {
			return err
		}
	}
	if err := s.writable("delete"); err != nil {
		return err
	}
	changed := map[string]bool{}
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return status.Wrapf(err, "delete %s", key)
		}
		removed, err := s.remove(key)
		if err != nil {
			return err
		}
		if removed {
			changed[s.prune(path.Dir(key))] = true
		}
	}
	for dir := range changed {
		d, err := s.root.Open(dir)
		if err == nil {
			err = d.Sync()
			d.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError(err, "delete: sync a directory of "+s.dir)
		}
	}
	return nil
}

// remove unlinks one object. It never removes a directory, not even an empty one: os.Root.Remove would.
func (s *File) remove(key string) (removed bool, err error) {
	fi, err := s.root.Lstat(key)
	if err == nil && fi.IsDir() {
		return false, nil
	}
	if err == nil {
		err = s.root.Remove(key)
	}
	switch {
	case err == nil:
		return true, nil
	case gone(err), errors.Is(err, syscall.ENOTEMPTY): // the latter: a directory took the object's place
		return false, nil
	}
	return false, fileError(err, "delete "+key)
}

// prune removes dir and the directories above it as long as they are empty and returns the first that stays. It must be
// rmdir: a general remove would unlink an object that took the directory's name in between.
func (s *File) prune(dir string) string {
	for dir != "." && syscall.Rmdir(s.path(dir)) == nil {
		dir = path.Dir(dir)
	}
	return dir
}

// path is for the one call that os.Root does not have. A symbolic link can lead it astray only to an empty directory.
func (s *File) path(key string) string { return s.dir + "/" + key }
