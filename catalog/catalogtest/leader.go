package catalogtest

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"tidemark/catalog"
)

// leader converts ranges of the partitions it believes to lead. Two of them believe so of all.
type leader struct {
	id         int
	world      *world
	replicas   []replica // by partition
	generation uint64
}

// replica is what a leader knows of a partition: a stale one if it lost the leadership and does not know.
type replica struct {
	ids    []int
	epoch  int32
	next   int64 // committed, as far as it knows
	staged int64 // end of what it has offered
}

func newLeader(w *world, id int) *leader {
	l := &leader{id: id, world: w}
	l.restart()
	return l
}

// restart forgets everything that is not in the log or the table.
func (l *leader) restart() {
	l.generation = 0
	l.replicas = make([]replica, len(l.world.logs))
	for i, log := range l.world.logs {
		l.replicas[i] = replica{ids: log.ids, epoch: log.epoch, next: log.start, staged: log.start}
	}
}

// poll reads the ledger from the table, and the log of some partitions. What was offered and does not show is converted
// again.
func (l *leader) poll() {
	w := l.world
	r := w.read(w.catalog.Load())
	if !r.Usable() {
		return
	}
	again := r.Ledger.Generation != l.generation || w.rand.IntN(4) == 0
	l.generation = r.Ledger.Generation
	for i, log := range w.logs {
		p := &l.replicas[i]
		p.next = r.Ledger.Begin(log.number, log.start).Progress(log.number).Next
		if p.staged < p.next || again {
			p.staged = p.next
		}
		if w.rand.IntN(3) > 0 {
			p.ids, p.epoch = log.ids, log.epoch
		}
	}
}

// convert cuts the next range, writes its files and offers it.
func (l *leader) convert(log *partitionLog) {
	p := &l.replicas[log.number]
	available := log.start + int64(len(p.ids)) - p.staged
	if l.generation == 0 || available <= 0 {
		return
	}
	to := p.staged + 1 + l.world.rand.Int64N(min(available, 4))
	o := l.world.offer(log, p, p.staged, to, l.generation)
	l.world.tracef("leader %d offers p%d [%d,%d) end epoch %d, generation %d, files %s", l.id, log.number, p.staged, to,
		o.Range.BatchEpoch, o.Generation, uris(o))
	p.staged = to
	l.world.post(o)
}

// offer converts a range of a replica. A fragile record may become a row of either table.
func (w *world) offer(log *partitionLog, p *replica, from, to int64, generation uint64) catalog.Offer {
	ids := p.ids[from-log.start : to-log.start]
	o := catalog.Offer{
		Generation: generation, LeaderEpoch: p.epoch, Files: map[catalog.Role][]catalog.File{},
		Range: catalog.Range{
			Partition: log.number, Base: from, End: to, BatchEpoch: w.records[ids[len(ids)-1]].epoch, LastBatchBase: to - 1,
			LastBatchCRC: crc32.ChecksumIEEE(fmt.Append(nil, ids[len(ids)-1])), LastRow: -1,
		},
	}
	rows := map[catalog.Role][]int{}
	for _, id := range ids {
		switch r := w.records[id]; {
		case r.kind == hidden:
			o.Counts.Aborted++
		case r.kind == bad, r.kind == fragile && w.rand.IntN(2) == 0:
			rows[catalog.Quarantine] = append(rows[catalog.Quarantine], id)
			o.Counts.Quarantined++
		default:
			rows[catalog.Main] = append(rows[catalog.Main], id)
			o.Counts.Rows++
			o.Range.LastRow = r.offset
		}
	}
	for _, role := range []catalog.Role{catalog.Main, catalog.Quarantine} {
		parts := [][]int{rows[role]}
		if n := len(rows[role]); n > 1 && w.rand.IntN(3) == 0 {
			parts = [][]int{rows[role][:n/2], rows[role][n/2:]}
		}
		for i, part := range parts {
			if len(part) > 0 {
				o.Files[role] = append(o.Files[role], w.write(o, role, part, i+1, len(parts)))
			}
		}
	}
	return o
}

// write stores a data file with its footer.
func (w *world) write(o catalog.Offer, role catalog.Role, rows []int, part, parts int) catalog.File {
	w.files++
	uri := catalog.DataFileName(w.claim.TopicID, o.Range, o.LeaderEpoch, part, fmt.Sprintf("%s%04d", role, w.files))
	w.contents[uri] = content{rows: slices.Clone(rows), footer: &catalog.FileFooter{
		URI: uri, Rows: int64(len(rows)), Claim: w.claim, Role: role, Range: o.Range, LeaderEpoch: o.LeaderEpoch,
		Layout: catalog.LayoutVersion, Pipeline: catalog.PipelineVersion, Generation: o.Generation, Part: part, Parts: parts,
		Counts: o.Counts,
	}}
	return catalog.File{URI: uri, Size: int64(100 + len(rows)*10 + w.rand.IntN(3)), Rows: int64(len(rows))}
}

func uris(o catalog.Offer) string {
	text := ""
	for _, role := range []catalog.Role{catalog.Main, catalog.Quarantine} {
		for _, f := range o.Files[role] {
			text += strings.TrimSuffix(f.URI[strings.LastIndexByte(f.URI, '-')+1:], ".parquet") + " "
		}
	}
	return text
}
