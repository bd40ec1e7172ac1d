package key

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var zero, ones [16]byte

func init() {
	for i := range ones {
		ones[i] = 0xff
	}
}

func TestLayout(t *testing.T) {
	log, sidecar := Segment(zero, 7, 1234, ones)
	want := "segments/AAAAAAAAAAAAAAAAAAAAAA/7/00000000000000001234-_____________________w."
	if log != want+"log" || sidecar != want+"sidecar" {
		t.Errorf("Segment = %q, %q", log, sidecar)
	}
	if !strings.HasPrefix(log, PartitionPrefix(zero, 7)) || strings.HasPrefix(log, PartitionPrefix(zero, 1)) {
		t.Errorf("PartitionPrefix = %q", PartitionPrefix(zero, 7))
	}
	if got := Group(zero); got != "catalog/groups/AAAAAAAAAAAAAAAAAAAAAA" {
		t.Errorf("Group = %q", got)
	}
	if id, ok := ParseGroup(Group(ones) + "/claims/0/1"); !ok || id != ones {
		t.Errorf("ParseGroup = %v, %v", id, ok)
	}
	if _, ok := ParseGroup("catalog/groups/short"); ok {
		t.Error("ParseGroup accepts a short id")
	}
	if got := Table(zero, "main", 3); got != "tables/AAAAAAAAAAAAAAAAAAAAAA/main/3" {
		t.Errorf("Table = %q", got)
	}
}

func TestParseSegmentRefuses(t *testing.T) {
	log, _ := Segment(zero, 7, 1234, ones)
	bad := []string{
		"", "segments", log + "x", "x" + log, log + "/a",
		strings.Replace(log, "/7/", "/07/", 1),
		strings.Replace(log, "/7/", "/-7/", 1),
		strings.Replace(log, "/7/", "/+7/", 1),
		strings.Replace(log, "/7/", "//", 1),
		strings.Replace(log, "/7/", "/2147483648/", 1),
		strings.Replace(log, "00000000000000001234", "99999999999999999999", 1),
		strings.Replace(log, "00000000000000001234", "+0000000000000001234", 1),
		strings.Replace(log, "00000000000000001234", "0000000000000_001234", 1),
		strings.Replace(log, "_w.log", "_x.log", 1), // non-zero padding bits
		strings.Replace(log, "__w.log", "_\nw.log", 1),
		strings.Replace(log, ".log", ".LOG", 1),
		strings.Replace(log, ".log", ".log.log", 1),
	}
	for _, k := range bad {
		if _, _, _, _, _, ok := ParseSegment(k); ok {
			t.Errorf("ParseSegment accepts %q", k)
		}
	}
}

type segment struct {
	topic, id [16]byte
	partition int32
	base      int64
}

func segments(t *rapid.T, label string) segment {
	ids := rapid.Custom(func(t *rapid.T) (id [16]byte) {
		copy(id[:], rapid.SliceOfN(rapid.ByteRange(0, 3), 16, 16).Draw(t, "low"))
		id[15] |= rapid.Byte().Draw(t, "high")
		return id
	})
	return segment{
		topic: ids.Draw(t, label+" topic"), id: ids.Draw(t, label+" id"),
		partition: rapid.Int32Range(0, math.MaxInt32).Draw(t, label+" partition"),
		base:      rapid.Int64Range(0, math.MaxInt64).Draw(t, label+" base"),
	}
}

func TestSegmentKeysAreInjectiveAndOrdered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := segments(t, "a"), segments(t, "b")
		logA, sideA := Segment(a.topic, a.partition, a.base, a.id)
		logB, sideB := Segment(b.topic, b.partition, b.base, b.id)
		if (a == b) != (logA == logB) || (a == b) != (sideA == sideB) || logA == sideB {
			t.Fatalf("%v -> %q, %v -> %q", a, logA, b, logB)
		}
		for k, kind := range map[string]Kind{logA: Log, sideA: Sidecar} {
			topic, partition, base, id, gotKind, ok := ParseSegment(k)
			if got := (segment{topic, id, partition, base}); !ok || got != a || gotKind != kind {
				t.Fatalf("%v -> %q -> %v %v %v", a, k, got, gotKind, ok)
			}
		}
		c := a
		c.base = b.base
		logC, _ := Segment(c.topic, c.partition, c.base, c.id)
		if (a.base < c.base) != (logA < logC) {
			t.Fatalf("order of %q and %q is not that of the offsets", logA, logC)
		}
	})
}

func TestTablePrefixesNeverNest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roleA, roleB := names().Draw(t, "a"), names().Draw(t, "b")
		genA, genB := rapid.Uint64Range(0, 11).Draw(t, "gen a"), rapid.Uint64Range(0, 11).Draw(t, "gen b")
		a, b := Table(zero, roleA, genA), Table(zero, roleB, genB)
		if same := roleA == roleB && genA == genB; same != (a == b) {
			t.Fatalf("%q, %q", a, b)
		}
		if a != b && strings.HasPrefix(a, b+"/") {
			t.Fatalf("%q lies within %q", a, b)
		}
	})
}
