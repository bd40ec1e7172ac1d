package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"

	"tidemark/internal/status"
)

// recordLimit bounds a group or name record, in bytes.
const recordLimit = 64 << 10

const recordFormat = 1

// The first word of a record says what it is.
const (
	groupKind = "tidemark-group"
	nameKind  = "tidemark-name"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// group is the pointer of a topic group: everything a commit moves. docs/format/catalog-group.md.
type group struct {
	TopicID    string     `json:"topic-id"` // as Kafka writes it
	ClusterID  string     `json:"cluster-id"`
	Topic      string     `json:"topic"`
	Namespace  string     `json:"namespace"`
	Name       string     `json:"name"`       // of the main table
	Generation uint64     `json:"generation"` // +1 each time the group is created anew after a drop
	Version    int64      `json:"version"`    // +1 per write
	CommitID   string     `json:"commit-id"`  // random: no two writes have equal content, so no two have equal ETags
	Dropped    bool       `json:"dropped"`
	Tables     []tableRef `json:"tables"`
}

// tableRef is one table of a group.
type tableRef struct {
	Role     string `json:"role"`
	Name     string `json:"name"`
	UUID     string `json:"uuid"`
	Metadata string `json:"metadata"` // URI of the current metadata file
}

// claim says whose a table name is.
type claim struct {
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	TopicID    string `json:"topic-id"`
	ClusterID  string `json:"cluster-id"`
	Topic      string `json:"topic"`
	Generation uint64 `json:"generation"` // of the group it was made for
}

// encodeRecord writes "<kind> <format> <CRC-32C of the rest, 8 hex digits>\n" and then JSON and a newline.
func encodeRecord(kind string, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, status.Errorf(status.Internal, "encode %s: %w", kind, err)
	}
	body = append(body, '\n')
	head := fmt.Sprintf("%s %d %08x\n", kind, recordFormat, crc32.Checksum(body, castagnoli))
	return append([]byte(head), body...), nil
}

// decodeRecord reads a record into v; key names it in errors. A later format is Unsupported, everything else Corrupt.
func decodeRecord(data []byte, kind, key string, v any) error {
	head, body, found := bytes.Cut(data, []byte("\n"))
	words := bytes.Split(head, []byte(" "))
	if !found || len(words) != 3 || string(words[0]) != kind {
		return status.Errorf(status.Corrupt, "%s does not start like a %s record", key, kind)
	}
	if string(words[1]) != strconv.Itoa(recordFormat) {
		return status.Errorf(status.Unsupported, "%s has %s format %q, this version of Tidemark reads format %d", key, kind, words[1], recordFormat)
	}
	if sum := fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)); sum != string(words[2]) {
		return status.Errorf(status.Corrupt, "%s: checksum is %s, record says %q", key, sum, words[2])
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return status.Errorf(status.Corrupt, "%s: %v", key, err)
	}
	if rest, err := d.Token(); err == nil {
		return status.Errorf(status.Corrupt, "%s: %v after the record", key, rest)
	}
	return nil
}
