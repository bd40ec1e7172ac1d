package objectstore

import (
	"context"
	"io"
	"time"
)

// Source is the content of an object to be written: bytes of a known size, read by position, possibly by several
// goroutines and more than once. *bytes.Reader is one; a file with its size is another (FileSource).
type Source interface {
	io.ReaderAt
	Size() int64
}

// Condition is what must hold for a put to happen. The zero value means: always.
type Condition struct {
	Absent bool   // the key must not exist (If-None-Match: *)
	Match  string // the object must have this ETag (If-Match); "" is no condition
}

// Info describes one stored object.
type Info struct {
	Key      string
	Size     int64
	ETag     string // opaque; equal content may have equal ETags
	Modified time.Time
}

// Reader is a store that can be read.
type Reader interface {
	// Get returns the whole object. An object larger than limit bytes is Invalid, before it is read.
	Get(ctx context.Context, key string, limit int64) ([]byte, Info, error)
	// ReadRange fills dst with the bytes from offset on. Fewer bytes in the object are Corrupt and name the key, the range
	// and the object's size. A short dst is not an error of the store.
	ReadRange(ctx context.Context, key string, dst []byte, offset int64) error
	// ReadScatter reads consecutive bytes from offset on into the buffers of dsts, one after the other, with one request where the
	// store can, and calls filled with the index of each buffer once it is full, in order, while the rest is still on its
	// way. After an error the buffers that were reported stay as they are. Errors as those of ReadRange.
	ReadScatter(ctx context.Context, key string, dsts [][]byte, offset int64, filled func(i int)) error
	// Head returns the description of an object, NotFound if there is none.
	Head(ctx context.Context, key string) (Info, error)
	// List returns up to max objects whose keys start with prefix and are greater than after, in key order, and whether
	// there may be more.
	List(ctx context.Context, prefix, after string, max int) (objects []Info, more bool, err error)
	// URI is the address of a key as engines write it: s3://bucket/prefix/key, file:///dir/key.
	URI(key string) string
	// Key is the inverse of URI; ok is false for an address outside this store.
	Key(uri string) (key string, ok bool)
}

// Store is a store that can be read and written.
type Store interface {
	Reader
	// Put writes an object, in parallel parts if it is large, and returns its description once it is durable. When the
	// condition does not hold the class is Conflict and nothing has changed. A failed put leaves no visible object and no
	// upload behind, as far as the store can still be reached. Class Unknown: the put may have happened.
	Put(ctx context.Context, key string, src Source, cond Condition) (Info, error)
	// Delete removes objects. Keys that do not exist are success.
	Delete(ctx context.Context, keys ...string) error
}
