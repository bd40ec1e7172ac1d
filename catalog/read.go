package catalog

import (
	"fmt"
	"strconv"
)

// Read finds the ledger of a group's main table in one load of its metadata, or the event that forbids writing. The places
// are the table property, the newest own snapshot on the ancestry of main, and the tagged snapshot; no single one survives
// expiry, other writers and rollback alike. Read never invents progress: without any ledger only a table that has and had
// no snapshot is fresh.
func Read(v TableView, c Claim) Reading {
	if r, stop := readClaim(v, c); stop {
		return r
	}
	e := gather(v, c)
	if e.hasOwn {
		return e.onChain()
	}
	tagged, need, ok := e.tagged()
	switch {
	case ok && (!e.hasProperty || tagged.Seq > e.property.Seq):
		return e.offChain(tagged, "the ledger property is absent, damaged or older than the tagged snapshot")
	case e.hasProperty:
		return e.offChain(e.property, "")
	case need != "":
		return Reading{Event: Repaired, Detail: "the ledger is in an object", Need: Need{Object: need}}
	}
	return e.nothing()
}

// tagged is the ledger of the tagged snapshot.
func (e *evidence) tagged() (l Ledger, need string, ok bool) {
	s, ok := e.view.snapshot(e.view.Tag)
	if !ok {
		return Ledger{}, "", false
	}
	return e.full(s)
}

// readClaim refuses a table that says it is somebody else's.
func readClaim(v TableView, c Claim) (Reading, bool) {
	topicID, hasTopic := v.Properties[PropertyTopicID]
	clusterID, hasCluster := v.Properties[PropertyClusterID]
	if (!hasTopic || topicID == c.TopicID.String()) && (!hasCluster || clusterID == c.ClusterID) {
		return Reading{}, false
	}
	event := Foreign
	if v.Properties[PropertyTopic] == c.Topic {
		event = Recreated
	}
	return Reading{Event: event, Detail: fmt.Sprintf("the table belongs to topic %s of cluster %s, not to topic %s of cluster %s",
		topicID, clusterID, c.TopicID, c.ClusterID)}, true
}

// evidence is all that one load says about progress.
type evidence struct {
	view     TableView
	claim    Claim
	chain    []SnapshotView
	complete bool // the chain ends at a root

	claimed     bool // both claim properties are there
	property    Ledger
	hasProperty bool   // the property is there and verifies
	damage      string // why a property that is there does not count

	own    SnapshotView // newest snapshot with a ledger number on the chain
	seq    uint64
	crc    uint32
	hasOwn bool

	newest uint64 // highest ledger number of any snapshot, on the chain or off it
}

func gather(v TableView, c Claim) *evidence {
	e := &evidence{view: v, claim: c}
	e.chain, e.complete = v.ancestry()
	_, hasTopic := v.Properties[PropertyTopicID]
	_, hasCluster := v.Properties[PropertyClusterID]
	e.claimed = hasTopic && hasCluster
	if text, ok := v.Properties[PropertyLedger]; ok {
		l, err := DecodeLedger(text)
		switch {
		case err != nil:
			e.damage = err.Error()
		case l.TableUUID != v.UUID:
			e.damage = "the ledger property names another table"
		case !sameClaim(l.Claim, c):
			e.damage = "the ledger property names another topic"
		default:
			e.property, e.hasProperty = l, true
		}
	}
	for _, s := range e.chain {
		if seq, crc, ok := ledgerNumber(s); ok {
			e.own, e.seq, e.crc, e.hasOwn = s, seq, crc, true
			break
		}
	}
	for _, s := range v.Snapshots {
		if seq, _, ok := ledgerNumber(s); ok {
			e.newest = max(e.newest, seq)
		}
	}
	return e
}

func sameClaim(a, b Claim) bool { return a.ClusterID == b.ClusterID && a.TopicID == b.TopicID }

// ledgerNumber reads number and CRC of the ledger that a snapshot installed.
func ledgerNumber(s SnapshotView) (seq uint64, crc uint32, ok bool) {
	text, has := s.Summary[SummarySeq]
	if !has {
		return 0, 0, false
	}
	seq, err := strconv.ParseUint(text, 10, 64)
	crc, good := parseCRC(s.Summary[SummaryCRC])
	return seq, crc, err == nil && good
}

// onChain decides when an own snapshot is on the ancestry of main.
func (e *evidence) onChain() Reading {
	if behind := max(e.newest, e.propertySeq()); behind > e.seq {
		return e.rollback(fmt.Sprintf("main stands at ledger %d, ledger %d was committed", e.seq, behind))
	}
	if e.hasProperty && e.property.Seq == e.seq && e.property.CRC() == e.crc {
		if !e.claimed {
			return Reading{Ledger: e.property, Event: Repaired, Detail: "the claim properties are absent"}
		}
		return Reading{Ledger: e.property, Event: Normal}
	}
	what := "the ledger property is absent"
	switch {
	case e.damage != "":
		what = e.damage
	case e.hasProperty:
		what = fmt.Sprintf("the ledger property is ledger %d, main stands at ledger %d", e.property.Seq, e.seq)
	}
	l, need, ok := e.fullOf(e.seq, e.crc)
	switch {
	case ok:
		return Reading{Ledger: l, Event: Repaired, Detail: what + "; taken from the snapshot"}
	case need != "":
		return Reading{Event: Repaired, Detail: what, Need: Need{Object: need}}
	}
	return Reading{Ledger: e.property, Event: Tampered, Detail: what + "; no other copy verifies"}
}

func (e *evidence) propertySeq() uint64 {
	if e.hasProperty {
		return e.property.Seq
	}
	return 0
}

// offChain decides when no own snapshot is on the ancestry of main: expiry cut it off, or main does not descend from it.
func (e *evidence) offChain(l Ledger, repaired string) Reading {
	head, ok := e.view.snapshot(e.view.Head)
	switch {
	case e.complete || !ok:
		return e.rollback(fmt.Sprintf("no commit of ours is an ancestor of main, ledger %d was committed", l.Seq))
	case head.Sequence < l.Sequence:
		return e.rollback(fmt.Sprintf("main has sequence number %d, ledger %d was committed with %d", head.Sequence, l.Seq, l.Sequence))
	case e.newest > l.Seq:
		return e.rollback(fmt.Sprintf("ledger %d was committed, the newest copy of a ledger is %d", e.newest, l.Seq))
	case e.view.Bounds == nil:
		return Reading{Ledger: l, Event: Expired, Detail: "own snapshots were expired: file bounds decide", Need: Need{Bounds: true}}
	}
	if detail, ok := e.outsideBounds(l); ok {
		return Reading{Ledger: l, Event: Tampered, Detail: detail}
	}
	for _, n := range l.Numbers() {
		last := l.Partitions[n].Last
		if bound, ok := e.view.Bounds[n]; last >= 0 && (!ok || bound < last) {
			return e.rollback(fmt.Sprintf("own snapshots were expired and no file of partition %d is known to reach row %d: "+
				"main was moved back, or the newest rows were deleted", n, last))
		}
	}
	if repaired != "" || !e.claimed {
		return Reading{Ledger: l, Event: Repaired, Detail: "own snapshots were expired; " + repaired}
	}
	return Reading{Ledger: l, Event: Expired, Detail: "own snapshots were expired"}
}

// outsideBounds finds rows of ours that a ledger does not know: it is an older copy.
func (e *evidence) outsideBounds(l Ledger) (detail string, ok bool) {
	for _, n := range sortedKeys(e.view.Bounds) {
		if bound := e.view.Bounds[n]; bound > l.Progress(n).Last {
			return fmt.Sprintf("own snapshots were expired and a file of partition %d reaches row %d, ledger %d knows rows up to %d: "+
				"the ledger is an older copy", n, bound, l.Seq, l.Progress(n).Last), true
		}
	}
	return "", false
}

func (e *evidence) rollback(detail string) Reading {
	r := Reading{Event: Rollback, Detail: detail, Ledger: e.property}
	if l, _, ok := e.tagged(); ok && l.Seq > r.Ledger.Seq {
		r.Ledger = l
	}
	return r
}

// nothing decides when no copy of the ledger verifies.
func (e *evidence) nothing() Reading {
	untouched := len(e.view.Snapshots) == 0 && e.view.Head == None && e.view.LastSequence == 0
	switch {
	case !e.claimed:
		return Reading{Event: Foreign, Detail: "the table has no claim of ours"}
	case e.damage != "":
		return Reading{Event: Tampered, Detail: e.damage + "; no other copy is there"}
	case !untouched:
		return Reading{Event: Tampered, Detail: "the table has or had snapshots, but no copy of the ledger is left"}
	}
	return Reading{Ledger: NewLedger(e.view.UUID, e.claim), Event: Normal, Fresh: true}
}

// fullOf finds the full ledger with a number on the chain, else on the tagged snapshot. Maintenance repeats a number without
// the ledger, so all snapshots that carry it are asked.
func (e *evidence) fullOf(seq uint64, crc uint32) (l Ledger, need string, ok bool) {
	candidates := e.chain
	if tag, has := e.view.snapshot(e.view.Tag); has {
		candidates = append(candidates[:len(candidates):len(candidates)], tag)
	}
	for _, s := range candidates {
		if n, sum, has := ledgerNumber(s); !has || n != seq || sum != crc {
			continue
		}
		got, object, ok := e.full(s)
		if ok {
			return got, "", true
		}
		if need == "" {
			need = object
		}
	}
	return Ledger{}, need, false
}

// full returns the ledger a snapshot carries, if it verifies against the snapshot and the table, or the name of the object
// that must be loaded first.
func (e *evidence) full(s SnapshotView) (l Ledger, need string, ok bool) {
	seq, crc, ok := ledgerNumber(s)
	if !ok {
		return Ledger{}, "", false
	}
	text, inline := s.Summary[SummaryLedger]
	if !inline {
		name, sum, has := parseObject(s.Summary[SummaryLedgerObject])
		if !has || sum != crc {
			return Ledger{}, "", false
		}
		if text, ok = e.view.Objects[name]; !ok {
			return Ledger{}, name, false
		}
	}
	l, err := DecodeLedger(text)
	if err != nil || l.Seq != seq || l.CRC() != crc || l.TableUUID != e.view.UUID || !sameClaim(l.Claim, e.claim) {
		return Ledger{}, "", false
	}
	return l, "", true
}
