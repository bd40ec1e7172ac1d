package catalogtest

// record is one record of a simulated log. Its index in world.records is its id.
type record struct {
	partition int32
	offset    int64
	epoch     int32
	before    int // id of the record below it on its branch, -1 if none
	kind      kind
}

type kind int8

const (
	good    kind = iota // a row of the main table
	bad                 // a row of the quarantine
	fragile             // either, as each conversion sees it: a schema that becomes readable in between
	hidden              // no row: aborted or a control record
)

type position struct {
	partition int32
	offset    int64
	epoch     int32
}

// partitionLog is a partition as its current leader has it. Each record is a batch of its own.
type partitionLog struct {
	number int32
	start  int64 // the log start offset
	epoch  int32
	ids    []int // of the records from start
}

func (l *partitionLog) end() int64 { return l.start + int64(len(l.ids)) }

// append adds n records at the current epoch.
func (w *world) append(l *partitionLog, n int) {
	for range n {
		r := record{partition: l.number, offset: l.end(), epoch: l.epoch, before: -1}
		if len(l.ids) > 0 {
			r.before = l.ids[len(l.ids)-1]
		}
		switch k := w.rand.IntN(10); {
		case k < 5:
			r.kind = good
		case k < 7:
			r.kind = fragile
		case k < 8:
			r.kind = bad
		default:
			r.kind = hidden
		}
		id := len(w.records)
		w.records = append(w.records, r)
		w.at[position{l.number, r.offset, r.epoch}] = id
		l.ids = append(l.ids, id)
	}
}

// elect makes a new leader epoch; an unclean election also truncates to an offset.
func (l *partitionLog) elect(truncateTo int64) {
	l.epoch++
	l.ids = l.ids[: truncateTo-l.start : truncateTo-l.start]
}

// onChain is the truth: the last record below offset has that epoch.
func (w *world) onChain(l *partitionLog, offset int64, epoch int32) bool {
	return offset > l.start && offset <= l.end() && w.records[l.ids[offset-1-l.start]].epoch == epoch
}
