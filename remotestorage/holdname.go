package remotestorage

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Held is a hold file: a hard link to the log file of a segment that waits for its table.
type Held struct {
	TopicID   [16]byte
	Partition int32
	Base      int64
	End       int64 // exclusive
	Epoch     int32 // leader epoch of the last batch
	// Generation is that of the table's ledger when the file was made, 0 if it was not known yet. What a leader staged before a
	// rewind can be told from what came after it.
	Generation uint64
	SegmentID  [16]byte
	Path       string
	Size       int64 // bytes
}

// Ids have 22 characters, which may be '-' and '_' too; numbers have no sign and no leading zero, so that a name has one
// reading and a range one name.
var holdName = regexp.MustCompile(`^tidemark-([A-Za-z0-9_-]{22})-(0|[1-9][0-9]*)-(0|[1-9][0-9]*)-(0|[1-9][0-9]*)-(0|[1-9][0-9]*)-(0|[1-9][0-9]*)-([A-Za-z0-9_-]{22})\.hold$`)

// uuidText is Kafka's: unpadded base64url. Strict, so that no other text decodes to the same id.
var uuidText = base64.RawURLEncoding.Strict()

// name is the file name of a hold file; see docs/format/hold-file.md.
func (h Held) name() string {
	return fmt.Sprintf("tidemark-%s-%d-%d-%d-%d-%d-%s.hold", uuidText.EncodeToString(h.TopicID[:]),
		h.Partition, h.Base, h.End, h.Epoch, h.Generation, uuidText.EncodeToString(h.SegmentID[:]))
}

// ParseHoldName is the inverse of name; ok is false for a name that is not exactly of this form.
func ParseHoldName(name string) (h Held, ok bool) {
	m := holdName.FindStringSubmatch(name)
	if m == nil {
		return Held{}, false
	}
	ok = true
	id := func(s string) (id [16]byte) {
		n, err := uuidText.Decode(id[:], []byte(s))
		ok = ok && err == nil && n == len(id)
		return id
	}
	number := func(s string, bits int) int64 {
		n, err := strconv.ParseInt(s, 10, bits)
		ok = ok && err == nil
		return n
	}
	h = Held{
		TopicID: id(m[1]), Partition: int32(number(m[2], 32)), Base: number(m[3], 64), End: number(m[4], 64),
		Epoch: int32(number(m[5], 32)), Generation: uint64(number(m[6], 64)), SegmentID: id(m[7]),
	}
	return h, ok && h.End >= h.Base
}

// compareHeld orders hold files by topic, partition and offset.
func compareHeld(a, b Held) int {
	return cmp.Or(slices.Compare(a.TopicID[:], b.TopicID[:]), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Base, b.Base),
		cmp.Compare(a.End, b.End), strings.Compare(a.Path, b.Path))
}
