package scenario

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

// TestTransactions: rows are the records of committed transactions and those outside of any, whichever segment holds the
// marker; a transaction that is open at the end of the last segment waits for the next one.
func TestTransactions(t *testing.T) {
	w := start(t, cluster.Options{Version: "4.4.0", Tables: true, JVMArgs: quick})
	const topic = "txns"
	w.Topic(topic, 1, nil)
	w.CreateTable(topic)
	_, id := w.TopicID(topic)
	x := &transactions{world: w, topic: topic, plain: w.Client(), s: rig.NewSeeded(2)}

	a, b, c, d := x.producer("a"), x.producer("b"), x.producer("c"), x.producer("d")
	a.begin()
	a.write(20)
	x.filler(2500 << 10) // the marker of a comes several segments later
	b.begin()
	b.write(10)
	a.write(5)
	c.begin()
	c.write(10)
	a.end(kgo.TryAbort)
	x.filler(900 << 10) // that of b in the next segment or the one after
	b.end(kgo.TryAbort)
	for range 30 { // several in one segment
		b.begin()
		d.begin()
		b.write(1)
		d.write(1)
		x.filler(16 << 10)
		b.end(kgo.TryCommit)
		d.end(kgo.TryAbort)
	}
	x.filler(1200 << 10)
	c.write(3)
	c.end(kgo.TryCommit) // began three segments ago
	a.begin()
	first := a.write(10)[0].Offset
	x.filler(1100 << 10) // the segment that holds the first records of a is closed
	a.write(2)
	a.end(kgo.TryAbort)
	b.begin()
	b.write(5)
	b.end(kgo.TryCommit)

	w.Decided(topic)
	x.tailWaits(id, first)
	w.TierAll(topic)
	w.Covered(topic)
	x.markerAlone(c)
	w.Covered(topic)
	w.InLog(w.Consume(topic), x.committed)
	w.SameRows(w.Rows(topic, rig.RawValue), x.committed)
	w.Verify(topic)
	w.Done("%d committed records are rows, %d aborted ones are not; the tail of an open transaction waited at offset %d", len(x.committed), x.aborted, first)
}

// markerAlone makes a segment that holds nothing but the marker of a transaction: local retention closes the one with its records first.
func (x *transactions) markerAlone(t *transaction) {
	x.Helper()
	t.begin()
	last := t.write(3)[2].Offset
	x.Eventually(time.Minute, func() error {
		files, _ := filepath.Glob(filepath.Join(x.Cluster.Nodes[0].LogDirs[0], x.topic+"-0", fmt.Sprintf("%020d.log", last+1)))
		if len(files) == 0 {
			return fmt.Errorf("the segment with offset %d is not closed", last)
		}
		return nil
	})
	t.end(kgo.TryCommit)
	x.Decided(x.topic)
	x.TierAll(x.topic)
}

type transactions struct {
	*world
	topic     string
	plain     *kgo.Client
	s         rig.Seeded
	committed []rig.Record
	aborted   int
}

// filler produces outside of any transaction.
func (x *transactions) filler(size int) {
	x.committed = append(x.committed, x.Fill(x.plain, x.s, x.topic, 0, size)...)
}

type transaction struct {
	x       *transactions
	name    string
	cl      *kgo.Client
	pending []rig.Record
}

func (x *transactions) producer(name string) *transaction {
	return &transaction{x: x, name: name, cl: x.Client(kgo.TransactionalID(name), kgo.TransactionTimeout(5*time.Minute))}
}

func (t *transaction) begin() {
	t.x.Helper()
	if err := t.cl.BeginTransaction(); err != nil {
		t.x.Fatal(err)
	}
}

func (t *transaction) write(n int) []rig.Record {
	t.x.Helper()
	var records []*kgo.Record
	for i := range n {
		records = append(records, &kgo.Record{Topic: t.x.topic, Value: t.x.s.Value(600, "txn %s %d|", t.name, i)})
	}
	acked := t.x.Produce(t.cl, records...)
	t.pending = append(t.pending, acked...)
	return acked
}

func (t *transaction) end(how kgo.TransactionEndTry) {
	t.x.Helper()
	if err := t.cl.EndTransaction(t.x.Ctx, how); err != nil {
		t.x.Fatal(err)
	}
	if how == kgo.TryCommit {
		t.x.committed = append(t.x.committed, t.pending...)
	} else {
		t.x.aborted += len(t.pending)
	}
	t.pending = nil
}

// tailWaits waits until the segment that holds the first record of a transaction without its marker is stored, and the table
// has come up to that record and not further.
func (x *transactions) tailWaits(id string, first int64) {
	x.Helper()
	x.Eventually(time.Minute, func() error {
		segments := x.Stored(id)
		if len(segments) == 0 {
			return fmt.Errorf("nothing is stored")
		}
		last := segments[len(segments)-1]
		files := x.Save(x.topic)[0]
		for i, f := range files {
			if f.Base == last.Base && i+1 < len(files) && files[i+1].Base > first && last.Complete {
				return nil
			}
		}
		return fmt.Errorf("the newest stored segment begins at %d; the one that holds offset %d is not stored", last.Base, first)
	})
	x.Eventually(time.Minute, func() error {
		s, err := x.Show(x.topic)
		if err != nil {
			return err
		}
		if len(s.Partitions) != 1 || s.Partitions[0].Next != first {
			return fmt.Errorf("the table covers %+v (%s), it has to stop at %d", s.Partitions, s.Event, first)
		}
		return nil
	})
}
