package versions

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
	"tidemark/remotestorage/stored"
)

// TestFollowerFromStore: a replica on a new broker, and one whose disk was lost, are built from what was tiered: what the store gives for it
// is the leader's byte for byte, the leader epochs become the leader's, and idempotent producers go on when it leads.
//
// Kafka itself does not keep the producer snapshot that it fetches: it deletes the file, which it had registered as an empty one of the same
// name, before it reads it. A producer that was silent since the last tiered offset is unknown to the new replica. Where that is so it
// is said in the table; a Kafka that keeps the snapshot must have it right and know the producer.
func TestFollowerFromStore(t *testing.T) {
	each(t, "follower built from the store", ends, func(t *testing.T, version string) string {
		return newReplicas(t, version, nil).gone()
	})
}

// TestFollowerFromLastTiered: with follower.fetch.last.tiered.offset.enable (Kafka 4.3) a new replica takes only what is not tiered, although
// the leader still has some of what is.
func TestFollowerFromLastTiered(t *testing.T) {
	each(t, "follower built from the last tiered offset", []string{"4.3.1", "4.4.0"}, func(t *testing.T, version string) string {
		return newReplicas(t, version, map[string]string{"follower.fetch.last.tiered.offset.enable": "true"}).kept()
	})
}

// replicas is a topic of one partition with a past: leaders that changed, producers that ended and one that goes on.
type replicas struct {
	*rig.Rig
	producer *rig.Sequenced
	asleep   map[int32]sleeper // by the broker that is to lead when it wakes
	forgot   map[int32]bool    // brokers on which Kafka threw the tiered producer snapshot away
	texts    []string          // what was compared
}

// sleeper is a producer that sent its only batch long ago: a replica that is built knows of it by the tiered snapshot alone.
type sleeper struct {
	*rig.Sequenced
	base int64
}

const rebuilt = "rebuilt"

func newReplicas(t *testing.T, version string, more map[string]string) *replicas {
	properties := map[string]string{}
	for _, m := range []map[string]string{three, more} {
		for k, v := range m {
			properties[k] = v
		}
	}
	delete(properties, "min.insync.replicas")
	r := &replicas{Rig: rig.PrepareFor(t, cluster.Options{Version: version, Nodes: 3, Tables: true, Heap: "384m", JVMArgs: quick, Properties: properties}, 10*time.Minute)}
	if err := r.Cluster.StartAll(r.Ctx); err != nil {
		t.Fatal(err)
	}
	r.Topic(rebuilt, 1, nil)
	r.CreateTable(rebuilt)
	r.Place(rebuilt, 0, 1, 2)
	r.producer = r.Sequenced(rebuilt, 0)
	r.asleep, r.forgot = map[int32]sleeper{}, map[int32]bool{}
	for _, broker := range []int32{2, 3} {
		s := r.Sequenced(rebuilt, 0)
		r.asleep[broker] = sleeper{s, s.Send(1 << 10)}
	}
	for round := range 6 {
		r.Place(rebuilt, 0, int32(1+round%2), int32(2-round%2))
		for range 20 {
			r.producer.Send(16 << 10)
		}
		r.transaction(fmt.Sprint("past ", round), []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort}[round%2])
		for range 20 {
			r.producer.Send(16 << 10)
		}
	}
	r.Decided(rebuilt)
	return r
}

func (r *replicas) transaction(id string, end kgo.TransactionEndTry) {
	r.Helper()
	cl := r.Client(kgo.TransactionalID(id))
	defer cl.Close()
	if err := cl.BeginTransaction(); err != nil {
		r.Fatal(err)
	}
	r.Fill(cl, rig.NewSeeded(id[len(id)-1]), rebuilt, 0, 50<<10)
	if err := cl.EndTransaction(r.Ctx, end); err != nil {
		r.Fatal(err)
	}
}

// gone builds replicas when no local data is left on the leader.
func (r *replicas) gone() string {
	files, local := r.Save(rebuilt), map[int]map[string][]byte{1: r.snapshots(1), 2: r.snapshots(2)}
	r.TierAll(rebuilt)
	r.sameTiered(local)
	r.Place(rebuilt, 0, 1, 2, 3)
	if base := r.firstLocal(3); base == 0 {
		r.Errorf("broker 3 has the log from offset 0 on: it was not built from the store")
	}
	r.sameState(3, 1)
	r.leads(3)

	lost := r.Node(2)
	if !lost.Stop(time.Minute) {
		r.Error("broker 2 did not stop by itself")
	}
	if err := lost.Erase(); err != nil {
		r.Fatal(err)
	}
	if err := lost.Start(r.Ctx); err != nil {
		r.Fatal(err)
	}
	r.AllInSync()
	r.sameState(2, 3)
	r.leads(2)

	r.TierAll(rebuilt)
	for _, n := range r.Cluster.Nodes {
		if got := r.FetchAllFrom(n.ID, rebuilt, 0); !bytes.HasPrefix(got, files.Whole(0)) {
			r.Errorf("broker %d does not serve what was written before: %s", n.ID, rig.Different(got[:min(len(got), len(files.Whole(0)))], files.Whole(0)))
		}
	}
	return r.rows()
}

// kept builds a replica while the leader still has tiered segments.
func (r *replicas) kept() string {
	files := r.Save(rebuilt)
	active := files[0][len(files[0])-1].Base
	r.Eventually(time.Minute, func() error {
		listed, err := r.Admin().ListLatestRemoteOffsets(r.Ctx, rebuilt)
		if o, ok := listed.Lookup(rebuilt, 0); err == nil && ok && o.Offset != active-1 {
			return fmt.Errorf("tiered up to %d, wanted is %d", o.Offset, active-1)
		}
		return err
	})
	r.Alter(rebuilt, "local.retention.bytes", "2300000") // a leader that has everything is followed from the start
	r.Eventually(time.Minute, func() error {
		for _, broker := range []int{1, 2} {
			if base := r.firstLocal(broker); base == 0 || base >= active {
				return fmt.Errorf("broker %d has the log from offset %d on; wanted is one between 0 and %d, the first that is not tiered", broker, base, active)
			}
		}
		return nil
	})
	r.Place(rebuilt, 0, 1, 2, 3)
	if base := r.firstLocal(3); base != active {
		r.Errorf("broker 3 has the log from offset %d on, not tiered is what begins at %d", base, active)
	}
	r.sameState(3, 1)
	r.leads(3)
	if got := r.FetchAllFrom(3, rebuilt, 0); !bytes.HasPrefix(got, files.Whole(0)) {
		r.Errorf("broker 3 does not serve what was written before: %s", rig.Different(got[:min(len(got), len(files.Whole(0)))], files.Whole(0)))
	}
	r.TierAll(rebuilt)
	return r.rows()
}

// rows checks the table at the end.
func (r *replicas) rows() string {
	r.Covered(rebuilt)
	log := r.Consume(rebuilt)
	r.SameRows(r.Rows(rebuilt, rig.RawValue), log)
	r.Verify(rebuilt)
	return fmt.Sprintf("%s; the producers went on; %d records are rows once", strings.Join(r.texts, ", "), len(log))
}

// dir is the partition's directory on a broker.
func (r *replicas) dir(broker int) string {
	return filepath.Join(r.Node(broker).LogDirs[0], rebuilt+"-0")
}

// firstLocal is where a broker's local log begins.
func (r *replicas) firstLocal(broker int) int64 {
	r.Helper()
	names, _ := filepath.Glob(filepath.Join(r.dir(broker), "*.log"))
	if len(names) == 0 {
		r.Fatalf("broker %d has no log of %s", broker, rebuilt)
	}
	sort.Strings(names)
	base, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(names[0]), ".log"), 10, 64)
	if err != nil {
		r.Fatal(err)
	}
	return base
}

// snapshots are the producer snapshots on a broker's disk, by name.
func (r *replicas) snapshots(broker int) map[string][]byte {
	r.Helper()
	out := map[string][]byte{}
	names, _ := filepath.Glob(filepath.Join(r.dir(broker), "*.snapshot"))
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			r.Fatal(err)
		}
		out[filepath.Base(name)] = b
	}
	return out
}

// sameTiered compares the producer snapshot in every sidecar with the file that the broker had which copied the segment.
func (r *replicas) sameTiered(local map[int]map[string][]byte) {
	r.Helper()
	_, id := r.TopicID(rebuilt)
	compared := 0
	for _, s := range r.Stored(id) {
		raw, err := os.ReadFile(s.Sidecar())
		if err != nil {
			r.Fatal(err)
		}
		side, err := stored.DecodeSidecar(raw)
		if err != nil {
			r.Fatal(err)
		}
		name := fmt.Sprintf("%020d.snapshot", side.Manifest.EndOffset+1)
		want, ok := local[int(side.Manifest.BrokerID)][name]
		if !ok { // of the segment that was active when the files were read
			continue
		}
		got, _ := side.Index(stored.ProducerSnapshot)
		if d := rig.Different(got, want); d != "" {
			r.Errorf("%s: the producer snapshot differs from %s of broker %d: %s", s.Sidecar(), name, side.Manifest.BrokerID, d)
		}
		compared++
	}
	if compared < 2 {
		r.Errorf("%d tiered producer snapshots could be compared", compared)
	}
	r.texts = append(r.texts, fmt.Sprintf("%d tiered producer snapshots equal", compared))
}

// sameState compares what a replica was built with to what another has.
func (r *replicas) sameState(built, other int) {
	r.Helper()
	name := fmt.Sprintf("%020d.snapshot", r.firstLocal(built))
	got, want := r.snapshots(built)[name], r.snapshots(other)[name]
	const empty = 10 // version, checksum and a count of zero
	switch {
	case len(want) <= empty:
		r.Errorf("broker %d has no producer in %s: nothing is proved", other, name)
	case len(got) == empty:
		r.forgot[int32(built)] = true
		r.texts = append(r.texts, fmt.Sprintf("broker %d: Kafka drops the snapshot it fetched", built))
	case !bytes.Equal(got, want):
		r.Errorf("%s of broker %d differs from that of broker %d: %s", name, built, other, rig.Different(got, want))
	}
	r.producer.Send(1 << 10) // a leader notes its epoch before the first record of it, a follower with it
	r.sameEpochs(built, other)
}

func (r *replicas) sameEpochs(built, other int) {
	r.Helper()
	const name = "leader-epoch-checkpoint"
	var got, want []byte
	r.Eventually(30*time.Second, func() error {
		var err1, err2 error
		got, err1 = os.ReadFile(filepath.Join(r.dir(built), name))
		want, err2 = os.ReadFile(filepath.Join(r.dir(other), name))
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("%s of broker %d is %q, of broker %d %q", name, built, got, other, want)
		}
		return nil
	})
	r.texts = append(r.texts, fmt.Sprintf("broker %d: %d leader epochs equal", built, strings.Count(string(got), "\n")-2))
}

// leads makes a broker the leader: a batch sent twice is in the log once, one that leaves a gap is refused, the next one is taken; of the
// producer that goes on and, unless Kafka has forgotten it, of one that was silent since before the broker was built.
func (r *replicas) leads(broker int32) {
	r.Helper()
	others := map[int32][]int32{2: {2, 1, 3}, 3: {3, 1, 2}}
	base := r.producer.Send(1 << 10)
	r.Place(rebuilt, 0, others[broker]...)
	producers := []sleeper{{r.producer, base}}
	if !r.forgot[broker] {
		producers = append(producers, r.asleep[broker])
	}
	for _, s := range producers {
		end := r.end()
		if again, err := s.Again(); err != nil || again != s.base {
			r.Errorf("broker %d: a batch sent twice is at offset %d (%v), it was acknowledged at %d", broker, again, err, s.base)
		}
		if err := s.Skip(); !errors.Is(err, kerr.OutOfOrderSequenceNumber) {
			r.Errorf("broker %d does not know the producer: a gap in its sequence is answered with %v", broker, err)
		}
		if now := r.end(); now != end {
			r.Errorf("the log grew from %d to %d by batches that must not be in it", end, now)
		}
		if next := s.Send(1 << 10); next != end {
			r.Errorf("the next batch is at offset %d instead of %d", next, end)
		}
	}
}

func (r *replicas) end() (end int64) {
	r.Helper()
	r.Eventually(30*time.Second, func() error {
		ends, err := r.Admin().ListEndOffsets(r.Ctx, rebuilt)
		if err != nil {
			return err
		}
		o, _ := ends.Lookup(rebuilt, 0)
		end = o.Offset
		return o.Err
	})
	return end
}
