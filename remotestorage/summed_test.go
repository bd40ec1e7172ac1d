package remotestorage

import (
	"bytes"
	"context"
	"hash/crc32"
	"os"
	"testing"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// summing checks what a source says of its bytes, as a store does that compares them with the checksum of a part.
type summing struct {
	objectstore.Store
	t      *testing.T
	known  int
	before func()
}

func (s *summing) Put(ctx context.Context, key string, src objectstore.Source, c objectstore.Condition) (objectstore.Info, error) {
	if sums, ok := src.(objectstore.Summed); ok {
		s.before()
		for at, step := int64(0), int64(2*stored.MinChunkSize); at < src.Size(); at += step {
			p := make([]byte, min(step, src.Size()-at))
			if err := objectstore.ReadSource(src, p, at); err != nil {
				return objectstore.Info{}, err
			}
			crc, ok := sums.CRC32C(at, int64(len(p)))
			if !ok {
				s.t.Errorf("bytes %d to %d are not known", at, at+int64(len(p)))
			}
			if crc != crc32.Checksum(p, castagnoli) {
				return objectstore.Info{}, status.Errorf(status.Corrupt, "bytes %d to %d differ from their checksum", at, at+int64(len(p)))
			}
			s.known++
		}
		for _, odd := range [][2]int64{{1, 10}, {0, stored.MinChunkSize - 1}, {stored.MinChunkSize, src.Size()}} {
			if _, ok := sums.CRC32C(odd[0], odd[1]); ok {
				s.t.Errorf("%d bytes at %d are said to be known", odd[1], odd[0])
			}
		}
	}
	return s.Store.Put(ctx, key, src, c)
}

// What the store is told of the bytes is what was checked: parts of whole chunks have their sum, and a file that is changed after the check
// does not fit it.
func TestPartsAreSummedByTheCheck(t *testing.T) {
	store := &summing{Store: storetest.NewMemory(), t: t, before: func() {}}
	m, c := start(t, config(t), store, Deps{}), segment(t, 1000)
	copied(t, m, &c)
	readBack(t, m, c)
	if want := int((c.Size + 2*stored.MinChunkSize - 1) / (2 * stored.MinChunkSize)); store.known != want || want < 2 {
		t.Errorf("%d parts were summed, want %d", store.known, want)
	}
	store.before = func() {
		changed := bytes.Clone(c.log)
		changed[len(changed)/2] ^= 1
		must(t, os.WriteFile(c.paths.Log, changed, 0o644))
	}
	c.ID[5]++
	if _, err := m.Copy(deadline(t), c.Segment, c.paths); !status.Is(err, status.Corrupt) {
		t.Errorf("copy of a file that changed after the check: %v", err)
	}
}
