package key

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// The first parts of all keys.
const (
	Segments = "segments"
	Groups   = "catalog/groups"
	Tables   = "tables"
	Clusters = "clusters"
)

// Kind is which of a segment's two objects a key names.
type Kind string

// The kinds; they are the suffix of the key.
const (
	Log     Kind = "log"
	Sidecar Kind = "sidecar"
)

const (
	uuidLength   = 22 // characters of 16 bytes in unpadded base64url
	offsetDigits = 20 // as in Kafka's file names; enough for any int64
)

var uuidText = base64.RawURLEncoding.Strict()

// UUID is a topic or segment id as Kafka prints it.
func UUID(id [16]byte) string { return uuidText.EncodeToString(id[:]) }

// ParseUUID is the inverse of [UUID].
func ParseUUID(text string) (id [16]byte, ok bool) {
	// The length comes first: the decoder skips line breaks.
	if len(text) != uuidLength || strings.ContainsAny(text, "\r\n") {
		return id, false
	}
	n, err := uuidText.Decode(id[:], []byte(text))
	return id, err == nil && n == len(id)
}

// Segment is the keys of the two objects of one copy of a segment. All four values are known to a delete after a failed
// copy, which carries nothing else. Kafka's partitions and offsets are never negative.
func Segment(topicID [16]byte, partition int32, base int64, segmentID [16]byte) (log, sidecar string) {
	stem := fmt.Sprintf("%s%0*d-%s.", PartitionPrefix(topicID, partition), offsetDigits, base, UUID(segmentID))
	return stem + string(Log), stem + string(Sidecar)
}

// TopicPrefix starts the keys of all segments of a topic.
func TopicPrefix(topicID [16]byte) string { return Segments + "/" + UUID(topicID) + "/" }

// PartitionPrefix starts the keys of all segments of a partition; their order is that of base offsets.
func PartitionPrefix(topicID [16]byte, partition int32) string {
	return TopicPrefix(topicID) + strconv.Itoa(int(partition)) + "/"
}

// ParseSegment is the inverse of [Segment]; ok is false for a key that Segment does not write for any partition and
// offset of Kafka's.
func ParseSegment(key string) (topicID [16]byte, partition int32, base int64, segmentID [16]byte, kind Kind, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 4 || parts[0] != Segments {
		return
	}
	name, suffix, found := strings.Cut(parts[3], ".")
	kind = Kind(suffix)
	if !found || kind != Log && kind != Sidecar || len(name) != offsetDigits+1+uuidLength || name[offsetDigits] != '-' {
		return
	}
	var okTopic, okSegment bool
	topicID, okTopic = ParseUUID(parts[1])
	segmentID, okSegment = ParseUUID(name[offsetDigits+1:])
	p, okPartition := digits(parts[2], 31)
	base, okBase := digits(name[:offsetDigits], 63)
	canonical := strconv.FormatInt(p, 10) == parts[2]
	ok = okTopic && okSegment && okPartition && okBase && canonical
	return topicID, int32(p), base, segmentID, kind, ok
}

// digits reads a number of decimal digits only that fits into bits bits.
func digits(s string, bits int) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, bits)
	return int64(n), err == nil && s[0] != '+'
}

// Group is the prefix of the catalog's objects about a topic's group of tables.
func Group(topicID [16]byte) string { return Groups + "/" + UUID(topicID) }

// ParseGroup reads the topic id out of a key at or below [Group].
func ParseGroup(key string) (topicID [16]byte, ok bool) {
	rest, found := strings.CutPrefix(key, Groups+"/")
	if !found {
		return topicID, false
	}
	id, _, _ := strings.Cut(rest, "/")
	return ParseUUID(id)
}

// Table is the prefix of one table's files: data/ and metadata/ below it. No table's prefix lies within another's.
func Table(topicID [16]byte, role string, generation uint64) string {
	return fmt.Sprintf("%s/%s/%s/%d", Tables, UUID(topicID), Escape(role), generation)
}

// Cluster is the key of the mark that a cluster leaves in the prefix it uses.
func Cluster(id string) string { return Clusters + "/" + Escape(id) }

// Known reports whether a key begins as one of ours does.
func Known(key string) bool {
	for _, first := range []string{Segments, Groups, Tables, Clusters} {
		if strings.HasPrefix(key, first+"/") {
			return true
		}
	}
	return false
}
