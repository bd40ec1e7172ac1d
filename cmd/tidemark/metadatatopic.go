package main

import (
	"context"
	"encoding/binary"

	"tidemark/internal/kafkaclient"
	"tidemark/internal/status"
	"tidemark/remotestorage/reclaim/sweep"
)

// metadata is what the metadata topic says of all segments.
type metadata struct {
	states map[[16]byte]sweep.State // without those whose delete is finished
	ends   map[[16]byte]int64       // offset after the last
	of     map[[16]byte]partitionKey
	known  map[partitionKey]int64 // offset after the last finished segment
}

type partitionKey struct {
	topicID   [16]byte
	partition int32
}

// readMetadata reads the topic to its end.
func readMetadata(ctx context.Context, c *kafkaclient.Client) (*metadata, error) {
	info, err := c.DescribeTopic(ctx, metadataTopic)
	if err != nil {
		return nil, status.Wrapf(err, "what Kafka knows of remote segments")
	}
	m := &metadata{states: map[[16]byte]sweep.State{}, ends: map[[16]byte]int64{}, of: map[[16]byte]partitionKey{}, known: map[partitionKey]int64{}}
	for p := range int32(info.Partitions) {
		start, _, end, err := c.Offsets(ctx, metadataTopic, p)
		if err != nil {
			return nil, err
		}
		if start > 0 {
			return nil, status.Errorf(status.Corrupt, "%s-%d begins at offset %d: its records were removed, so nobody can tell what is an orphan; see tidemark doctor", metadataTopic, p, start)
		}
		err = c.ReadAll(ctx, metadataTopic, p, start, end, func(r *kafkaclient.Record) error {
			return status.Wrapf(m.take(r.Value), "%s-%d at offset %d", metadataTopic, p, r.Offset)
		})
		if err != nil {
			return nil, err
		}
	}
	for id, state := range m.states {
		if state == sweep.Finished {
			m.known[m.of[id]] = max(m.known[m.of[id]], m.ends[id])
		}
	}
	return m, nil
}

// The kinds of records, and the states in them.
const (
	segmentRecord   = 0
	updateRecord    = 1
	partitionRecord = 2
)

var recordedStates = map[byte]sweep.State{0: sweep.Started, 1: sweep.Finished, 2: sweep.Deleting, 3: sweep.Absent}

// take reads the beginning and the end of a record: version of its frame, kind, version; topic name, topic id, partition, segment id;
// of a segment its offsets; of an update its state before the tagged fields, of which there are none.
func (m *metadata) take(value []byte) error {
	bad := func(what string) error {
		return status.Errorf(status.Unsupported, "a record of %d bytes %s: this release does not know it", len(value), what)
	}
	if len(value) < 4 || value[0] > 1 || value[2] != 0 {
		return bad("has another version")
	}
	kind, rest := value[1], value[3:]
	if kind == partitionRecord {
		return nil
	}
	n, size := binary.Uvarint(rest) // length of the name and one
	if kind > updateRecord || size <= 0 || n == 0 || n > 250 || len(rest) < size+int(n)-1+38 {
		return bad("cannot be read")
	}
	rest = rest[size+int(n)-1:]
	var at partitionKey
	copy(at.topicID[:], rest)
	at.partition = int32(binary.BigEndian.Uint32(rest[16:]))
	id := [16]byte(rest[21:37])
	if rest[20] != 0 || rest[37] != 0 {
		return bad("has fields of a later version")
	}
	rest = rest[38:]
	if kind == segmentRecord {
		if len(rest) < 16 {
			return bad("is cut")
		}
		m.of[id], m.states[id] = at, sweep.Started
		m.ends[id] = int64(binary.BigEndian.Uint64(rest[8:])) + 1
		return nil
	}
	if len(rest) < 2 {
		return bad("is cut")
	}
	state, ok := recordedStates[rest[len(rest)-2]]
	if !ok || rest[len(rest)-1] != 0 {
		return bad("has another state")
	}
	m.of[id], m.states[id] = at, state
	if state == sweep.Absent {
		delete(m.states, id)
	}
	return nil
}
