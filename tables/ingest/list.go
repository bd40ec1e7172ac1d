package ingest

import (
	"math"
	"time"
)

// List is a partition's remote segments that end above From, by base offset. With More there are others after the last of them:
// it is complete only up to its end.
type List struct {
	From     int64
	Segments []Segment
	More     bool
}

// complete are the offsets below which nothing is missing from the list: of the first offsets of segments, and of what they cover.
func (l List) complete() (base, end int64) {
	if !l.More || len(l.Segments) == 0 {
		return math.MaxInt64, math.MaxInt64
	}
	for _, s := range l.Segments {
		base, end = max(base, s.Base), max(end, s.End)
	}
	return base, end
}

// Listed takes a list of a partition's remote segments, or why it could not be read. Segments that are known but not in the list are
// kept until the table covers them: the metadata of a handed-over one is published after its copy returns, and the object of one that
// retention removed is held.
func (in *Ingest) Listed(p Partition, list List, err error) {
	in.mu.Lock()
	defer in.nudge()
	defer in.mu.Unlock()
	s := in.partitions[p.key()]
	if s == nil || !s.led || s.draining {
		return
	}
	if err != nil {
		s.listError = "the list of remote segments could not be read: " + err.Error()
		return
	}
	if list.From > max(s.progress.Next, s.upTo) {
		return // it was asked for before what lies between was forgotten
	}
	s.listError, s.listed, s.further, s.changed = "", time.Now(), false, true
	if !s.asked.Before(s.wanted) {
		s.wanted = time.Time{}
	}
	if s.asked.After(s.handed) {
		s.handed = time.Time{}
	}
	var base int64
	base, s.upTo = list.complete()
	if in.targets[p.TopicID] == nil {
		return
	}
	for id, seg := range s.segments {
		if seg.End > list.From && seg.Base < base {
			seg.unlisted = true
			s.segments[id] = seg
		}
	}
	for _, seg := range list.Segments {
		if !s.known || seg.End > s.progress.Next {
			seg.NoHold = s.segments[seg.ID].NoHold
			s.segments[seg.ID] = seg
		}
	}
}

// Want is a partition whose list should be read, without the segments that end at or below From.
type Want struct {
	Partition Partition
	From      int64
}

// Wanted are the partitions whose list of remote segments should be read now.
func (in *Ingest) Wanted() []Want {
	in.mu.Lock()
	defer in.mu.Unlock()
	now := time.Now()
	var wanted []Want
	for k, s := range in.partitions {
		if in.targets[k.topic] == nil || !s.led || s.draining {
			continue
		}
		from := s.progress.Next
		paused := now.Sub(s.asked) < min(in.cfg.ListEvery, 5*time.Second)
		switch {
		case s.further && (!paused || !s.asked.After(s.listed)):
			from = max(from, s.upTo)
		case paused:
			continue
		case s.wanted.IsZero() && now.Sub(s.listed) < in.cfg.ListEvery:
			continue
		}
		s.asked = now
		wanted = append(wanted, Want{Partition: s.partition, From: from})
	}
	return wanted
}

// end notes that there is nothing to go on with above reach: if the list goes on there, its next part is wanted. in.mu is held.
func (s *state) end(reach int64) {
	if !s.listed.IsZero() && s.upTo < math.MaxInt64 && reach >= s.upTo {
		s.further = true
	}
}

// unlist forgets that a list was read. in.mu is held.
func (s *state) unlist() {
	s.listed, s.asked, s.upTo, s.further = time.Time{}, time.Time{}, 0, false
}
