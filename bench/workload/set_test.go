package workload

import (
	"bytes"
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"
)

func TestSetIsTheSameForTheSameSeed(t *testing.T) {
	a, b, other := mustNew(t, 7, 4, 1<<18), mustNew(t, 7, 4, 1<<18), mustNew(t, 8, 4, 1<<18)
	same := true
	for p := range int32(4) {
		if a.Count(p) != b.Count(p) {
			t.Fatalf("partition %d has %d and %d records", p, a.Count(p), b.Count(p))
		}
		for i := range a.Count(p) {
			_, va := a.Record(p, i)
			_, vb := b.Record(p, i)
			if !bytes.Equal(va, vb) {
				t.Fatalf("partition %d record %d differs between two sets of one seed", p, i)
			}
			_, vo := other.Record(p, i%other.Count(p))
			same = same && bytes.Equal(va, vo)
		}
	}
	if same {
		t.Error("another seed gave the same records")
	}
}

func TestPartitionsOfOneKindDiffer(t *testing.T) {
	s := mustNew(t, 1, 6, 1<<20)
	_, a := s.Record(0, 0)
	_, b := s.Record(3, 0)
	if s.Kind(0) != s.Kind(3) || bytes.Equal(a, b) {
		t.Errorf("partitions 0 (%s) and 3 (%s) begin with the same record: %v", s.Kind(0), s.Kind(3), bytes.Equal(a, b))
	}
}

func TestEachYieldsEveryRecordOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.IntRange(1, 7).Draw(t, "partitions")
		s, err := New(1, partitions, int64(rapid.IntRange(partitions, 200_000).Draw(t, "size")))
		if err != nil {
			t.Fatal(err)
		}
		next := make([]uint64, partitions)
		var records, size int64
		err = s.Each(func(p int32, key, value []byte) error {
			if n := binary.BigEndian.Uint64(key); n != next[p] {
				t.Fatalf("partition %d: record %d came where %d was next", p, n, next[p])
			}
			next[p]++
			records++
			size += int64(len(key) + len(value))
			return nil
		})
		if err != nil || records != s.Records() || size != s.Bytes() {
			t.Fatalf("%d records of %d bytes came, the set says %d of %d (%v)", records, size, s.Records(), s.Bytes(), err)
		}
		for p, n := range next {
			if int64(n) != s.Count(int32(p)) {
				t.Fatalf("partition %d has %d records, the set says %d", p, n, s.Count(int32(p)))
			}
		}
	})
}

func TestEvenSetHasEqualPartitions(t *testing.T) {
	s, err := NewEven(1, 3, 500)
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(3) {
		if s.Count(p) != 500 {
			t.Errorf("partition %d has %d records", p, s.Count(p))
		}
	}
}

func TestNoWorkload(t *testing.T) {
	if _, err := New(1, 0, 100); err == nil {
		t.Error("no partitions were accepted")
	}
	if _, err := NewEven(1, 1, 0); err == nil {
		t.Error("no records were accepted")
	}
}

func mustNew(t *testing.T, seed uint64, partitions int, size int64) *Set {
	t.Helper()
	s, err := New(seed, partitions, size)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
