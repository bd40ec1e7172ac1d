package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
)

const writers = 16

// together runs f in n goroutines and waits for them.
func together(n int, f func(i int)) {
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Go(func() { start.Wait(); f(i) })
	}
	start.Done()
	done.Wait()
}

func create(s *suite) {
	first, err := s.put("a", "first", objectstore.Condition{Absent: true})
	if err != nil || first.Size != 5 {
		s.Fatalf("create: %+v, %v", first, err)
	}
	_, err = s.put("a", "second", objectstore.Condition{Absent: true})
	s.want("second create", err, status.Conflict)
	if got := s.content("a"); got != "first" {
		s.Errorf("after two creates: %q", got)
	}
	if err := s.store.Delete(s.ctx, s.prefix+"a"); err != nil {
		s.Fatal(err)
	}
	if _, err = s.put("a", "third", objectstore.Condition{Absent: true}); err != nil || s.content("a") != "third" {
		s.Errorf("create after delete: %v", err)
	}
	// The same for an object large enough to be sent in parts.
	big := pattern{size: s.caps.Large, seed: 1}
	if _, err = s.store.Put(s.ctx, s.prefix+"big", big, objectstore.Condition{Absent: true}); err != nil {
		s.Fatalf("create a large object: %v", err)
	}
	_, err = s.store.Put(s.ctx, s.prefix+"big", pattern{size: s.caps.Large, seed: 2}, objectstore.Condition{Absent: true})
	s.want("second create of a large object", err, status.Conflict)
	got := make([]byte, 1000)
	if err := s.store.ReadRange(s.ctx, s.prefix+"big", got, 5000); err != nil || big.check(got, 5000) != nil {
		s.Errorf("the first large object was replaced: %v, %v", err, big.check(got, 5000))
	}
}

func swap(s *suite) {
	first := s.mustPut("a", "1")
	second, err := s.put("a", "2", objectstore.Condition{Match: first.ETag})
	if !s.caps.Swap {
		s.want("swap", err, status.Unsupported)
		return
	}
	if err != nil || s.content("a") != "2" {
		s.Fatalf("swap: %v", err)
	}
	_, err = s.put("a", "3", objectstore.Condition{Match: first.ETag})
	s.want("swap against an old ETag", err, status.Conflict)
	_, err = s.put("none", "3", objectstore.Condition{Match: second.ETag})
	s.want("swap of an absent object", err, status.Conflict)
	_, err = s.put("a", "4", objectstore.Condition{Match: second.ETag})
	if err != nil || s.content("a") != "4" {
		s.Errorf("second swap: %v", err)
	}
	_, info, err := s.store.Get(s.ctx, s.prefix+"a", 10)
	if err != nil {
		s.Fatal(err)
	}
	if _, err = s.put("a", "5", objectstore.Condition{Match: info.ETag}); err != nil {
		s.Errorf("swap against the ETag of a get: %v", err)
	}
}

// creators: of 16 that create one key at once, exactly one wins, and its content stays.
func creators(s *suite) {
	for round := range s.caps.Rounds {
		key := fmt.Sprintf("round/%d", round)
		var wins, other atomic.Int32
		var winner atomic.Value
		together(writers, func(i int) {
			for {
				_, err := s.put(key, strconv.Itoa(i), objectstore.Condition{Absent: true})
				switch status.Of(err) {
				case status.OK:
					wins.Add(1)
					winner.Store(strconv.Itoa(i))
				case status.Conflict:
				case status.Throttled, status.Transient:
					continue // nothing has happened
				default:
					other.Add(1)
					s.Errorf("writer %d: %v", i, err)
				}
				return
			}
		})
		if wins.Load() != 1 || other.Load() != 0 {
			s.Fatalf("round %d: %d winners, %d unexpected errors", round, wins.Load(), other.Load())
		}
		if got := s.content(key); got != winner.Load() {
			s.Errorf("round %d: writer %v won, the object is %s's", round, winner.Load(), got)
		}
	}
}

// swappers: a counter that several increment by compare and swap loses nothing.
func swappers(s *suite) {
	if !s.caps.Swap {
		return
	}
	s.mustPut("counter", "0")
	const workers, each = 4, 3
	together(workers, func(i int) {
		for done := 0; done < each; {
			data, info, err := s.store.Get(s.ctx, s.prefix+"counter", 100)
			if err != nil {
				s.Errorf("get: %v", err)
				return
			}
			n, _ := strconv.Atoi(strings.Fields(string(data))[0])
			// The second field makes no two contents equal, as an ETag may be a hash of the content.
			_, err = s.put("counter", fmt.Sprintf("%d %d.%d", n+1, i, done), objectstore.Condition{Match: info.ETag})
			switch status.Of(err) {
			case status.OK:
				done++
			case status.Conflict, status.Throttled, status.Transient:
			default:
				s.Errorf("swap: %v", err)
				return
			}
		}
	})
	if got := strings.Fields(s.content("counter"))[0]; got != strconv.Itoa(workers*each) {
		s.Errorf("counter = %s, want %d", got, workers*each)
	}
}

// overwrite: readers of an object that is being replaced see one version, whole.
func overwrite(s *suite) {
	const size = 300_000
	version := func(n int) []byte { return bytes.Repeat([]byte{byte(n)}, size) }
	put := func(n int) error {
		_, err := s.store.Put(s.ctx, s.prefix+"a", bytes.NewReader(version(n)), objectstore.Condition{})
		return err
	}
	if err := put(0); err != nil {
		s.Fatal(err)
	}
	var stop atomic.Bool
	together(5, func(i int) {
		if i == 0 {
			defer stop.Store(true)
			for n := 1; n <= 20; n++ {
				if err := put(n); err != nil {
					s.Errorf("put: %v", err)
				}
			}
			return
		}
		for last := -1; !stop.Load(); {
			data, _, err := s.store.Get(s.ctx, s.prefix+"a", size)
			if err != nil {
				s.Errorf("get: %v", err)
				return
			}
			if len(data) != size || !bytes.Equal(data, version(int(data[0]))) || int(data[0]) < last {
				s.Errorf("a reader saw %d bytes of version %d, mixed or older than %d", len(data), data[0], last)
				return
			}
			last = int(data[0])
		}
	})
}

func large(s *suite) {
	p := pattern{size: s.caps.Large + 12345, seed: 7}
	info, err := s.store.Put(s.ctx, s.prefix+"a", p, objectstore.Condition{})
	if err != nil || info.Size != p.size {
		s.Fatalf("put: %+v, %v", info, err)
	}
	if head, err := s.store.Head(s.ctx, s.prefix+"a"); err != nil || head.Size != p.size || head.ETag != info.ETag {
		s.Errorf("head = %+v, %v; put said %+v", head, err, info)
	}
	const step = 5 << 20
	together(4, func(i int) {
		buf := make([]byte, step)
		for at := int64(i) * step; at < p.size; at += 4 * step {
			dst := buf[:min(step, p.size-at)]
			if err := s.store.ReadRange(s.ctx, s.prefix+"a", dst, at); err != nil {
				s.Errorf("range at %d: %v", at, err)
			} else if err := p.check(dst, at); err != nil {
				s.Errorf("range at %d: %v", at, err)
			}
		}
	})
	s.want("range over the end", s.store.ReadRange(s.ctx, s.prefix+"a", make([]byte, 2), p.size-1), status.Corrupt)
}

func list(s *suite) {
	all := []string{"a", "a0", "aa/x", "b/c/d", "b/c/e", "b0", "c/1/2/3/4", "z"}
	if !s.caps.ByDirectory {
		all = append(all, "a-b", "a.b", "b-c")
		if s.caps.Nesting {
			all = append(all, "a/b", "b/c")
		}
	}
	for i, key := range all {
		s.mustPut(key, strings.Repeat("x", i))
	}
	slices.Sort(all)
	for _, page := range []int{1, 2, 3, 100} {
		if got := s.keysOf("", page); !equal(got, all) {
			s.Errorf("pages of %d: %q\nwant %q", page, got, all)
		}
	}
	for _, prefix := range []string{"a", "a-", "b/", "b/c", "b/c/", "c/1/2", "none", "z", "zz", "b/c/d"} {
		var want []string
		for _, key := range all {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		if got := s.keysOf(prefix, 2); !equal(got, want) {
			s.Errorf("prefix %q: %q\nwant %q", prefix, got, want)
		}
	}
	for _, after := range []string{"a", "a-", "a/", "b", "b/", "b/c", "b/c/d", "b/zz", "b0", "c/1/2/3/4", "zz"} {
		below := func(key string) bool { return strings.HasPrefix(key, after+"/") }
		if s.caps.ByDirectory && slices.ContainsFunc(all, below) {
			continue
		}
		var want, got []string
		for _, key := range all {
			if key > after {
				want = append(want, key)
			}
		}
		page, more, err := s.store.List(s.ctx, s.prefix, s.prefix+after, 100)
		for _, i := range page {
			got = append(got, strings.TrimPrefix(i.Key, s.prefix))
		}
		if err != nil || more || !equal(got, want) {
			s.Errorf("after %q: %q, %v, %v\nwant %q", after, got, more, err, want)
		}
	}
	_, _, err := s.store.List(s.ctx, s.prefix, "", 0)
	s.want("page of 0", err, status.Invalid)
	_, _, err = s.store.List(s.ctx, "../", "", 1)
	s.want("list outside", err, status.Invalid)
}

func paging(s *suite) {
	const n = 60
	together(4, func(i int) {
		for k := i; k < n; k += 4 {
			if _, err := s.put(fmt.Sprintf("p/%d/%03d", k%3, k), "x", objectstore.Condition{}); err != nil {
				s.Errorf("put: %v", err)
			}
		}
	})
	for _, page := range []int{7, n / 3, n} {
		got := s.keysOf("p/", page)
		if len(got) != n || !slices.IsSorted(got) || len(slices.Compact(got)) != n {
			s.Errorf("pages of %d: %d keys: %q", page, len(got), got)
		}
	}
	page, more, err := s.store.List(s.ctx, s.prefix+"p/", "", n)
	if err != nil || len(page) != n || more {
		s.Errorf("the exact page: %d objects, more = %v, %v", len(page), more, err)
	}
	for _, i := range page {
		if i.Size != 1 || i.ETag == "" {
			s.Fatalf("described as %+v", i)
		}
	}
}
