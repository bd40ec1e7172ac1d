package ingest

import (
	"testing"

	"pgregory.net/rapid"

	"tidemark/internal/kafkalog"
)

func seg(base, end int64, epoch int32, id byte) Segment {
	return Segment{ID: [16]byte{id}, Base: base, End: end, Size: 100, Epochs: []kafkalog.EpochStart{{Epoch: epoch, Start: base}}}
}

func unlisted(s Segment) Segment { s.unlisted = true; return s }

func TestCut(t *testing.T) {
	cases := []struct {
		name     string
		next     int64
		segments []Segment
		want     []byte // ids
		gap      Gap
	}{
		{"nothing", 0, nil, nil, Gap{}},
		{"all covered", 20, []Segment{seg(0, 10, 1, 1), seg(10, 20, 1, 2)}, nil, Gap{}},
		{"in order whatever the list's order", 0, []Segment{seg(10, 20, 1, 2), seg(0, 10, 1, 1)}, []byte{1, 2}, Gap{}},
		{"next in the middle of a segment", 15, []Segment{seg(0, 10, 1, 1), seg(10, 20, 1, 2)}, []byte{2}, Gap{}},
		{"stops at a hole", 0, []Segment{seg(0, 10, 1, 1), seg(11, 20, 1, 2)}, []byte{1}, Gap{}},
		{"gap at next", 5, []Segment{seg(0, 5, 1, 1), seg(9, 20, 1, 2)}, nil, Gap{5, 9}},
		{"newer epoch wins", 0, []Segment{seg(0, 12, 1, 1), seg(0, 10, 2, 2)}, []byte{2, 1}, Gap{}},
		{"listed wins", 0, []Segment{unlisted(seg(0, 12, 3, 1)), seg(0, 10, 2, 2)}, []byte{2, 1}, Gap{}},
		{"overlap after a leadership change", 0, []Segment{seg(0, 10, 1, 1), seg(5, 20, 2, 2)}, []byte{1, 2}, Gap{}},
	}
	for _, c := range cases {
		got, gap, ok := cut(c.next, c.segments)
		var ids []byte
		for _, s := range got.Segments {
			ids = append(ids, s.ID[0])
		}
		if string(ids) != string(c.want) || gap != c.gap || ok != (len(c.want) > 0) {
			t.Errorf("%s: ids %v gap %v ok %v, want %v %v", c.name, ids, gap, ok, c.want, c.gap)
		}
	}
}

func TestCutTilesWhateverTheSegments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var segments []Segment
		for i := range rapid.IntRange(0, 12).Draw(t, "n") {
			base := rapid.Int64Range(0, 50).Draw(t, "base")
			segments = append(segments, seg(base, base+rapid.Int64Range(1, 20).Draw(t, "len"), rapid.Int32Range(0, 3).Draw(t, "epoch"), byte(i)))
		}
		next := rapid.Int64Range(0, 60).Draw(t, "next")
		c, gap, ok := cut(next, segments)
		at := next
		for _, s := range c.Segments {
			if s.Base > at || s.End <= at {
				t.Fatalf("segment [%d,%d) does not continue %d", s.Base, s.End, at)
			}
			at = s.End
		}
		covered := false
		for _, s := range segments {
			covered = covered || s.Base <= next && s.End > next
		}
		if ok != covered || ok && gap != (Gap{}) {
			t.Fatalf("ok %v, covered %v, gap %v", ok, covered, gap)
		}
	})
}

func TestDecidedEndsAtTheFirstOpenTransaction(t *testing.T) {
	c := Cut{Base: 10, Segments: []Segment{seg(0, 30, 1, 1)}}
	cases := []struct {
		open []int64
		want int64
	}{{nil, 30}, {[]int64{25, 20}, 20}, {[]int64{40}, 30}, {[]int64{3}, 10}}
	for _, k := range cases {
		var open []kafkalog.OpenTxn
		for _, f := range k.open {
			open = append(open, kafkalog.OpenTxn{FirstOffset: f})
		}
		if got := decided(c, open); got != k.want {
			t.Errorf("open %v: %d, want %d", k.open, got, k.want)
		}
	}
}
