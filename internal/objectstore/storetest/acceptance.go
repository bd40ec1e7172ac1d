package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

// Caps is what a store may lack or what costs it too much time.
type Caps struct {
	Swap    bool // Condition.Match works; if not it must be Unsupported
	Nesting bool // "a" may exist beside "a/b"; if not the second put must be Invalid
	// ByDirectory: the server lists directory by directory, so that "a/b" comes before "a-b", and after "a" all below "a/" is missing.
	ByDirectory bool

	Rounds int   // races of 16 creators; default 5
	Large  int64 // bytes of the large object; default 24 MiB
}

// suite is one subtest: a store, a prefix of its own and a deadline.
type suite struct {
	*testing.T
	ctx    context.Context
	store  objectstore.Store
	prefix string
	caps   Caps
}

// Acceptance runs the suite. open is called once per subtest and may return the same store: every subtest keeps to a
// prefix of its own, which differs from run to run.
func Acceptance(t *testing.T, open func(t *testing.T) objectstore.Store, caps Caps) {
	if caps.Rounds == 0 {
		caps.Rounds = 5
	}
	if caps.Large == 0 {
		caps.Large = 24 << 20
	}
	run := fmt.Sprintf("acceptance/%d", time.Now().UnixNano())
	for _, c := range []struct {
		name string
		run  func(*suite)
	}{
		{"whole", whole}, {"ranges", ranges}, {"scattered", scattered}, {"absent", absent}, {"keys", keys}, {"addresses", addresses},
		{"list", list}, {"paging", paging}, {"delete", remove}, {"nesting", nesting}, {"source", source},
		{"create", create}, {"swap", swap}, {"creators", creators}, {"swappers", swappers}, {"overwrite", overwrite},
		{"large", large}, {"cancelled", cancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
			defer cancel()
			c.run(&suite{t, ctx, open(t), run + "/" + c.name + "/", caps})
		})
	}
}

// put stores bytes under the suite's prefix.
func (s *suite) put(key, data string, cond objectstore.Condition) (objectstore.Info, error) {
	return s.store.Put(s.ctx, s.prefix+key, strings.NewReader(data), cond)
}

func (s *suite) mustPut(key, data string) objectstore.Info {
	s.Helper()
	info, err := s.put(key, data, objectstore.Condition{})
	if err != nil {
		s.Fatalf("put %s: %v", key, err)
	}
	return info
}

func (s *suite) content(key string) string {
	s.Helper()
	data, info, err := s.store.Get(s.ctx, s.prefix+key, 1<<20)
	if err != nil {
		s.Fatalf("get %s: %v", key, err)
	}
	if info.Size != int64(len(data)) || info.Key != s.prefix+key {
		s.Errorf("get %s: %d bytes described as %+v", key, len(data), info)
	}
	return string(data)
}

func (s *suite) want(what string, err error, class status.Class) {
	s.Helper()
	if !status.Is(err, class) {
		s.Errorf("%s: class %v (%v), want %v", what, status.Of(err), err, class)
	}
}

// keysOf lists everything under the suite's prefix in pages and returns the keys without it.
func (s *suite) keysOf(prefix string, page int) (keys []string) {
	s.Helper()
	after := ""
	for more := true; more; {
		var infos []objectstore.Info
		var err error
		infos, more, err = s.store.List(s.ctx, s.prefix+prefix, after, page)
		if err != nil {
			s.Fatalf("list %q after %q: %v", prefix, after, err)
		}
		if len(infos) > page || more && len(infos) == 0 {
			s.Fatalf("list %q after %q: a page of %d objects, more = %v, asked for %d", prefix, after, len(infos), more, page)
		}
		for _, i := range infos {
			keys = append(keys, strings.TrimPrefix(i.Key, s.prefix))
			after = i.Key
		}
	}
	return keys
}

// pattern is content in which every position can be told from its neighbours and from a misplaced block.
type pattern struct{ size, seed int64 }

func (p pattern) Size() int64 { return p.size }

func (p pattern) at(i int64) byte { return byte((i*31 + p.seed) ^ (i >> 8) ^ (i >> 16)) }

func (p pattern) ReadAt(b []byte, off int64) (int, error) {
	n := int(min(int64(len(b)), p.size-off))
	for i := range n {
		b[i] = p.at(off + int64(i))
	}
	if n < len(b) {
		return n, errShort
	}
	return n, nil
}

func (p pattern) check(b []byte, off int64) error {
	for i := range b {
		if b[i] != p.at(off+int64(i)) {
			return fmt.Errorf("byte %d differs", off+int64(i))
		}
	}
	return nil
}

func equal(a, b []string) bool { return slices.Equal(a, b) }

func sameBytes(a []byte, b string) bool { return bytes.Equal(a, []byte(b)) }
