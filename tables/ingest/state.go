package ingest

import (
	"strconv"
	"time"

	"tidemark/catalog"
	"tidemark/tables/convert"
)

// state is what is known of one partition. Ingest.mu guards it.
type state struct {
	partition Partition
	led       bool
	draining  bool // led when the partition left this broker; its segments are final
	adopted   bool // draining, and another broker may lead it: what is kept here is added to that leader's work
	segments  map[[16]byte]Segment
	progress  catalog.Progress
	known     bool // progress is from a ledger

	listed    time.Time // of the last list; zero: never
	asked     time.Time // when the list was last asked for
	wanted    time.Time // since when a newer list is needed; zero: it is not
	handed    time.Time // of the last hand-over, unless a list was asked for since
	listError string
	upTo      int64     // the lists that were read lack nothing from progress.Next up to here
	further   bool      // what is known ends at upTo: the list from there is wanted
	keptAt    time.Time // of the last look at what is kept; zero: never
	keptError string

	changed bool // segments or progress have: the cut is to be made again
	cut     Cut
	gap     Gap
	found   bool // cut is something to convert

	busy       bool
	submitting bool      // busy with an offer that waits for its commit
	since      time.Time // when there was first something to convert
	notBefore  time.Time // after a failure
	failures   int
	undecided  int64  // end of the tiles at which no offset of the cut was decided yet; 0: none
	reason     string // why nothing is converted although something waits

	// offer is a converted range that could not be submitted, and by whom it was converted. It is submitted again instead
	// of converted again.
	offer *catalog.Offer
	by    *convert.Converter
}

// lead makes a partition led and reports whether it was not. in.mu is held.
func (in *Ingest) lead(p Partition) bool {
	s := in.partitions[p.key()]
	switch {
	case s == nil:
		s = &state{partition: p, segments: map[[16]byte]Segment{}}
		in.partitions[p.key()] = s
	case s.led && !s.draining:
		return false
	}
	s.led, s.draining, s.adopted, s.changed = true, false, false, true
	s.unlist()
	s.wanted, s.listError, s.keptError = time.Time{}, "", ""
	s.failures, s.notBefore, s.reason = 0, time.Time{}, ""
	if l, ok := in.ledgers[p.TopicID]; ok {
		in.advance(s, l.Progress(p.Partition))
	}
	return true
}

// leave ends what is done for a partition; a job that runs is left to its end. in.mu is held.
func (in *Ingest) leave(s *state) {
	in.forget(s)
	s.led, s.draining, s.adopted = false, false, false
	if !s.busy {
		delete(in.partitions, s.partition.key())
	}
}

// forget drops what waits in a partition. in.mu is held.
func (in *Ingest) forget(s *state) {
	clear(s.segments)
	s.offer, s.reason, s.changed, s.since, s.undecided = nil, "", true, time.Time{}, 0
	p := strconv.Itoa(int(s.partition.Partition))
	in.metrics.lag.Forget(s.partition.Topic, p)
	in.metrics.waiting.Forget(s.partition.Topic, p)
}

// target sets a topic's target. A table that is new here needs the lists of its partitions. in.mu is held.
func (in *Ingest) target(topicID catalog.TopicID, t *target) {
	_, known := in.targets[topicID]
	in.targets[topicID] = t
	for k, s := range in.partitions {
		if k.topic != topicID {
			continue
		}
		s.changed, s.notBefore, s.undecided = true, time.Time{}, 0
		if !known && !s.draining {
			s.unlist()
		}
	}
}

// advance takes a partition's progress. in.mu is held.
func (in *Ingest) advance(s *state, p catalog.Progress) {
	if s.known && p.Next < s.progress.Next {
		s.unlist() // segments were forgotten that are needed again
	}
	if !s.known || p != s.progress {
		s.changed, s.undecided, s.notBefore = true, 0, time.Time{}
	}
	s.progress, s.known = p, true
	for id, seg := range s.segments {
		if seg.End <= p.Next {
			delete(s.segments, id)
		}
	}
	in.drained(s)
}

// drained ends a partition that left this broker once nothing of it waits. in.mu is held.
func (in *Ingest) drained(s *state) {
	if s.draining && len(s.segments) == 0 && !s.keptAt.IsZero() {
		in.leave(s)
	}
}

// why is the reason an operator sees.
func (s *state) why() string {
	switch {
	case s.reason != "":
		return s.reason
	case s.listError != "":
		return s.listError
	case s.keptError != "":
		return s.keptError
	case len(s.segments) > 0 && !s.known:
		return "the table's ledger is not loaded yet"
	case len(s.segments) > 0 && s.listed.IsZero() && !s.draining:
		return "the list of remote segments has not come yet"
	case len(s.segments) > 0 && s.further && s.draining:
		return "the partition left this broker before the whole list of its remote segments was read"
	}
	return ""
}
