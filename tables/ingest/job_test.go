package ingest

import (
	"os"
	"strings"
	"testing"
	"time"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

func TestATransactionOpenAtTheEndWaits(t *testing.T) {
	in(t, func(w *world) {
		p := logtest.Producer{ID: 1}
		a := logtest.NewSegment(0).Produce(kafkalog.None, "plain").InTxn(p, "aborted", "aborted").Produce(kafkalog.None, "behind")
		b := a.Roll().InTxn(p, "aborted").End(p, kafkalog.ControlAbort).InTxn(p, "committed").End(p, kafkalog.ControlCommit)
		first, second := w.tiered(0, a), w.tiered(0, b)
		w.live(0)
		w.listed(part(0), []Segment{first}, nil)
		w.pass(5 * time.Second)
		w.want(0, 1, "plain")
		if got := w.reason(0); !strings.Contains(got, "open transaction") {
			t.Errorf("reason %q", got)
		}
		reads := w.indexReads()
		w.pass(10 * time.Minute)
		if w.indexReads() != reads {
			t.Errorf("%d index reads while nothing changed", w.indexReads()-reads)
		}
		w.in.HandOver(second)
		w.pass(5 * time.Second)
		w.want(0, 8, "plain", "behind", "committed")
	})
}

// The limits of one range must not keep the marker of a long transaction out of sight.
func TestATransactionLongerThanARange(t *testing.T) {
	in(t, func(w *world) {
		p, q := logtest.Producer{ID: 1}, logtest.Producer{ID: 2}
		s := logtest.NewSegment(0).InTxn(p, "aborted").InTxn(q, "committed")
		var segments []Segment
		add := func(x *logtest.Segment) *logtest.Segment {
			segments = append(segments, w.tiered(0, x))
			return x.Roll()
		}
		s = add(s)
		for range maxRangeSegments + 40 {
			s = add(s.Produce(kafkalog.None, "x"))
		}
		s.End(p, kafkalog.ControlAbort)
		s = add(s)
		s.End(q, kafkalog.ControlCommit)
		add(s)
		w.live(0)
		w.listed(part(0), segments, nil)
		w.pass(time.Minute)
		rows := w.rows(0)
		next := w.ledger.Progress(0).Next
		if next != segments[len(segments)-1].End || len(rows) != maxRangeSegments+41 || rows[1] != "committed" {
			t.Errorf("next %d of %d, %d rows; reason %q", next, segments[len(segments)-1].End, len(rows), w.reason(0))
		}
	})
}

func TestSegmentsWithoutABatchAreCoveredWithTheNext(t *testing.T) {
	in(t, func(w *world) {
		empty := Segment{Partition: part(0), ID: [16]byte{200}, Base: 0, End: 3, TxnIndexEmpty: true}
		w.stored[empty.ID] = logtest.NewSegment(0)
		w.live(0)
		w.listed(part(0), []Segment{empty}, nil)
		w.pass(time.Minute)
		if w.submitted() != 0 || !strings.Contains(w.reason(0), "no record batch") {
			t.Errorf("%d submits, reason %q", w.submitted(), w.reason(0))
		}
		w.in.HandOver(w.tiered(0, logtest.NewSegment(3).Produce(kafkalog.None, "a")))
		w.pass(5 * time.Second)
		w.want(0, 4, "a")
	})
}

func TestADamagedHoldFileIsNotReadAgain(t *testing.T) {
	for name, damage := range map[string]func(w *world, s Segment){
		"content": func(w *world, s Segment) { w.damaged[s.ID] = true },
		"length":  func(w *world, s Segment) { w.size[s.ID] = 1 },
	} {
		in(t, func(w *world) {
			seg := w.rolled(0, 0, 1)[0]
			damage(w, seg)
			w.live(0)
			w.listed(part(0), nil, nil)
			w.in.HandOver(seg)
			w.pass(10 * time.Second)
			w.want(0, 1, "v0")
			if !strings.Contains(w.log.String(), "class=Corrupt") {
				t.Errorf("%s: the damage is not said:\n%s", name, w.log)
			}
		})
	}
}

func TestAStoredObjectThatIsDamagedStaysAReason(t *testing.T) {
	in(t, func(w *world) {
		seg := w.rolled(0, 0, 1)[0]
		w.stored[seg.ID].Log[69] ^= 1
		w.live(0)
		w.listed(part(0), []Segment{seg}, nil)
		w.pass(10 * time.Minute)
		if got := w.reason(0); w.submitted() != 0 || !strings.Contains(got, "segment t-0 [0, 1)") {
			t.Errorf("%d submits, reason %q", w.submitted(), got)
		}
	})
}

// A copy that is gone although it was handed over does not stand in the way of one that the list has.
func TestAnUnlistedSegmentThatIsGoneIsForgotten(t *testing.T) {
	in(t, func(w *world) {
		log := logtest.NewSegment(0).Produce(kafkalog.None, "a")
		gone, there := w.tiered(0, log), w.tiered(0, log)
		delete(w.stored, gone.ID)
		w.live(0)
		w.listed(part(0), nil, nil)
		w.in.HandOver(gone)
		w.pass(5 * time.Second)
		if st := w.in.Status(topic)[0]; st.Waiting != 0 || len(w.wanted()) != 1 {
			t.Errorf("%+v", st)
		}
		w.listed(part(0), []Segment{there}, nil)
		w.pass(time.Minute)
		w.want(0, 1, "a")
	})
}

func TestUploadsAreRepeatedUnderNewNames(t *testing.T) {
	in(t, func(w *world) {
		w.store.Add(storetest.Fault{Op: storetest.Put, Effect: storetest.LostReply}, storetest.Fault{Op: storetest.Put, Nth: 2, Class: status.Throttled})
		w.live(0)
		w.listed(part(0), w.rolled(0, 0, 1), nil)
		w.pass(time.Minute)
		w.want(0, 1, "v0")
		if w.opens() != 1 || len(w.memory.Keys()) != 2 {
			t.Errorf("%d conversions, objects %v: want the orphan of the lost reply and the file", w.opens(), w.memory.Keys())
		}
		left, err := os.ReadDir(w.in.cfg.ScratchDir)
		if err != nil || len(left) != 0 {
			t.Errorf("scratch files stay: %v %v", left, err)
		}
	})
}

func TestARangeOfRowsThatAreAllAbortedMovesTheLedger(t *testing.T) {
	in(t, func(w *world) {
		p := logtest.Producer{ID: 1}
		w.live(0)
		w.listed(part(0), []Segment{w.tiered(0, logtest.NewSegment(0).InTxn(p, "a").End(p, kafkalog.ControlAbort))}, nil)
		w.pass(5 * time.Second)
		w.want(0, 2)
		if len(w.memory.Keys()) != 0 || w.accepted[0].Counts.Aborted != 1 {
			t.Errorf("objects %v, offer %+v", w.memory.Keys(), w.accepted[0])
		}
	})
}
