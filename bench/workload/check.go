package workload

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Checker compares consumed records with a set: every record of it, once, in order, nothing else.
type Checker struct {
	set  *Set
	next []int64
	left int64
}

// Checker starts a comparison at offset 0 of every partition.
func (s *Set) Checker() *Checker {
	return &Checker{set: s, next: make([]int64, len(s.partitions)), left: s.records}
}

// Take compares the next record of a partition. Its error says what differs; payloads are not in it.
func (c *Checker) Take(partition int32, offset int64, key, value []byte) error {
	if partition < 0 || int(partition) >= len(c.next) {
		return fmt.Errorf("partition %d is not one of %d", partition, len(c.next))
	}
	want := c.next[partition]
	switch {
	case offset != want:
		return fmt.Errorf("partition %d: offset %d came where %d was next", partition, offset, want)
	case want >= c.set.Count(partition):
		return fmt.Errorf("partition %d: offset %d is beyond the %d records produced", partition, offset, c.set.Count(partition))
	case len(key) != keySize || binary.BigEndian.Uint64(key) != uint64(want):
		return fmt.Errorf("partition %d offset %d: the key differs from what was produced", partition, offset)
	case !bytes.Equal(value, c.set.value(partition, want)):
		return fmt.Errorf("partition %d offset %d: the value differs from what was produced (%d bytes, produced were %d)",
			partition, offset, len(value), len(c.set.value(partition, want)))
	}
	c.next[partition]++
	c.left--
	return nil
}

// Left is the number of records that have not come yet.
func (c *Checker) Left() int64 { return c.left }

// Missing says where records are missing, "" when all came.
func (c *Checker) Missing() string {
	for p, n := range c.next {
		if want := c.set.Count(int32(p)); n < want {
			return fmt.Sprintf("partition %d came up to offset %d of %d, %d records are missing in all", p, n, want, c.left)
		}
	}
	return ""
}
