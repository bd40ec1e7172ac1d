package sweep

// Partition is what is known of the partition that a candidate belongs to.
type Partition uint8

// What is known of a partition.
const (
	Foreign  Partition = iota // another broker leads it, or nobody knows
	Led                       // its metadata is at hand, read to its end
	Vanished                  // its topic was missing from the cluster in two sweeps, the grace time apart
)

// State is what Kafka's remote log metadata says of a segment (RemoteLogSegmentState, KIP-405).
type State uint8

// The states.
const (
	Absent   State = iota // the metadata does not know the segment, or knows that its delete is finished
	Started               // COPY_SEGMENT_STARTED
	Finished              // COPY_SEGMENT_FINISHED
	Deleting              // DELETE_SEGMENT_STARTED
)

// Action is what happens to the objects of a segment.
type Action uint8

// The actions.
const (
	Keep   Action = iota
	Remove        // the objects go
	GiveUp        // Kafka is asked to give up the copy; the segment is then in DELETE_SEGMENT_STARTED
)

// Reason says why; it is also a metric label.
type Reason string

// The reasons. The first group keeps.
const (
	NotLed       Reason = "not-led"         // another broker decides
	Copying      Reason = "copying"         // a copy of this broker makes it
	Pending      Reason = "delete-pending"  // the journal of deletes has it
	Young        Reason = "young"           // younger than the grace time
	Alive        Reason = "alive"           // Kafka's metadata knows it
	Held         Reason = "held"            // a table has not got its rows
	Beyond       Reason = "beyond-metadata" // readable, and above all that the metadata knows
	TooMany      Reason = "too-many"        // more than sweep.partition.max in its partition
	NotKnown     Reason = "not-known"       // the metadata or the sidecar could not be read
	UnknownKey   Reason = "unknown-key"     // not a key of Tidemark
	Orphan       Reason = "orphan"          // the metadata does not know it
	TopicDeleted Reason = "topic-deleted"   // its topic is gone
	Abandoned    Reason = "copy-abandoned"  // its copy never ended
	Undeleted    Reason = "delete-stalled"  // Kafka began its delete a grace time ago and nobody ended it
)

// Reasons are all reasons in a fixed order.
func Reasons() []Reason {
	return []Reason{NotLed, Copying, Pending, Young, Alive, Held, Beyond, TooMany, NotKnown, UnknownKey, Orphan, TopicDeleted, Abandoned, Undeleted}
}

// Case is all that the decision about one segment's objects rests on.
type Case struct {
	Partition Partition
	State     State // of no meaning unless Partition is Led
	Old       bool  // its youngest object is older than the grace time
	Copying   bool  // a copy of this broker makes it
	Pending   bool  // its delete waits in the journal of this broker
	Readable  bool  // it has a sidecar
	Held      bool  // a table has not got its rows; only a readable segment has any
	Beyond    bool  // it ends above the highest finished segment that the metadata knows
}

// Verdict is a decision.
type Verdict struct {
	Action Action
	Reason Reason
}

// Decide says what happens to the objects of a segment. It is total, and careful in one direction: no fact that is true in a Case
// and was false in another turns a Keep into something else, except Old, and that the partition is known.
func Decide(c Case) Verdict {
	switch {
	case c.Partition != Led && c.Partition != Vanished:
		return Verdict{Keep, NotLed}
	case c.Copying:
		return Verdict{Keep, Copying}
	case c.Pending:
		return Verdict{Keep, Pending}
	case !c.Old:
		return Verdict{Keep, Young}
	case c.Partition == Vanished && c.Held && c.Readable:
		return Verdict{Keep, Held}
	case c.Partition == Vanished:
		return Verdict{Remove, TopicDeleted}
	case c.State == Started:
		return Verdict{GiveUp, Abandoned}
	case c.State != Absent && c.State != Deleting:
		return Verdict{Keep, Alive}
	case c.Held && c.Readable:
		return Verdict{Keep, Held}
	case c.State == Deleting: // no consumer and no replica reads it; Kafka takes such a delete up again only where a retention is set
		return Verdict{Remove, Undeleted}
	case c.Beyond && c.Readable:
		return Verdict{Keep, Beyond}
	}
	return Verdict{Remove, Orphan}
}
