package sweep

import (
	"context"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

const (
	pageKeys = 1000        // of one listing: what S3 gives at most
	callTime = time.Minute // of one request, retries included
)

// place is a partition that has objects in the store.
type place struct {
	topicID   [16]byte
	partition int32
}

// segment is the objects of one segment.
type segment struct {
	stored.Identity
	log, sidecar objectstore.Info // Key "" = not there
}

func (s segment) readable() bool { return s.sidecar.Key != "" }

// youngest is when its last object was written.
func (s segment) youngest() time.Time {
	if s.log.Modified.After(s.sidecar.Modified) {
		return s.log.Modified
	}
	return s.sidecar.Modified
}

func (s segment) objects() (keys []string, bytes int64) {
	for _, o := range []objectstore.Info{s.sidecar, s.log} { // a half-done removal leaves no sidecar
		if o.Key != "" {
			keys, bytes = append(keys, o.Key), bytes+o.Size
		}
	}
	return keys, bytes
}

func list(ctx context.Context, store Store, prefix, after string, most int) ([]objectstore.Info, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	page, more, err := store.List(ctx, prefix, after, most)
	return page, more, status.Wrapf(err, "list %s after %q", prefix, after)
}

// beyond is a mark after which a listing goes on behind all keys that start with prefix, which ends in a slash: '0' is the character
// after it.
func beyond(prefix string) string { return prefix[:len(prefix)-1] + "0" }

// places calls f for each partition that has objects, with one request each; unknown is called for objects between them that are
// not Tidemark's. It ends with the first error.
func places(ctx context.Context, store Store, f func(place) error, unknown func(objectstore.Info)) error {
	after, most := "", 1
	for {
		page, more, err := list(ctx, store, key.Segments+"/", after, most)
		if err != nil {
			return err
		}
		most = 1
		for _, o := range page {
			topicID, partition, _, _, _, ok := key.ParseSegment(o.Key)
			if !ok { // there may be many
				unknown(o)
				after, most = o.Key, pageKeys
				continue
			}
			if err := f(place{topicID, partition}); err != nil {
				return err
			}
			after, more = beyond(key.PartitionPrefix(topicID, partition)), true
			break
		}
		if !more {
			return nil
		}
	}
}

// segments calls f for each segment of a partition, by base offset. It ends with the first error.
func segments(ctx context.Context, store Store, p place, f func(segment) error, unknown func(objectstore.Info)) error {
	prefix := key.PartitionPrefix(p.topicID, p.partition)
	var now segment // its objects follow each other in a listing, but not always in one page
	flush := func() error {
		if now.log.Key == "" && now.sidecar.Key == "" {
			return nil
		}
		s := now
		now = segment{}
		return f(s)
	}
	for after := ""; ; {
		page, more, err := list(ctx, store, prefix, after, pageKeys)
		if err != nil {
			return err
		}
		for _, o := range page {
			after = o.Key
			topicID, partition, base, id, kind, ok := key.ParseSegment(o.Key)
			if !ok || topicID != p.topicID || partition != p.partition {
				unknown(o)
				continue
			}
			of := stored.Identity{TopicID: topicID, Partition: partition, SegmentID: id, BaseOffset: base}
			if of != now.Identity {
				if err := flush(); err != nil {
					return err
				}
				now.Identity = of
			}
			if kind == key.Log {
				now.log = o
			} else {
				now.sidecar = o
			}
		}
		if !more || len(page) == 0 {
			return flush()
		}
	}
}
