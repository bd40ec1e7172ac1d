package objectstore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"sort"
	"strings"

	"tidemark/internal/status"
)

// scanNames is how many names of one directory are held at a time.
const scanNames = 1024

// List walks the directories in key order. Names of a directory compare with a slash at their end if they are
// directories themselves: "a-b" sorts before "a/b". Memory is bounded by the page and the depth, not by what is stored:
// a directory with more than scanNames names is read once for each piece. Objects put or deleted meanwhile may or may
// not be in the page.
func (s *File) List(ctx context.Context, prefix, after string, max int) ([]Info, bool, error) {
	if err := CheckList(prefix, max); err != nil {
		return nil, false, err
	}
	l := &lister{ctx: ctx, store: s, prefix: prefix, after: after, max: max}
	start := ""
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		start = prefix[:i+1]
	}
	if err := l.walk(start); err != nil && !errors.Is(err, errPageFull) {
		return nil, false, err
	}
	return l.page, l.more, nil
}

var errPageFull = errors.New("page full")

type lister struct {
	ctx           context.Context
	store         *File
	prefix, after string
	max           int
	page          []Info
	more          bool
}

// walk adds what lies in directory dir ("" or ending in a slash).
func (l *lister) walk(dir string) error {
	for from := ""; ; {
		names, more, err := l.scan(dir, from)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := l.visit(dir + name); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		from = names[len(names)-1]
	}
}

// visit descends into a directory (key ends in a slash) or adds an object.
func (l *lister) visit(key string) error {
	if strings.HasSuffix(key, "/") {
		return l.walk(key)
	}
	fi, err := l.store.root.Lstat(key)
	if err != nil {
		if gone(err) {
			return nil
		}
		return fileError(err, "list "+key)
	}
	if !fi.Mode().IsRegular() {
		return nil
	}
	if len(l.page) == l.max {
		l.more = true
		return errPageFull
	}
	l.page = append(l.page, describe(key, fi))
	return nil
}

// wanted prunes: name is an entry of dir, with a slash if it is a directory. Everything below a directory is after or
// before the mark together, unless the mark lies within.
func (l *lister) wanted(dir, name string) bool {
	full := dir + name
	if !strings.HasSuffix(name, "/") {
		return strings.HasPrefix(full, l.prefix) && full > l.after
	}
	if dir == "" && name == reserved+"/" {
		return false
	}
	return (strings.HasPrefix(full, l.prefix) || strings.HasPrefix(l.prefix, full)) &&
		(full > l.after || strings.HasPrefix(l.after, full))
}

// scan returns the least wanted names of a directory that are greater than from, sorted, and whether there are more.
func (l *lister) scan(dir, from string) (names []string, more bool, err error) {
	d, err := l.store.root.Open(path.Clean("./" + dir))
	if err != nil {
		if gone(err) {
			return nil, false, nil
		}
		return nil, false, fileError(err, "list "+dir)
	}
	defer d.Close()
	for {
		if err := l.ctx.Err(); err != nil {
			return nil, false, status.Wrapf(err, "list %s", dir)
		}
		entries, err := d.ReadDir(scanNames)
		for _, e := range entries {
			name := e.Name()
			if e.IsDir() {
				name += "/"
			} else if e.Type()&^fs.ModeIrregular != 0 {
				continue // links, pipes and devices are no objects
			}
			if name > from && l.wanted(dir, name) {
				names = append(names, name)
			}
		}
		if len(names) > 2*scanNames || err != nil {
			sort.Strings(names)
			if len(names) > scanNames {
				names, more = names[:scanNames], true
			}
		}
		if err == io.EOF {
			return names, more, nil
		}
		if err != nil {
			if gone(err) {
				return names, more, nil
			}
			return nil, false, fileError(err, "list "+dir)
		}
	}
}
