package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// tiled is a ledger of two partitions and the footers of its files: partition 0 covers [0,30) in three ranges, the second of
// them two main files and one of the quarantine; partition 1 covers [5,15).
func tiled() (Ledger, []FileFooter) {
	l := NewLedger([16]byte{1}, Claim{ClusterID: "c", TopicID: TopicID{7}, Topic: "t"})
	l.Partitions[0] = Progress{Next: 30, BatchEpoch: 1, LastBatchBase: 29, Last: 29}
	l.Partitions[1] = Progress{Next: 15, BatchEpoch: 1, LastBatchBase: 14, Start: 5, Lo: 5, Floor: 5, Last: 14}
	file := func(uri string, p int32, base, end int64, role Role, part, parts int, rows int64, c Counts) FileFooter {
		return FileFooter{
			URI: uri, Claim: l.Claim, Role: role, Generation: 1, Part: part, Parts: parts, Rows: rows, Counts: c,
			Range: Range{Partition: p, Base: base, End: end, BatchEpoch: 1, LastBatchBase: end - 1, LastRow: end - 1},
		}
	}
	mixed := Counts{Rows: 7, Quarantined: 2, Aborted: 1}
	return l, []FileFooter{
		file("a", 0, 0, 10, Main, 1, 1, 10, Counts{Rows: 10}),
		file("b1", 0, 10, 20, Main, 1, 2, 4, mixed), file("b2", 0, 10, 20, Main, 2, 2, 3, mixed),
		file("bq", 0, 10, 20, Quarantine, 1, 1, 2, mixed),
		file("c", 0, 20, 30, Main, 1, 1, 10, Counts{Rows: 10}),
		file("d", 1, 5, 15, Main, 1, 1, 10, Counts{Rows: 10}),
	}
}

func TestVerifyFindsEachFault(t *testing.T) {
	at := func(files []FileFooter, uri string) *FileFooter {
		return &files[slices.IndexFunc(files, func(f FileFooter) bool { return f.URI == uri })]
	}
	without := func(files []FileFooter, uri string) []FileFooter {
		return slices.DeleteFunc(files, func(f FileFooter) bool { return f.URI == uri })
	}
	cases := []struct {
		name   string
		inject func(l *Ledger, files []FileFooter) []FileFooter
		want   string // kind partition base end files; …
	}{
		{"nothing", func(_ *Ledger, f []FileFooter) []FileFooter { return f }, ""},
		{"file missing", func(_ *Ledger, f []FileFooter) []FileFooter { return without(f, "a") }, "hole 0 [0,10)"},
		{"last file missing", func(_ *Ledger, f []FileFooter) []FileFooter { return without(f, "d") }, "hole 1 [5,15)"},
		{"range missing inside", func(_ *Ledger, f []FileFooter) []FileFooter {
			return without(without(without(f, "b1"), "b2"), "bq")
		}, "hole 0 [10,20)"},
		{"part missing", func(_ *Ledger, f []FileFooter) []FileFooter { return without(f, "b2") }, "incomplete 0 [10,20) b1"},
		{"quarantine missing", func(_ *Ledger, f []FileFooter) []FileFooter { return without(f, "bq") }, "incomplete 0 [10,20) b1,b2"},
		{"main missing", func(_ *Ledger, f []FileFooter) []FileFooter {
			return without(without(f, "b1"), "b2")
		}, "incomplete 0 [10,20) bq"},
		{"rows missing", func(_ *Ledger, f []FileFooter) []FileFooter { at(f, "c").Rows--; return f }, "incomplete 0 [20,30) c"},
		{"range twice", func(_ *Ledger, f []FileFooter) []FileFooter {
			twin := *at(f, "c")
			twin.URI = "twin"
			return append(f, twin)
		}, "overlap 0 [20,30) c,twin"},
		{"straddling range", func(_ *Ledger, f []FileFooter) []FileFooter {
			s := *at(f, "c")
			s.URI, s.Range.Base, s.Range.End = "s", 5, 12
			return append(f, s)
		}, "overlap 0 [10,12) b1,b2,bq; overlap 0 [5,10) s"},
		{"beyond next", func(l *Ledger, f []FileFooter) []FileFooter {
			p := l.Partitions[0]
			p.Next, p.LastBatchBase, p.Last = 25, 24, 24
			l.Partitions[0] = p
			return f
		}, "beyond-next 0 [20,30) c"},
		{"below lo", func(l *Ledger, f []FileFooter) []FileFooter { at(f, "d").Range.Base = 0; return f }, "beyond-next 1 [0,15) d"},
		{"unknown partition", func(l *Ledger, f []FileFooter) []FileFooter {
			delete(l.Partitions, 1)
			return f
		}, "beyond-next 1 [5,15) d"},
		{"another topic", func(_ *Ledger, f []FileFooter) []FileFooter {
			at(f, "a").Claim.TopicID = TopicID{8}
			return f
		}, "hole 0 [0,10); unknown-claim 0 [0,10) a"},
		{"another cluster", func(_ *Ledger, f []FileFooter) []FileFooter {
			at(f, "a").Claim.ClusterID = "x"
			return f
		}, "hole 0 [0,10); unknown-claim 0 [0,10) a"},
		{"later generation", func(_ *Ledger, f []FileFooter) []FileFooter { at(f, "a").Generation = 2; return f }, "generation 0 [0,10) a"},
		{"two conversions", func(_ *Ledger, f []FileFooter) []FileFooter {
			at(f, "bq").LeaderEpoch = 9
			return f
		}, "mixed 0 [10,20) b1,b2,bq"},
	}
	for _, c := range cases {
		l, files := tiled()
		files = c.inject(&l, files)
		var got []string
		for _, f := range Verify(l, files) {
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %d [%d,%d) %s", f.Kind, f.Range.Partition, f.Range.Base, f.Range.End,
				strings.Join(f.Files, ","))))
			if f.Text == "" {
				t.Errorf("%s: a finding without a text", c.name)
			}
		}
		slices.Sort(got)
		if want := strings.Split(c.want, "; "); strings.Join(got, "; ") != strings.Join(want, "; ") {
			t.Errorf("%s:\n got %s\nwant %s", c.name, strings.Join(got, "; "), c.want)
		}
	}
}

func TestVerifyTakesRangesWithoutAFile(t *testing.T) {
	l, files := tiled()
	files = files[1:]
	if f := Verify(l, files, Range{Partition: 0, Base: 0, End: 10}, Range{Partition: 1, Base: 7, End: 9}); len(f) != 0 {
		t.Errorf("a range without a file is reported: %v", f)
	}
	if f := Verify(l, files, Range{Partition: 0, Base: 0, End: 6}); len(f) != 1 || f[0].Range.Base != 6 || f[0].Range.End != 10 {
		t.Errorf("the rest of a hole: %v", f)
	}
}
