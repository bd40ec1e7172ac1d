package dispatch

import (
	"context"
	"log/slog"
	"time"

	"tidemark/internal/telemetry"
)

// InitRequest is what holds for the whole process.
type InitRequest struct {
	CPUs        int    // as the JVM sees them
	MemoryLimit int64  // bytes for the Go heap, 0 = none
	CrashFile   string // absolute, "" = none
	SlabCount   int
	SlabSize    int // bytes
	Version     string
	LogLevel    int // 0 debug, 1 info, 2 warn, 3 error
}

// OpenRequest is RemoteStorageManager.configure.
type OpenRequest struct {
	NodeID       int32
	Properties   map[string]string // Kafka's, prefix stripped; may hold secrets
	KafkaVersion string
	JavaVersion  string
	Version      string        // of this library
	Deadline     time.Duration // already in the context
}

// TopicPartition names a partition with its topic id.
type TopicPartition struct {
	TopicID   [16]byte // as org.apache.kafka.common.Uuid, big-endian
	Topic     string
	Partition int32
	// From is used where segment lists are asked for and answered: those that end below this offset are not wanted.
	From int64
}

// Epoch is one entry of a segment's leader epochs.
type Epoch struct {
	Epoch int32
	Start int64 // first offset
}

// Segment is RemoteLogSegmentMetadata.
type Segment struct {
	TopicID       [16]byte
	Topic         string
	Partition     int32
	ID            [16]byte
	BaseOffset    int64
	EndOffset     int64 // inclusive
	MaxTimestamp  int64 // milliseconds since the epoch, -1 = none
	Size          int64 // bytes of the log file
	Epochs        []Epoch
	Custom        []byte // custom metadata, nil = none
	BrokerID      int32
	TxnIndexEmpty bool
}

// Paths are the files of LogSegmentData. All are absolute; "" means the file is absent.
type Paths struct {
	Log              string
	OffsetIndex      string
	TimeIndex        string
	ProducerSnapshot string
	TxnIndex         string
	LeaderEpochs     []byte // the leader epoch checkpoint itself
}

// CopyRequest is copyLogSegmentData.
type CopyRequest struct {
	Segment  Segment
	Paths    Paths
	Deadline time.Duration
}

// StreamKind says what a stream carries: the log itself or one of its indexes.
type StreamKind int8

// The stream kinds, numbered as in internal/wire/messages.fbs.
const (
	StreamSegment StreamKind = iota
	StreamOffset
	StreamTimestamp
	StreamProducerSnapshot
	StreamTransaction
	StreamLeaderEpoch
)

// StreamRequest is fetchLogSegment or fetchIndex.
type StreamRequest struct {
	Segment      Segment
	Kind         StreamKind
	Start        int64 // byte position, StreamSegment only
	End          int64 // exclusive, -1 = to the end of the segment
	Deadline     time.Duration
	NextDeadline time.Duration
	Next         *Segment // the segment after it, nil = not known
}

// DeleteRequest is deleteLogSegmentData.
type DeleteRequest struct {
	Segment  Segment
	Deadline time.Duration
}

// LeadershipRequest is what this broker leads and follows, as levels: a partition in Leaders is led, whatever was
// said before.
type LeadershipRequest struct {
	Leaders   []TopicPartition
	Followers []TopicPartition
	Stopped   []TopicPartition
}

// FactsRequest is what only the metadata manager is told about its broker.
type FactsRequest struct {
	ClusterID        string
	Bootstrap        string // host:port of the broker's own listener, "" = none
	SecurityProtocol string
	LogDir           string
}

// SegmentsRequest lists a partition's finished segments that do not end below Partition.From, by base offset, or says why they
// could not be read.
type SegmentsRequest struct {
	Partition TopicPartition // From as Wanted gave it
	Segments  []Segment
	Error     string // "" = the list is right
	More      bool   // the list goes on after its last segment
}

// StatesWanted asks for what Kafka's remote log metadata says of segments of a partition that this broker leads.
type StatesWanted struct {
	Partition TopicPartition // Topic may be ""
	Ticket    int64
	Segments  [][16]byte
	GiveUp    bool // those whose copy never ended are to be given up
}

// StatesRequest answers a StatesWanted.
type StatesRequest struct {
	Ticket  int64
	States  []int8 // RemoteLogSegmentState ids in the order of the question; -1 = not known
	End     int64  // offset after the last finished segment, 0 = none
	GivenUp int
	Error   string // "" = the answer is right
}

// Instance is one configured plugin. Every method may be called from many threads at once, and none after Close
// returned. A method returns soon after its context ended; what must be undone after that runs under a context of
// its own.
type Instance interface {
	// Copy stores a segment and returns its custom metadata, which the caller may keep.
	Copy(ctx context.Context, req CopyRequest) ([]byte, error)
	// Open starts reading and says how many bytes there are. ctx ends when Open returns: the stream must not keep it.
	Open(ctx context.Context, req StreamRequest) (Stream, int64, error)
	// Delete makes a segment unwanted. It is idempotent.
	Delete(ctx context.Context, seg Segment) error
	// Leadership, Facts, Segments and States take note and return: they do no I/O.
	Leadership(req LeadershipRequest)
	Facts(req FactsRequest)
	Segments(req SegmentsRequest)
	States(req StatesRequest)
	// Wanted are the partitions whose segment list should be read, from their From on. It does no I/O.
	Wanted() []TopicPartition
	// StatesWanted are questions about states of segments, each handed out once. It does no I/O.
	StatesWanted() []StatesWanted
	// Samples are all series of the instance, in any order.
	Samples() ([]telemetry.Sample, error)
	// Close ends everything the instance owns, within ctx.
	Close(ctx context.Context) error
}

// Stream is bytes of a known length. Calls do not overlap.
type Stream interface {
	// Next fills dst from where the last call ended and returns how many bytes it put there: never 0 before the
	// announced length is reached. After an error the stream is only closed.
	Next(ctx context.Context, dst []byte) (int, error)
	// Close gives back what the stream holds. It is called once and does not block.
	Close()
}

// Opener builds an instance. Its errors of class Invalid become a ConfigException that shows the whole text.
type Opener func(ctx context.Context, req OpenRequest, log *slog.Logger) (Instance, error)
