package sweep

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"tidemark/internal/objectstore/key"
	"tidemark/remotestorage/stored"

	"pgregory.net/rapid"
)

// cluster is a random life of a cluster of three brokers: copies that end, fail or die, deletes whose journal may be lost, leaders that
// move, sweeps at any time.
type cluster struct {
	*world
	t       *rapid.T
	places  []place
	leader  map[place]int
	offset  map[place]int64
	flight  map[[16]byte]*flight  // copies under way
	journal []map[[16]byte]flight // deletes that wait, by broker
	sweeps  []*Sweeper
	done    []stored.Identity
}

// flight is a copy under way.
type flight struct {
	stored.Identity
	broker int
	step   int // objects written
}

const brokers = 3

func newCluster(t *rapid.T) *cluster {
	c := &cluster{world: newWorld(), t: t, leader: map[place]int{}, offset: map[place]int64{}, flight: map[[16]byte]*flight{}}
	for n := range brokers {
		c.journal = append(c.journal, map[[16]byte]flight{})
		deps := c.deps
		view := *c.meta // shares the maps
		view.leads = func(p place) bool { return c.leader[p] == n }
		deps.Truth = &elected{&view, n == 0}
		deps.Copying = func(id [16]byte) bool { f := c.flight[id]; return f != nil && f.broker == n }
		deps.Pending = func(id [16]byte) bool { _, ok := c.journal[n][id]; return ok }
		deps.Metrics = nil
		c.sweeps = append(c.sweeps, New(Config{Interval: testGrace, Grace: testGrace, Most: 1000, Rate: 100_000}, deps))
	}
	for _, p := range []place{{topic(1), 0}, {topic(1), 1}, {topic(1), 10}, {topic(2), 0}} {
		c.places = append(c.places, p)
		c.copyWhole(p)
	}
	return c
}

// elected is a truth of which one broker judges topics.
type elected struct {
	*meta
	responsible bool
}

func (e *elected) Responsible(context.Context) (bool, error) { return e.responsible, nil }

func (c *cluster) copyWhole(p place) {
	f := c.begin(p, c.offset[p])
	c.write(f)
	c.write(f)
	c.finish(f)
}

// begin is COPY_SEGMENT_STARTED.
func (c *cluster) begin(p place, base int64) *flight {
	c.next++
	id := stored.Identity{TopicID: p.topicID, Partition: p.partition, BaseOffset: base, SegmentID: [16]byte{byte(c.next), byte(len(c.done)), byte(len(c.meta.of)), byte(len(c.meta.of) >> 8)}}
	c.meta.of[id.SegmentID], c.meta.end[id.SegmentID], c.ends[id.SegmentID] = p, base+10, base+10
	c.meta.states[id.SegmentID] = Started
	f := &flight{Identity: id, broker: c.leader[p]}
	c.flight[id.SegmentID] = f
	return f
}

func (c *cluster) write(f *flight) {
	c.put(f.Identity, string("ls"[f.step]))
	f.step++
}

// finish is the end of a copy and COPY_SEGMENT_FINISHED, which is refused if the segment was given up meanwhile.
func (c *cluster) finish(f *flight) {
	delete(c.flight, f.SegmentID)
	if c.meta.states[f.SegmentID] != Started {
		return
	}
	c.meta.states[f.SegmentID] = Finished
	p := place{f.TopicID, f.Partition}
	c.offset[p] = max(c.offset[p], f.BaseOffset+10)
	c.done = append(c.done, f.Identity)
}

// delete is DELETE_SEGMENT_STARTED to DELETE_SEGMENT_FINISHED: the objects go later.
func (c *cluster) delete(id stored.Identity, broker int) {
	delete(c.meta.states, id.SegmentID)
	c.journal[broker][id.SegmentID] = flight{Identity: id}
}

// collect removes what a journal says.
func (c *cluster) collect(broker int) {
	for id, f := range c.journal[broker] {
		log, sidecar := f.Keys()
		if err := c.store.Delete(context.Background(), sidecar, log); err != nil {
			c.t.Fatal(err)
		}
		delete(c.journal[broker], id)
	}
}

// expire is a run of Kafka's expiration: what is in DELETE_SEGMENT_STARTED is deleted, but not in a topic without a retention, here topic 1.
func (c *cluster) expire() {
	for id, state := range maps.Clone(c.meta.states) {
		p := c.meta.of[id]
		if state == Deleting && p.topicID != topic(1) && !c.meta.deleted[p.topicID] {
			c.delete(stored.Identity{TopicID: p.topicID, Partition: p.partition, SegmentID: id, BaseOffset: c.meta.end[id] - 10}, c.leader[p])
		}
	}
}

func (c *cluster) sweep(broker int) {
	if r, err := c.sweeps[broker].Run(context.Background()); err != nil || r.Failed > 0 {
		c.t.Fatalf("sweep: %v, %+v", err, r)
	}
	c.check()
}

// alive are the keys of all finished segments of topics that exist.
func (c *cluster) alive() (keys []string) {
	for _, id := range c.done {
		if c.meta.states[id.SegmentID] == Finished && !c.meta.deleted[id.TopicID] {
			log, sidecar := id.Keys()
			keys = append(keys, log, sidecar)
		}
	}
	slices.Sort(keys)
	return keys
}

// check is that no object of a finished segment, or of a copy of a living process, is gone.
func (c *cluster) check() {
	have := map[string]bool{}
	for _, k := range c.store.Keys() {
		have[k] = true
	}
	for _, k := range c.alive() {
		if !have[k] {
			c.t.Fatalf("the object %s of a living segment is gone", k)
		}
	}
	for id, f := range c.flight {
		log, sidecar := f.Keys()
		p := place{f.TopicID, f.Partition}
		if c.meta.states[id] == Started && c.leader[p] == f.broker && !c.meta.deleted[f.TopicID] && (f.step > 0 && !have[log] || f.step > 1 && !have[sidecar]) {
			c.t.Fatalf("an object of the running copy %s is gone", log)
		}
	}
}

func (c *cluster) pickFlight() *flight {
	ids := slices.SortedFunc(maps.Keys(c.flight), func(a, b [16]byte) int { return slices.Compare(a[:], b[:]) })
	if len(ids) == 0 {
		c.t.Skip("no copy is under way")
	}
	return c.flight[rapid.SampledFrom(ids).Draw(c.t, "copy")]
}

func (c *cluster) livePlace() place {
	p := rapid.SampledFrom(c.places).Draw(c.t, "partition")
	if c.meta.deleted[p.topicID] {
		c.t.Skip("the topic is deleted")
	}
	return p
}

func (c *cluster) actions() map[string]func(*rapid.T) {
	with := func(f func()) func(*rapid.T) { return func(t *rapid.T) { c.t = t; f() } }
	broker := func() int { return rapid.IntRange(0, brokers-1).Draw(c.t, "broker") }
	return map[string]func(*rapid.T){
		"copy":  with(func() { p := c.livePlace(); c.begin(p, c.offset[p]) }),
		"whole": with(func() { c.copyWhole(c.livePlace()) }),
		"step": with(func() {
			if f := c.pickFlight(); f.step < 2 {
				c.write(f)
			} else {
				c.finish(f)
			}
		}),
		"fail": with(func() { // the broker deletes at once; a put may be applied later all the same
			f := c.pickFlight()
			delete(c.flight, f.SegmentID)
			c.delete(f.Identity, f.broker)
			if rapid.Bool().Draw(c.t, "late put") && f.step < 2 {
				c.collect(f.broker)
				c.write(f)
			}
		}),
		"kill": with(func() {
			n := broker()
			maps.DeleteFunc(c.flight, func(_ [16]byte, f *flight) bool { return f.broker == n })
			if rapid.Bool().Draw(c.t, "disk lost") {
				clear(c.journal[n])
			}
		}),
		"delete": with(func() {
			if len(c.done) == 0 {
				c.t.Skip()
			}
			id := rapid.SampledFrom(c.done).Draw(c.t, "segment")
			if c.meta.states[id.SegmentID] == Finished {
				c.delete(id, c.leader[place{id.TopicID, id.Partition}])
			}
		}),
		"delete topic": with(func() {
			if c.meta.deleted[topic(2)] || rapid.IntRange(0, 3).Draw(c.t, "rarely") > 0 {
				c.t.Skip()
			}
			c.meta.deleted[topic(2)] = true
		}),
		"move":    with(func() { c.leader[c.livePlace()] = broker() }),
		"time":    with(func() { c.store.pass(testGrace / 2) }),
		"expire":  with(func() { c.expire() }),
		"collect": with(func() { c.collect(broker()) }),
		"sweep":   with(func() { c.sweep(broker()) }),
	}
}

// TestRandomLives: no object of a living segment is ever removed, and after things came to rest the prefix holds nothing else.
func TestRandomLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster(t)
		t.Repeat(c.actions())
		c.t = t
		c.flight = map[[16]byte]*flight{} // every process dies once more
		for _, p := range c.places {      // and life goes on above what was there
			if !c.meta.deleted[p.topicID] {
				c.offset[p] += 1000
				c.copyWhole(p)
			}
		}
		for range 3 { // given up; deleted by Kafka or by the next sweep; topics at the second look
			c.store.pass(testGrace)
			for n := range brokers {
				c.sweep(n)
				c.expire()
				c.collect(n)
			}
		}
		left := slices.DeleteFunc(c.store.Keys(), func(k string) bool { return k == key.Cluster("cluster-1") })
		if want := c.alive(); !slices.Equal(left, want) {
			t.Fatalf("left: %s\nwant: %s\nfound: %s", fmt.Sprint(left), fmt.Sprint(want), fmt.Sprint(c.found))
		}
	})
}
