package sweep

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/objectstore/storetest"
)

// TestWalkFindsEveryPartitionAndSegmentOnce: on every store, with names that are the beginning of others, foreign objects in between, and
// segments whose two objects lie on different pages.
func TestWalkFindsEveryPartitionAndSegmentOnce(t *testing.T) {
	file, err := objectstore.OpenFile(t.TempDir(), objectstore.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, store := range map[string]objectstore.Store{"memory": storetest.NewMemory(), "file": file} {
		t.Run(name, func(t *testing.T) { walkAll(t, store) })
	}
}

func walkAll(t *testing.T, store objectstore.Store) {
	ctx := context.Background()
	put := func(k string) {
		if _, err := store.Put(ctx, k, bytes.NewReader(nil), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	want := map[place]int{}
	for _, topicID := range [][16]byte{topic(1), topic(2), topic(0xff)} {
		for _, partition := range []int32{0, 1, 2, 10, 11, 100, 1 << 30} {
			p := place{topicID, partition}
			want[p] = 3
			if topicID == topic(2) && partition == 10 {
				want[p] = pageKeys/2 + 7
			}
			for i := range want[p] {
				log, sidecar := key.Segment(topicID, partition, int64(i), [16]byte{byte(i), byte(i >> 8), 1})
				put(sidecar)
				if i > 0 { // the first has no log, so that pages end between two objects
					put(log)
				}
			}
		}
	}
	strange := []string{"segments/a", "segments/zzz/1/x", key.TopicPrefix(topic(1)) + "1-x", key.TopicPrefix(topic(1)) + "x", key.PartitionPrefix(topic(1), 1) + "a.log"}
	for _, k := range strange {
		put(k)
	}
	put("segmentsx/y")
	put("tables/x")
	var met []string
	unknown := func(o objectstore.Info) { met = append(met, o.Key) }
	got := map[place]int{}
	err := places(ctx, store, func(p place) error {
		if _, twice := got[p]; twice {
			return fmt.Errorf("%v comes twice", p)
		}
		got[p] = 0
		last := int64(-1)
		return segments(ctx, store, p, func(s segment) error {
			if s.BaseOffset <= last || !s.readable() || (s.log.Key == "") != (s.BaseOffset == 0) {
				return fmt.Errorf("%+v after %d", s, last)
			}
			last = s.BaseOffset
			got[p]++
			return nil
		}, unknown)
	}, unknown)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	slices.Sort(met)
	slices.Sort(strange)
	if met = slices.Compact(met); !slices.Equal(met, strange) {
		t.Errorf("foreign objects %q, want %q", met, strange)
	}
}
