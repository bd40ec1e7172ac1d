package storetest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

var errShort = io.EOF

func whole(s *suite) {
	info := s.mustPut("a", "hello")
	if info.Key != s.prefix+"a" || info.Size != 5 || info.ETag == "" {
		s.Errorf("put described the object as %+v", info)
	}
	if got := s.content("a"); got != "hello" {
		s.Errorf("content = %q", got)
	}
	head, err := s.store.Head(s.ctx, s.prefix+"a")
	if err != nil || head.Size != 5 || head.ETag != info.ETag || head.Key != info.Key {
		s.Errorf("head = %+v, %v; put said %+v", head, err, info)
	}
	if head.Modified.IsZero() || head.Modified.After(time.Now().Add(time.Hour)) {
		s.Errorf("modified = %v", head.Modified)
	}
	again := s.mustPut("a", "other content")
	if got := s.content("a"); got != "other content" || again.ETag == info.ETag {
		s.Errorf("after an overwrite: %q, ETags %s and %s", got, info.ETag, again.ETag)
	}
	s.mustPut("empty", "")
	if got := s.content("empty"); got != "" {
		s.Errorf("empty object holds %q", got)
	}
	_, _, err = s.store.Get(s.ctx, s.prefix+"a", 12)
	s.want("get above the limit", err, status.Invalid)
	if _, _, err = s.store.Get(s.ctx, s.prefix+"a", 13); err != nil {
		s.Errorf("get at the limit: %v", err)
	}
}

func ranges(s *suite) {
	s.mustPut("a", "0123456789")
	for _, c := range []struct {
		offset int64
		length int
		want   string
	}{{0, 10, "0123456789"}, {0, 1, "0"}, {9, 1, "9"}, {3, 4, "3456"}, {0, 0, ""}, {10, 0, ""}} {
		dst := make([]byte, c.length)
		if err := s.store.ReadRange(s.ctx, s.prefix+"a", dst, c.offset); err != nil || !sameBytes(dst, c.want) {
			s.Errorf("range %d+%d = %q, %v, want %q", c.offset, c.length, dst, err, c.want)
		}
	}
	for _, c := range [][2]int64{{0, 11}, {9, 2}, {10, 1}, {11, 1}, {1 << 40, 8}} {
		err := s.store.ReadRange(s.ctx, s.prefix+"a", make([]byte, c[1]), c[0])
		s.want(fmt.Sprintf("range %d+%d of 10 bytes", c[0], c[1]), err, status.Corrupt)
		if err != nil && (!strings.Contains(err.Error(), s.prefix+"a") || !strings.Contains(err.Error(), "10 bytes")) {
			s.Errorf("the error does not name the object and its size: %v", err)
		}
	}
	s.want("negative offset", s.store.ReadRange(s.ctx, s.prefix+"a", make([]byte, 1), -1), status.Invalid)
	s.mustPut("empty", "")
	s.want("range of an empty object", s.store.ReadRange(s.ctx, s.prefix+"empty", make([]byte, 1), 0), status.Corrupt)
}

func scattered(s *suite) {
	s.mustPut("a", "0123456789")
	dsts := [][]byte{make([]byte, 3), {}, make([]byte, 4)}
	var order []int
	if err := s.store.ReadScatter(s.ctx, s.prefix+"a", dsts, 2, func(i int) { order = append(order, i) }); err != nil {
		s.Errorf("scattered read: %v", err)
	}
	if !slices.Equal(order, []int{0, 1, 2}) || string(dsts[0]) != "234" || string(dsts[2]) != "5678" {
		s.Errorf("filled %v: %q", order, dsts)
	}
	none := func(i int) { s.Errorf("buffer %d is filled by a read that fails", i) }
	s.want("scattered read over the end", s.store.ReadScatter(s.ctx, s.prefix+"a", dsts, 4, none), status.Corrupt)
	s.want("scattered read of nothing there", s.store.ReadScatter(s.ctx, s.prefix+"none", dsts, 0, none), status.NotFound)
	s.want("scattered read at a negative offset", s.store.ReadScatter(s.ctx, s.prefix+"a", dsts, -1, none), status.Invalid)
	if err := s.store.ReadScatter(s.ctx, s.prefix+"a", nil, 10, none); err != nil {
		s.Errorf("scattered read into nothing: %v", err)
	}
}

func absent(s *suite) {
	s.mustPut("dir/a", "x")
	for _, key := range []string{"none", "dir", "dir/a/b", "none/at/all"} {
		_, _, err := s.store.Get(s.ctx, s.prefix+key, 10)
		s.want("get "+key, err, status.NotFound)
		_, err = s.store.Head(s.ctx, s.prefix+key)
		s.want("head "+key, err, status.NotFound)
		s.want("range "+key, s.store.ReadRange(s.ctx, s.prefix+key, make([]byte, 1), 0), status.NotFound)
	}
}

func keys(s *suite) {
	for _, key := range []string{"", "/a", "a/", "a//b", "../a", "a/..", "a/./b", "a\x00b", "a\nb", "\xff", ".tidemark/tmp/x",
		strings.Repeat("x", 300), strings.Repeat("x/", 600) + "x"} {
		_, err := s.store.Put(s.ctx, key, strings.NewReader("x"), objectstore.Condition{})
		s.want(fmt.Sprintf("put %.20q", key), err, status.Invalid)
		_, _, err = s.store.Get(s.ctx, key, 1)
		s.want(fmt.Sprintf("get %.20q", key), err, status.Invalid)
		s.want(fmt.Sprintf("delete %.20q", key), s.store.Delete(s.ctx, key), status.Invalid)
	}
	odd := []string{"a b", "a+b", "a=b&c", "a!2Fb", "a%2Fb", "ü", "a'()*", ".hidden", "_x", "a:b", "a?b#c", strings.Repeat("y", 200)}
	for i, key := range odd {
		s.mustPut("odd/"+key, fmt.Sprint(i))
	}
	for i, key := range odd {
		if got := s.content("odd/" + key); got != fmt.Sprint(i) {
			s.Errorf("%q holds %q, want %d", key, got, i)
		}
	}
	slices.Sort(odd)
	got := s.keysOf("odd/", 3)
	for i := range got {
		got[i] = strings.TrimPrefix(got[i], "odd/")
	}
	if !equal(got, odd) {
		s.Errorf("list = %q\nwant   %q", got, odd)
	}
}

func addresses(s *suite) {
	for _, key := range []string{"a", "a/b-c/d.parquet", s.prefix + "x!2F"} {
		uri := s.store.URI(key)
		back, ok := s.store.Key(uri)
		if !ok || back != key || !strings.HasSuffix(uri, "/"+key) || !strings.Contains(uri, "://") {
			s.Errorf("%q -> %q -> %q, %v", key, uri, back, ok)
		}
	}
	base := strings.TrimSuffix(s.store.URI("a"), "a")
	for _, uri := range []string{"", "a", "http://host/a", base, base + "../a", strings.TrimSuffix(base, "/") + "x/a"} {
		if key, ok := s.store.Key(uri); ok {
			s.Errorf("%q is taken for the key %q", uri, key)
		}
	}
}

func remove(s *suite) {
	for _, key := range []string{"a", "d/b", "d/c", "d/e/f"} {
		s.mustPut(key, "x")
	}
	if err := s.store.Delete(s.ctx, s.prefix+"a", s.prefix+"d/b", s.prefix+"none", s.prefix+"d/e", s.prefix+"x/y/z"); err != nil {
		s.Errorf("delete: %v", err)
	}
	if got := s.keysOf("", 10); !equal(got, []string{"d/c", "d/e/f"}) {
		s.Errorf("left: %q", got)
	}
	for range 2 {
		if err := s.store.Delete(s.ctx, s.prefix+"d/c", s.prefix+"d/e/f"); err != nil {
			s.Errorf("delete: %v", err)
		}
	}
	if err := s.store.Delete(s.ctx); err != nil {
		s.Errorf("delete of nothing: %v", err)
	}
	if got := s.keysOf("", 10); len(got) > 0 {
		s.Errorf("left: %q", got)
	}
	s.mustPut("d/e/f", "again")
	if got := s.content("d/e/f"); got != "again" {
		s.Errorf("after delete and put: %q", got)
	}
}

func nesting(s *suite) {
	s.mustPut("a", "1")
	s.mustPut("b/c", "2")
	_, below := s.put("a/b", "3", objectstore.Condition{})
	_, above := s.put("b", "4", objectstore.Condition{})
	_, create := s.put("b", "5", objectstore.Condition{Absent: true})
	if !s.caps.Nesting {
		s.want("put below an object", below, status.Invalid)
		s.want("put above an object", above, status.Invalid)
		s.want("create above an object", create, status.Invalid)
		return
	}
	if below != nil || above != nil || s.content("a")+s.content("a/b")+s.content("b")+s.content("b/c") != "1342" {
		s.Errorf("a beside a/b: %v, %v", below, above)
	}
	s.want("create", create, status.Conflict)
}

// liar is a source that ends before its size.
type liar struct{ pattern }

func (l liar) Size() int64 { return l.size + 1 }

func source(s *suite) {
	_, err := s.store.Put(s.ctx, s.prefix+"a", liar{pattern{size: 100}}, objectstore.Condition{})
	s.want("put of a source that is shorter than it says", err, status.Corrupt)
	_, err = s.store.Head(s.ctx, s.prefix+"a")
	s.want("head of what was not put", err, status.NotFound)
	_, err = s.put("a", "x", objectstore.Condition{Absent: true, Match: "x"})
	s.want("two conditions", err, status.Invalid)
}

func cancelled(s *suite) {
	s.mustPut("a", "x")
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, _, err := s.store.Get(ctx, s.prefix+"a", 10)
	s.want("get", err, status.Cancelled)
	s.want("range", s.store.ReadRange(ctx, s.prefix+"a", make([]byte, 1), 0), status.Cancelled)
	_, err = s.store.Head(ctx, s.prefix+"a")
	s.want("head", err, status.Cancelled)
	_, _, err = s.store.List(ctx, s.prefix, "", 10)
	s.want("list", err, status.Cancelled)
	_, err = s.store.Put(ctx, s.prefix+"b", strings.NewReader("x"), objectstore.Condition{})
	s.want("put", err, status.Cancelled)
	s.want("delete", s.store.Delete(ctx, s.prefix+"a"), status.Cancelled)
	if got := s.keysOf("", 10); !equal(got, []string{"a"}) {
		s.Errorf("left: %q", got)
	}
}
