package versions

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/integration/cluster"
	"tidemark/integration/faultproxy"
	"tidemark/integration/objectserver"
	"tidemark/integration/rig"
)

// TestLeaderMoves: leaders that change, and one that sleeps and wakes, while their copies are on the way to a slow store. A copy whose
// leader has changed ends within seconds and leaves nothing; the log is whole on every broker, the table has every record once; a group that
// lags in remote data never loses its place; no replica keeps what it need not.
func TestLeaderMoves(t *testing.T) {
	each(t, "leaders move while they copy", ends, func(t *testing.T, version string) string {
		m := newMoving(t, version)
		aborted := m.interrupted()
		moves, read, remote := m.manyMoves()
		woken := m.zombie()
		return m.whole(fmt.Sprintf("leaders moved, copies aborted and cleaned in %.1f s; %d leader moves, the group read %d records meanwhile and lagged in remote data at %d of %d; %s",
			aborted.Seconds(), moves, read, remote*movingPartitions, moves, woken))
	})
}

const moving, movingPartitions = "moving", 3

// slowStore is a cluster before an S3 server that can be slowed down.
type slowStore struct {
	*rig.Rig
	proxy  *faultproxy.Proxy
	server *objectserver.Server
	id     string // of the topic, which is part of its keys
}

func newSlowStore(t *testing.T, o cluster.Options, d time.Duration) *slowStore {
	t.Helper()
	server, err := objectserver.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	proxy, err := faultproxy.Start(faultproxy.Options{Target: server.Endpoint})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	properties := rig.S3Properties(server, proxy.Endpoint)
	for k, v := range o.Properties {
		properties[k] = v
	}
	o.Properties, o.Tables, o.JVMArgs = properties, true, quick
	s := &slowStore{Rig: rig.PrepareFor(t, o, d), proxy: proxy, server: server}
	s.S3 = server
	if err := s.Cluster.StartAll(s.Ctx); err != nil {
		t.Fatal(err)
	}
	return s
}

// slow makes the store take its time for requests about log objects.
func (s *slowStore) slow(latency, jitter time.Duration, ops ...faultproxy.Op) {
	s.Helper()
	s.fault(faultproxy.Fault{Latency: latency, Jitter: jitter}, ops...)
}

// hang makes the store never answer requests about log objects.
func (s *slowStore) hang(ops ...faultproxy.Op) {
	s.Helper()
	s.fault(faultproxy.Fault{BlackHole: true}, ops...)
}

// serve ends all faults of requests to come.
func (s *slowStore) serve() { s.Helper(); s.script() }

func (s *slowStore) fault(f faultproxy.Fault, ops ...faultproxy.Op) {
	s.Helper()
	s.script(faultproxy.Rule{Name: "slow", Ops: ops, Key: `^segments/.*\.log$`, Fault: f})
}

func (s *slowStore) script(rules ...faultproxy.Rule) {
	s.Helper()
	if err := s.proxy.Script(rules...); err != nil {
		s.Fatal(err)
	}
}

// copying are the keys of log objects that are being put now, by partition.
func (s *slowStore) copying(op faultproxy.Op) map[string]string {
	out := map[string]string{}
	for _, r := range s.proxy.InFlight() {
		if m := regexp.MustCompile(`^segments/` + regexp.QuoteMeta(s.id) + `/(\d+)/.*\.log$`).FindStringSubmatch(r.Key); m != nil && r.Op == op {
			out[m[1]] = r.Key
		}
	}
	return out
}

// ended are the requests for a key that are over, by operation.
func (s *slowStore) ended(key string) map[faultproxy.Op]int {
	out := map[faultproxy.Op]int{}
	for _, r := range s.proxy.Requests() {
		if r.Key == key {
			out[r.Op]++
		}
	}
	return out
}

// givenUp reports whether the put of a key was given up by the broker when the server had its body: the server may apply such a put after
// the delete that cleans up, which nobody can prevent and a sweep must find.
func (s *slowStore) givenUp(key string) bool {
	for _, r := range s.proxy.Requests() {
		if r.Key == key && (r.Op == faultproxy.PutObject || r.Op == faultproxy.Complete) && r.Status == 0 && r.Received > 0 {
			return true
		}
	}
	return false
}

// clean waits until the store has no log object without a sidecar but those of puts that the server applied late, and no sidecar alone.
func (s *slowStore) clean() (objects, late int) {
	s.Helper()
	store := s.open()
	s.Eventually(time.Minute, func() error {
		objects, late = 0, 0
		logs, sidecars := map[string]bool{}, map[string]bool{}
		for after, more := "", true; more; {
			page, next, err := store.List(s.Ctx, "segments/"+s.id+"/", after, 1000)
			if err != nil {
				return err
			}
			for _, o := range page {
				after = o.Key
				objects++
				if key, is := strings.CutSuffix(o.Key, ".log"); is {
					logs[key] = true
				} else if key, is := strings.CutSuffix(o.Key, ".sidecar"); is {
					sidecars[key] = true
				}
			}
			more = next
		}
		for key := range logs {
			if sidecars[key] {
				continue
			}
			if !s.givenUp(key + ".log") {
				return fmt.Errorf("%s.log has no sidecar", key)
			}
			late++
		}
		for key := range sidecars {
			if !logs[key] {
				return fmt.Errorf("%s.sidecar has no log object", key)
			}
		}
		return nil
	})
	return objects, late
}

type movingLeaders struct {
	*slowStore
	load  *rig.Background
	group *rig.Follower
}

func newMoving(t *testing.T, version string) *movingLeaders {
	m := &movingLeaders{slowStore: newSlowStore(t, cluster.Options{Version: version, Nodes: 3, Heap: "384m", Properties: three}, 15*time.Minute)}
	m.Topic(moving, movingPartitions, map[string]string{"local.retention.ms": "4000"})
	m.CreateTable(moving)
	_, m.id = m.TopicID(moving)
	m.load = m.ProduceBeside(moving, movingPartitions, 200<<10)
	m.load.GoesOn(1500)
	// A member that reads little at a time lags in what has left the local disks.
	m.group = m.Follow(moving, "lagging", 500*time.Millisecond, kgo.FetchMaxPartitionBytes(32<<10), kgo.FetchMaxBytes(96<<10))
	return m
}

// shift makes the next replica the preferred leader of all partitions, and the leader.
func (m *movingLeaders) shift() {
	m.Helper()
	var req kadm.AlterPartitionAssignmentsReq
	want := map[int32]int32{}
	topics, err := m.Admin().ListTopics(m.Ctx, moving)
	if err != nil {
		m.Fatal(err)
	}
	for _, p := range topics[moving].Partitions {
		r := p.Replicas
		next := []int32{r[1], r[2], r[0]}
		req.Assign(moving, p.Partition, next)
		want[p.Partition] = next[0]
	}
	if _, err := m.Admin().AlterPartitionAssignments(m.Ctx, req); err != nil {
		m.Fatal(err)
	}
	m.Eventually(time.Minute, func() error {
		m.Prefer(moving)
		topics, err := m.Admin().ListTopics(m.Ctx, moving)
		if err != nil {
			return err
		}
		for p, leader := range want {
			if got := topics[moving].Partitions[p].Leader; got != leader {
				return fmt.Errorf("partition %d is led by broker %d instead of %d", p, got, leader)
			}
		}
		return nil
	})
}

// interrupted moves the leaders of partitions whose copies hang, and returns how long the election took together
// with giving up the requests and cleaning their keys.
func (m *movingLeaders) interrupted() time.Duration {
	m.Helper()
	m.hang(faultproxy.PutObject)
	held := map[string]string{}
	m.Eventually(time.Minute, func() error {
		if held = m.copying(faultproxy.PutObject); len(held) < movingPartitions {
			return fmt.Errorf("%d of %d partitions are being copied", len(held), movingPartitions)
		}
		return nil
	})
	from := time.Now()
	m.shift()
	m.Eventually(10*time.Second, func() error {
		for partition, key := range held {
			ended := m.ended(key)
			if ended[faultproxy.PutObject] == 0 {
				return fmt.Errorf("partition %s: the old leader still puts %s", partition, key)
			}
			if ended[faultproxy.Delete]+ended[faultproxy.DeleteBatch] == 0 {
				return fmt.Errorf("partition %s: the put of %s was given up and nothing cleans up", partition, key)
			}
		}
		return nil
	})
	took := time.Since(from)
	m.serve()
	m.load.GoesOn(300)
	return took
}

// manyMoves moves the leaders of all partitions over and over while copies are on their way.
func (m *movingLeaders) manyMoves() (moves, read, remote int) {
	m.Helper()
	const rounds = 34
	m.slow(1500*time.Millisecond, time.Second, faultproxy.PutObject)
	before := m.group.Count()
	for range rounds {
		m.Eventually(time.Minute, func() error {
			if len(m.copying(faultproxy.PutObject)) == 0 {
				return fmt.Errorf("nothing is being copied")
			}
			return nil
		})
		m.shift()
		m.group.Reached(0, 0) // has not lost its place
		if m.lags() {
			remote++
		}
	}
	m.serve()
	if remote < rounds/2 {
		m.Errorf("the group lagged in remote data at %d of %d moves only", remote, rounds)
	}
	return rounds * movingPartitions, m.group.Count() - before, remote
}

// lags reports whether the group has still to read what no leader has on its disk any more.
func (m *movingLeaders) lags() bool {
	m.Helper()
	listed, err := m.Admin().ListLocalLogStartOffsets(m.Ctx, moving)
	if err != nil {
		return false
	}
	for p := range int32(movingPartitions) {
		if o, ok := listed.Lookup(moving, p); ok && o.Err == nil && m.group.Next(p) < o.Offset {
			return true
		}
	}
	return false
}

// zombie stops the process of a leader in the middle of a copy until another broker leads and has tiered, and lets it go on.
func (m *movingLeaders) zombie() string {
	m.Helper()
	m.slow(3*time.Second, 0, faultproxy.PutObject)
	var partition int32
	var key string
	m.Eventually(time.Minute, func() error {
		for p, k := range m.copying(faultproxy.PutObject) {
			_, err := fmt.Sscan(p, &partition)
			key = k
			return err
		}
		return fmt.Errorf("nothing is being copied")
	})
	leader := m.Leader(moving, partition)
	m.Node(leader).Pause()
	defer m.Node(leader).Resume()
	from := time.Now()
	m.Eventually(time.Minute, func() error {
		if l := m.Leader(moving, partition); l == leader || l < 0 {
			return fmt.Errorf("partition %d is still led by broker %d, which sleeps", partition, l)
		}
		return nil
	})
	tiered := m.tiered(partition)
	m.Eventually(2*time.Minute, func() error {
		if now := m.tiered(partition); now <= tiered {
			return fmt.Errorf("the new leader of partition %d has tiered nothing beyond %d", partition, now)
		}
		return nil
	})
	slept := time.Since(from)
	m.Node(leader).Resume()
	m.serve()
	m.AllInSync()
	m.load.GoesOn(300)
	return fmt.Sprintf("broker %d slept %.0f s in a copy of %s", leader, slept.Seconds(), key[strings.LastIndex(key, "/")+1:])
}

// tiered is the highest offset of a partition in remote storage, as its leader sees it.
func (m *movingLeaders) tiered(partition int32) int64 {
	m.Helper()
	ctx, cancel := context.WithTimeout(m.Ctx, 10*time.Second)
	defer cancel()

	listed, err := m.Admin().ListLatestRemoteOffsets(ctx, moving)
	if err != nil {
		return -1
	}
	o, _ := listed.Lookup(moving, partition)
	return o.Offset
}

// whole checks everything at the end.
func (m *movingLeaders) whole(did string) string {
	m.Helper()
	acked := m.load.Stop()
	log := m.Consume(moving)
	m.InLog(log, acked)
	m.TierAll(moving) // no replica keeps anything
	tiered := m.Consume(moving)
	m.SameRecords(tiered, log)
	for p := range int32(movingPartitions) {
		want := m.FetchAllFrom(1, moving, p)
		for _, n := range m.Cluster.Nodes[1:] {
			if d := rig.Different(m.FetchAllFrom(n.ID, moving, p), want); d != "" {
				m.Errorf("partition %d read from broker %d differs from broker 1's: %s", p, n.ID, d)
			}
		}
	}
	m.Covered(moving)
	m.SameRows(m.Rows(moving, rig.RawValue), log)
	m.Verify(moving)
	objects, late := m.clean()
	m.group.Hurry()
	m.group.Reached(len(log), 3*time.Minute)
	m.SameRecords(m.group.Stop(), log)
	return fmt.Sprintf("%s; %d records once in log, group and table, %d objects, %d of them orphans of puts applied late", did, len(log), objects, late)
}
