package ingest

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"tidemark/catalog"
	"tidemark/internal/status"
)

// Kept is a segment that the storage side keeps for a table: by a hold file, or because the removal of its object waits. It may be
// there twice.
type Kept struct {
	TopicID    catalog.TopicID
	Partition  int32
	ID         [16]byte
	Base, End  int64
	Unlistable bool // Kafka has deleted it: no list of remote segments names it
}

func (k Kept) key() key { return key{k.TopicID, k.Partition} }

// Bounds of one look at what is kept.
const (
	maxKept      = 1000 // segments of a partition that are described
	describeTime = 30 * time.Second
	keptPause    = 5 * time.Second // after a failure
)

// Adopt takes up partitions of a topic that this broker does not lead, of which it keeps segments that no leader can see any more and
// that the table lacks. It reports whether there are any. The topic's ledger must be known.
func (in *Ingest) Adopt(topicID catalog.TopicID, topic string) bool {
	kept := in.deps.Segments.Kept()
	in.mu.Lock()
	defer in.mu.Unlock()
	l, known := in.ledgers[topicID]
	if !known {
		return false
	}
	found := false
	for _, k := range kept {
		if k.TopicID != topicID || !k.Unlistable || k.End <= l.Progress(k.Partition).Next || in.absent[k.ID] || in.partitions[k.key()] != nil {
			continue
		}
		found = true
		s := &state{partition: Partition{TopicID: topicID, Topic: topic, Partition: k.Partition}, segments: map[[16]byte]Segment{},
			led: true, draining: true, adopted: true}
		in.partitions[k.key()] = s
		in.advance(s, l.Progress(k.Partition))
	}
	if found {
		in.nudge()
	}
	return found
}

// Behind reports whether a commit by another broker would help a topic: a partition's next offset is in nothing this broker sees,
// or it keeps segments of a partition it does not lead.
func (in *Ingest) Behind(topicID catalog.TopicID) bool {
	kept := in.deps.Segments.Kept()
	in.mu.Lock()
	defer in.mu.Unlock()
	for k, s := range in.partitions {
		if k.topic == topicID && s.led && !s.found && s.gap != (Gap{}) {
			return true
		}
	}
	return slices.ContainsFunc(kept, func(k Kept) bool {
		if k.TopicID != topicID {
			return false
		}
		s := in.partitions[k.key()]
		return s == nil || s.adopted
	})
}

// unseen reports whether what is kept of a partition is to be looked at: after every list, and at times if there are none. in.mu is held.
func (in *Ingest) unseen(s *state, now time.Time) bool {
	switch {
	case !s.led || !s.known || in.targets[s.partition.TopicID] == nil:
		return false
	case s.draining:
		return s.keptAt.IsZero() || now.Sub(s.keptAt) >= in.cfg.ListEvery
	}
	return !s.listed.IsZero() && s.keptAt.Before(s.listed)
}

// startRecall starts a look at what is kept, if one is due and none is under way.
func (in *Ingest) startRecall(now time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.recalling || now.Before(in.recallAfter) {
		return
	}
	for _, s := range in.partitions {
		if in.unseen(s, now) {
			in.recalling = in.tasks.Go("recall", in.recall)
			return
		}
	}
}

// recall adds what is kept, and not known, to the segments of the partitions that may need it.
func (in *Ingest) recall(ctx context.Context) {
	var err error
	defer func() {
		in.mu.Lock()
		in.recalling = false
		if err != nil {
			in.recallAfter = time.Now().Add(keptPause)
		}
		in.mu.Unlock()
		in.nudge()
	}()
	now := time.Now()
	kept := in.deps.Segments.Kept()
	in.mu.Lock()
	wanted := in.recallable(now, kept)
	in.mu.Unlock()
	for k, list := range wanted {
		found, absent, failure := in.describe(ctx, list)
		if failure != nil {
			err = failure
		}
		in.recalled(k, now, found, absent, failure)
	}
}

// recallable are the segments to describe, by partition. in.mu is held.
func (in *Ingest) recallable(now time.Time, kept []Kept) map[key][]Kept {
	wanted := map[key][]Kept{}
	there := map[[16]byte]bool{}
	for k, s := range in.partitions {
		if in.unseen(s, now) {
			wanted[k] = nil
		}
	}
	for _, k := range kept {
		list, due := wanted[k.key()]
		if in.absent[k.ID] {
			there[k.ID] = true
			due = false // its object cannot come back
		}
		if !due {
			continue
		}
		s := in.partitions[k.key()]
		upTo := s.upTo
		if s.draining {
			upTo = math.MaxInt64
		}
		if _, known := s.segments[k.ID]; !known && k.End > s.progress.Next && k.Base < upTo {
			wanted[k.key()] = append(list, k)
		}
	}
	for id := range in.absent {
		if !there[id] {
			delete(in.absent, id)
		}
	}
	for k, list := range wanted {
		slices.SortFunc(list, func(a, b Kept) int { return cmp.Or(cmp.Compare(a.Base, b.Base), slices.Compare(a.ID[:], b.ID[:])) })
		list = slices.CompactFunc(list, func(a, b Kept) bool { return a.ID == b.ID })
		wanted[k] = list[:min(len(list), maxKept)]
	}
	return wanted
}

// describe learns what a conversion needs to know of segments. Those that are not in the store any more are absent; one that is
// damaged is left out. What may be cured by waiting is the error, beside what was found before.
func (in *Ingest) describe(ctx context.Context, list []Kept) (found []Segment, absent [][16]byte, err error) {
	for _, k := range list {
		seg, err := in.describeOne(ctx, k)
		switch class := status.Of(err); {
		case err == nil:
			found = append(found, seg)
		case class == status.NotFound:
			absent = append(absent, k.ID)
		case class.Retryable() || class == status.Cancelled || class == status.Closed:
			return found, absent, err
		default:
			in.deps.Log.Warn("table.kept.unreadable", "topic_id", k.TopicID.String(), "partition", k.Partition, "base", k.Base, "end", k.End,
				"class", class.String(), "error", err.Error())
		}
	}
	return found, absent, nil
}

func (in *Ingest) describeOne(ctx context.Context, k Kept) (Segment, error) {
	ctx, cancel := context.WithTimeout(ctx, describeTime)
	defer cancel()
	return in.deps.Segments.Describe(ctx, k)
}

// recalled takes what was found of a partition at a time.
func (in *Ingest) recalled(k key, at time.Time, found []Segment, absent [][16]byte, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, id := range absent {
		in.absent[id] = true
	}
	s := in.partitions[k]
	if s == nil || !s.led || in.targets[k.topic] == nil {
		return
	}
	for _, seg := range found {
		if _, known := s.segments[seg.ID]; known || seg.End <= s.progress.Next {
			continue
		}
		seg.Partition, seg.unlisted = s.partition, true
		s.segments[seg.ID] = seg
	}
	s.changed, s.keptError = true, ""
	if err != nil {
		s.keptError = "segments that are kept for the table could not be looked at: " + err.Error()
		return
	}
	s.keptAt = at
	in.drained(s)
}
