package payload

import (
	"bytes"
	"strconv"

	"tidemark/parquet/column"
)

// unmapped collects the properties that the schema does not name as one JSON object, nested ones under the names of their
// objects, those in lists under the index of the element:
//
//	{"extra": 1, "address": {"zip": "x"}, "items": {"3": {"note": null}}}
type unmapped struct {
	entries []entry // of the object that is being scanned
	out     []byte  // the object so far, without its closing brackets; empty: there is nothing
	path    []frame // the way to the object whose entries come next
	written int     // how many of path are open in out
}

type entry struct {
	key, value []byte // the key unescaped; both alias the value or scratch
}

// frame is a property name, or the index of an element if name is "".
type frame struct {
	name    string
	index   int
	element bool
}

func (u *unmapped) reset() {
	u.entries, u.out, u.path, u.written = u.entries[:0], u.out[:0], u.path[:0], 0
}

func (u *unmapped) enter(name string)   { u.path = append(u.path, frame{name: name}) }
func (u *unmapped) enterElement(i int)  { u.path = append(u.path, frame{index: i, element: true}) }
func (u *unmapped) open() int           { return len(u.entries) }
func (u *unmapped) add(key, val []byte) { u.entries = append(u.entries, entry{key, val}) }

// leave closes what was opened in out for the innermost name.
func (u *unmapped) leave() {
	u.path = u.path[:len(u.path)-1]
	if u.written > len(u.path) {
		u.written--
		u.out = append(u.out, '}')
	}
}

func (u *unmapped) has(first int, name string) bool {
	for _, e := range u.entries[first:] {
		if string(e.key) == name {
			return true
		}
	}
	return false
}

// close writes the entries from first on: the last of duplicates, in the order of the value.
func (u *unmapped) close(first int) {
	entries := u.entries[first:]
	if len(entries) == 0 {
		return
	}
	var last map[string]int
	if len(entries) > fewEntries {
		last = make(map[string]int, len(entries))
		for i, e := range entries {
			last[string(e.key)] = i
		}
	}
	for ; u.written < len(u.path); u.written++ {
		u.name(u.path[u.written])
		u.out = append(u.out, '{')
	}
	for i, e := range entries {
		if isLast(entries, i, last) {
			u.separate()
			u.out = appendQuoted(u.out, e.key)
			u.out = append(append(u.out, ':'), e.value...)
		}
	}
	u.entries = u.entries[:first]
}

// fewEntries is up to where comparing all keys with all is cheaper than a map.
const fewEntries = 32

// isLast reports whether entry i is the last of its key. last, if there is one, has the last position of every key.
func isLast(entries []entry, i int, last map[string]int) bool {
	if last != nil {
		return last[string(entries[i].key)] == i
	}
	for _, later := range entries[i+1:] {
		if bytes.Equal(later.key, entries[i].key) {
			return false
		}
	}
	return true
}

func (u *unmapped) separate() {
	if len(u.out) == 0 {
		u.out = append(u.out, '{')
	} else if u.out[len(u.out)-1] != '{' {
		u.out = append(u.out, ',')
	}
}

func (u *unmapped) name(f frame) {
	u.separate()
	if f.element {
		u.out = append(u.out, '"')
		u.out = strconv.AppendInt(u.out, int64(f.index), 10)
		u.out = append(u.out, '"', ':')
		return
	}
	u.out = append(appendQuoted(u.out, []byte(f.name)), ':')
}

// finish appends the object, or null if there is nothing.
func (u *unmapped) finish(v *column.Vector) {
	if len(u.out) == 0 {
		v.AppendNull()
		return
	}
	u.out = append(u.out, '}')
	v.AppendBytes(u.out)
}

// appendQuoted appends valid UTF-8 as a JSON string.
func appendQuoted(dst, text []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
