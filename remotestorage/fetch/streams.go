package fetch

import "time"

// streams is which segments are read in sequence now, and where the readers of a partition are: both decide how far ahead
// it is worth to read.
type streams struct {
	live  map[string]time.Time    // by log object: when it was last read in sequence
	swept time.Time               // when live was last looked through
	tails map[partitionKey]tailAt // bounded by maxTails
	given map[partitionKey]given  // what was read ahead of the next segment, bounded alike
}

type partitionKey struct {
	topicID   [16]byte
	partition int32
}

// tailAt is the end of the segment of a partition that was read to its last chunk most recently.
type tailAt struct {
	next   int64 // offset after it
	window int64
}

// given is how many GETs of the segment after log were started.
type given struct {
	log  string
	gets int64
}

const (
	streamIdle = 5 * time.Second
	maxTails   = 4096
)

func newStreams() streams {
	return streams{live: map[string]time.Time{}, tails: map[partitionKey]tailAt{}, given: map[partitionKey]given{}}
}

// note takes a use of chunk i.
func (t *streams) note(s *Segment, i int, sequential bool, window int64, now time.Time) {
	if sequential {
		t.live[s.log] = now
	}
	if i != len(s.m.Chunks)-1 || !sequential && len(s.m.Chunks) > 1 {
		return
	}
	key := s.partition()
	makeRoom(t.tails, key)
	t.tails[key] = tailAt{next: s.end + 1, window: window}
}

// handOver tells whether another GET of the segment after s is due: gets is how many there should be by now.
func (t *streams) handOver(s *Segment, gets int64) bool {
	key := s.partition()
	if g := t.given[key]; g.log == s.log && g.gets >= gets {
		return false
	}
	makeRoom(t.given, key)
	t.given[key] = given{s.log, gets}
	return true
}

// makeRoom keeps a map within its bound; which entry goes does not matter: losing one costs a GET.
func makeRoom[V any](m map[partitionKey]V, key partitionKey) {
	if _, known := m[key]; known || len(m) < maxTails {
		return
	}
	for other := range m {
		delete(m, other)
		return
	}
}

// count is how many segments are read in sequence, at least 1.
func (t *streams) count(now time.Time) int64 {
	if now.Sub(t.swept) > streamIdle/5 {
		t.swept = now
		for log, at := range t.live {
			if now.Sub(at) > streamIdle {
				delete(t.live, log)
			}
		}
	}
	return max(int64(len(t.live)), 1)
}

// inherited is the window of the reader that comes from the segment before, 0 if there is none.
func (t *streams) inherited(s *Segment) int64 {
	tail, ok := t.tails[s.partition()]
	if !ok || tail.next < s.id.BaseOffset || tail.next > s.end {
		return 0 // segments may overlap: the reader comes from one that ended inside this one, or right before it
	}
	return 2 * tail.window
}
