package workload

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// keySize is the length of every key: the record's number in its partition.
const keySize = 8

// poolBytes bounds the distinct values per kind. A partition repeats them after that many bytes, beyond what a codec sees in one batch;
// keys never repeat.
const poolBytes = 8 << 20

// Set is the records of one topic: partition p takes data of one kind, and its record i has offset i.
type Set struct {
	pools      map[Kind][][]byte
	partitions []stream
	records    int64
	bytes      int64
}

type stream struct {
	kind  Kind
	shift int64 // where in its pool the partition begins, so that partitions of one kind differ
	count int64
	bytes int64
}

// New makes a set of about size bytes of keys and values, an equal share of them in every partition.
func New(seed uint64, partitions int, size int64) (*Set, error) {
	if partitions < 1 || size < int64(partitions) {
		return nil, fmt.Errorf("workload: %d bytes over %d partitions is no workload", size, partitions)
	}
	share := size / int64(partitions)
	return fill(seed, partitions, share, func(st *stream) bool { return st.bytes >= share })
}

// NewEven makes a set with the same number of records in every partition.
func NewEven(seed uint64, partitions int, records int64) (*Set, error) {
	if partitions < 1 || records < 1 {
		return nil, fmt.Errorf("workload: %d records in each of %d partitions is no workload", records, partitions)
	}
	return fill(seed, partitions, poolBytes, func(st *stream) bool { return st.count >= records })
}

func fill(seed uint64, partitions int, pool int64, full func(*stream) bool) (*Set, error) {
	s := &Set{pools: map[Kind][][]byte{}, partitions: make([]stream, partitions)}
	for p := range s.partitions {
		kind := Kinds[p%len(Kinds)]
		if s.pools[kind] == nil {
			records, err := generate(kind, rand.New(rand.NewPCG(seed, uint64(p))), min(pool, poolBytes))
			if err != nil {
				return nil, err
			}
			s.pools[kind] = records
		}
		st := &s.partitions[p]
		st.kind, st.shift = kind, int64(p)*7919
		for !full(st) {
			st.bytes += keySize + int64(len(s.value(int32(p), st.count)))
			st.count++
		}
		s.records += st.count
		s.bytes += st.bytes
	}
	return s, nil
}

// Partitions is the number of partitions.
func (s *Set) Partitions() int { return len(s.partitions) }

// Records is the number of records in all partitions.
func (s *Set) Records() int64 { return s.records }

// Bytes is the bytes of all keys and values.
func (s *Set) Bytes() int64 { return s.bytes }

// Count is the number of records of a partition.
func (s *Set) Count(partition int32) int64 { return s.partitions[partition].count }

// Kind is what a partition's values are.
func (s *Set) Kind(partition int32) Kind { return s.partitions[partition].kind }

func (s *Set) value(partition int32, i int64) []byte {
	st := s.partitions[partition]
	pool := s.pools[st.kind]
	return pool[(st.shift+i)%int64(len(pool))]
}

// Record is record i of a partition. The value is shared: callers only read it.
func (s *Set) Record(partition int32, i int64) (key, value []byte) {
	return binary.BigEndian.AppendUint64(make([]byte, 0, keySize), uint64(i)), s.value(partition, i)
}

// run is how many records of one partition follow each other, so that client batches fill while all partitions advance together.
const run = 16

// Each calls f with every record in the order in which they are produced: runs of each partition in turn. It stops at f's first error.
func (s *Set) Each(f func(partition int32, key, value []byte) error) error {
	next := make([]int64, len(s.partitions))
	for left := s.records; left > 0; {
		for p := range s.partitions {
			for range run {
				if next[p] >= s.partitions[p].count {
					break
				}
				key, value := s.Record(int32(p), next[p])
				if err := f(int32(p), key, value); err != nil {
					return err
				}
				next[p]++
				left--
			}
		}
	}
	return nil
}
