package catalog

// TopicID is Kafka's 16-byte topic id.
type TopicID [16]byte

// Claim says whose table it is: one incarnation of one topic of one cluster.
type Claim struct {
	ClusterID string
	TopicID   TopicID
	Topic     string // for people; identity is the id
}

// Range is a run of offsets of one partition, [Base, End). It counts offsets covered, not rows: aborted, control and
// quarantined offsets and holes are covered too.
type Range struct {
	Partition int32
	Base, End int64
	// BatchEpoch is the leader epoch of the last covered batch, LastBatchBase and LastBatchCRC its base offset and the CRC
	// of its header: the end's identity on the leader-epoch chain and against a log restored from a backup.
	BatchEpoch    int32
	LastBatchBase int64
	LastBatchCRC  uint32
	// LastRow is the offset of the newest row in the main table from this range, -1 if it has none.
	LastRow int64
}

// Role is which table of a group a file belongs to.
type Role string

// The roles. A group is the tables of one topic under one pointer.
const (
	Main       Role = "main"
	Quarantine Role = "quarantine"
)

// ColumnFacts are the size, counts and bounds of one column of a file, for the manifest.
type ColumnFacts struct {
	FieldID      int
	Size         int64 // compressed bytes of the column in the file
	Values       int64 // values including nulls
	Nulls        int64
	NaNs         int64  // -1 if not counted
	Lower, Upper []byte // Iceberg single-value serialisation; nil if there is none
}

// File is one immutable data file of a table.
type File struct {
	URI       string
	Size      int64 // bytes
	Rows      int64
	Schema    int // Iceberg schema id it was written with
	Spec      int // partition spec id it was written with
	Partition []PartitionValue
	Columns   []ColumnFacts
	Splits    []int64 // offsets of row groups
}

// PartitionValue is one value of a file's partition tuple. Null means the null partition.
type PartitionValue struct {
	FieldID int // partition field id
	Null    bool
	Value   int64 // day number for day(), the value for identity of int and long
}

// Counts says what became of the offsets of a range. Rows of main plus quarantine are the visible records.
type Counts struct {
	Rows, Quarantined, Aborted, Control, Tombstones int64
}

// Offer is the result of one conversion: the files of a range, for every table of the group. Offers may be lost, doubled
// or wrong; the ledger decides.
type Offer struct {
	Range       Range
	Generation  uint64 // of the ledger it was made for
	LeaderEpoch int32  // of the broker that made it: a tie-break, nothing more
	Counts      Counts
	Files       map[Role][]File
}

// Progress is a partition's entry in the ledger.
type Progress struct {
	Next          int64 // first offset not covered
	BatchEpoch    int32 // of the last covered batch; -1 if nothing is covered
	LastBatchBase int64 // -1 if nothing is covered
	LastBatchCRC  uint32
	Start         int64 // live ingestion began here
	Lo            int64 // backfill has covered [Lo, Start)
	Floor         int64 // backfill stops here
	Last          int64 // offset of the newest row present; -1 if none
}

// Ledger is what a group's main table says of its progress. It moves only in the commit that adds the files.
type Ledger struct {
	TableUUID  [16]byte
	Generation uint64
	Seq        uint64 // +1 per own commit that changes the ledger
	Sequence   int64  // Iceberg sequence number of that commit
	Claim      Claim
	Partitions map[int32]Progress
	GapCount   uint64
}
