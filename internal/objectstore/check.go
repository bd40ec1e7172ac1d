package objectstore

import (
	"strings"
	"unicode/utf8"

	"tidemark/internal/status"
)

// Bounds of a key, the strictest of all stores: S3's length of a whole key less room for a prefix, and a file system's
// length of one name.
const (
	MaxKey  = 900
	MaxPart = 255
)

// reserved is the first part of a key that no object may have: the file store keeps its temporary files there.
const reserved = ".tidemark"

// CheckKey reports why a key cannot name an object, as Invalid. All stores share one rule, so that what works on one
// works on the others: parts between slashes, none of them empty, "." or "..", no control characters, valid UTF-8, and
// not the reserved first part.
func CheckKey(key string) error {
	switch {
	case key == "":
		return status.Errorf(status.Invalid, "an object key must not be empty")
	case len(key) > MaxKey:
		return status.Errorf(status.Invalid, "object key %.60q… has %d bytes, more than %d", key, len(key), MaxKey)
	case !utf8.ValidString(key):
		return status.Errorf(status.Invalid, "object key %q is not UTF-8", key)
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] == 0x7f {
			return status.Errorf(status.Invalid, "object key %q holds a control character", key)
		}
	}
	for i, part := range strings.Split(key, "/") {
		switch {
		case part == "" || part == "." || part == "..":
			return status.Errorf(status.Invalid, "object key %q has the part %q", key, part)
		case len(part) > MaxPart:
			return status.Errorf(status.Invalid, "object key %.60q… has a part of %d bytes, more than %d", key, len(part), MaxPart)
		case i == 0 && part == reserved:
			return status.Errorf(status.Invalid, "object key %q starts with %s, which the store keeps for itself", key, reserved)
		}
	}
	return nil
}

// CheckPut is what every store refuses before it writes.
func CheckPut(key string, src Source, cond Condition) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if cond.Absent && cond.Match != "" {
		return status.Errorf(status.Invalid, "put %s: a condition is Absent or Match, not both", key)
	}
	if src.Size() < 0 {
		return status.Errorf(status.Invalid, "put %s: the source has size %d", key, src.Size())
	}
	return nil
}

// CheckRange is what every store refuses before it reads.
func CheckRange(key string, offset int64) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if offset < 0 {
		return status.Errorf(status.Invalid, "read %s: offset %d is negative", key, offset)
	}
	return nil
}

// CheckList is what every store refuses before it lists.
func CheckList(prefix string, max int) error {
	if max < 1 {
		return status.Errorf(status.Invalid, "list %q: a page of %d objects", prefix, max)
	}
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		return status.Wrapf(CheckKey(prefix[:i]), "list %q", prefix)
	}
	return nil
}

// ShortRange is the error of a range that an object does not have: Corrupt, because readers ask only for what a manifest
// or a footer promised.
func ShortRange(key string, offset int64, length int, size int64) error {
	return status.Errorf(status.Corrupt, "object %s has %d bytes, bytes %d to %d were asked for: it is shorter than what refers to it says",
		key, size, offset, offset+int64(length))
}

// TooLarge is the error of a Get beyond its limit.
func TooLarge(key string, size, limit int64) error {
	return status.Errorf(status.Invalid, "object %s has %d bytes, more than the %d that may be read at once", key, size, limit)
}

// Length is the number of bytes of all buffers together.
func Length(dsts [][]byte) (n int64) {
	for _, d := range dsts {
		n += int64(len(d))
	}
	return n
}
