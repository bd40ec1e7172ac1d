package catalog

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"tidemark/internal/status"
)

// Table properties.
const (
	PropertyLedger    = "tidemark.ledger"     // the full ledger, encoded
	PropertyClusterID = "tidemark.cluster-id" // with PropertyTopicID: the claim on the table
	PropertyTopicID   = "tidemark.topic-id"   // Kafka's text form
	PropertyTopic     = "tidemark.topic"      // for people
	PropertyLayout    = "tidemark.layout"     // layout and type-map version
)

// Snapshot summary entries.
const (
	SummaryCommitID     = "tidemark.commit-id"     // of the logical commit: the same over attempts with the same ranges
	SummarySeq          = "tidemark.seq"           // of the ledger this commit installs
	SummaryCRC          = "tidemark.crc"           // of the same ledger, 8 hexadecimal digits
	SummaryChanged      = "tidemark.changed"       // ranges by which this commit moved the ledger
	SummaryEmpty        = "tidemark.empty"         // those of them for which no file was written
	SummaryPath         = "tidemark.path"          // see the Path constants
	SummaryLedger       = "tidemark.ledger"        // the full ledger, encoded, if it is short
	SummaryLedgerObject = "tidemark.ledger-object" // else "<name> <crc>" of the object that holds it
)

// TagProgress is the tag on the snapshot of the newest commit that changed the ledger. It has no age limit.
const TagProgress = "tidemark.progress"

// BranchMain is Iceberg's main branch.
const BranchMain = "main"

// LayoutVersion is the version of system columns, partitioning and type map of the tables this version writes.
const LayoutVersion = "1"

// Values of SummaryPath: how the ranges of a commit came about.
const (
	PathSegment = "segment" // from closed segments
	PathEmpty   = "empty"   // no rows: progress or a repaired property only
)

// ClaimProperties are the properties a new table of a group is created with: the claim and the layout.
func ClaimProperties(c Claim) map[string]string {
	return map[string]string{
		PropertyClusterID: c.ClusterID,
		PropertyTopicID:   c.TopicID.String(),
		PropertyTopic:     c.Topic,
		PropertyLayout:    LayoutVersion,
	}
}

// String is Kafka's text of a topic id: 22 characters of base64url without padding (org.apache.kafka.common.Uuid).
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// ParseTopicID reads Kafka's text of a topic id. Error class: Invalid.
func ParseTopicID(text string) (TopicID, error) {
	var id TopicID
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != len(id) || base64.RawURLEncoding.EncodeToString(raw) != text {
		return id, status.Errorf(status.Invalid, "%q is not a topic id: 22 characters of base64url are expected", text)
	}
	copy(id[:], raw)
	return id, nil
}

// DataFileName is the name of a table file below its table's location:
// data/<topicId>/<partition>/<base>-<end>-<leader epoch>-<n>-<random>.parquet. Two leaders may write different bytes for
// one range, so random must be unpredictable (16 characters of lower-case hexadecimal or base32 are enough) and a name is
// never used twice. The name is for people: identity is the range in the footer.
func DataFileName(id TopicID, r Range, leaderEpoch int32, n int, random string) string {
	return fmt.Sprintf("data/%s/%d/%d-%d-%d-%d-%s.parquet", id, r.Partition, r.Base, r.End, leaderEpoch, n, random)
}

// ledgerObjectName is the name, below the group's own prefix and outside every table location, of the object that holds a
// ledger too long for a summary. Equal names hold equal bytes.
func ledgerObjectName(l Ledger, crc uint32, commitID string) string {
	return fmt.Sprintf("ledgers/%x/%d-%08x-%s", l.TableUUID, l.Seq, crc, commitID)
}

func formatCRC(crc uint32) string { return fmt.Sprintf("%08x", crc) }

func parseCRC(text string) (uint32, bool) {
	n, err := strconv.ParseUint(text, 16, 32)
	return uint32(n), err == nil && len(text) == 8
}
