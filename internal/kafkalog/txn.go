package kafkalog

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sort"

	"tidemark/internal/status"
)

// AbortedTxn is one entry of a transaction index. It stands in the index of the segment that holds the abort marker.
type AbortedTxn struct {
	ProducerID       int64
	FirstOffset      int64 // first record of the transaction; may lie in an earlier segment
	LastOffset       int64 // the abort marker
	LastStableOffset int64 // of the partition when the marker was written
}

const txnEntry = 34 // version, producer id, three offsets (storage/…/log/AbortedTxn.java)

// ParseTxnIndex reads a .txnindex file; an empty one is legal. Errors: Corrupt, Unsupported for another entry version.
func ParseTxnIndex(data []byte) ([]AbortedTxn, error) {
	if len(data)%txnEntry != 0 {
		return nil, status.Errorf(status.Corrupt, "transaction index: %d bytes are no multiple of %d", len(data), txnEntry)
	}
	txns := make([]AbortedTxn, 0, len(data)/txnEntry)
	for i := 0; i < len(data); i += txnEntry {
		e := data[i : i+txnEntry]
		if v := binary.BigEndian.Uint16(e); v != 0 {
			return nil, status.Errorf(status.Unsupported, "transaction index: entry %d has version %d, only 0 is known", i/txnEntry, v)
		}
		t := AbortedTxn{
			ProducerID:       int64(binary.BigEndian.Uint64(e[2:])),
			FirstOffset:      int64(binary.BigEndian.Uint64(e[10:])),
			LastOffset:       int64(binary.BigEndian.Uint64(e[18:])),
			LastStableOffset: int64(binary.BigEndian.Uint64(e[26:])),
		}
		if t.ProducerID < 0 || t.FirstOffset < 0 || t.LastOffset < t.FirstOffset {
			return nil, status.Errorf(status.Corrupt, "transaction index: entry %d: producer %d, offsets %d to %d",
				i/txnEntry, t.ProducerID, t.FirstOffset, t.LastOffset)
		}
		if n := len(txns); n > 0 && t.LastOffset <= txns[n-1].LastOffset {
			return nil, status.Errorf(status.Corrupt, "transaction index: entry %d: marker %d does not follow marker %d",
				n, t.LastOffset, txns[n-1].LastOffset)
		}
		txns = append(txns, t)
	}
	return txns, nil
}

// TxnView knows which transactional batches were aborted. It is immutable.
type TxnView struct {
	byProducer map[int64][]offsets
}

type offsets struct{ first, last int64 }

// NewTxnView makes a view of the aborted transactions of one partition, of any number of segments, in any order,
// duplicates included. It keeps nothing of txns.
func NewTxnView(txns []AbortedTxn) *TxnView {
	v := &TxnView{byProducer: make(map[int64][]offsets)}
	for _, t := range txns {
		v.byProducer[t.ProducerID] = append(v.byProducer[t.ProducerID], offsets{t.FirstOffset, t.LastOffset})
	}
	for id, all := range v.byProducer {
		sort.Slice(all, func(i, j int) bool { return all[i].first < all[j].first })
		merged := all[:1]
		for _, o := range all[1:] {
			if end := &merged[len(merged)-1]; o.first <= end.last {
				end.last = max(end.last, o.last)
			} else {
				merged = append(merged, o)
			}
		}
		v.byProducer[id] = merged
	}
	return v
}

// Aborted reports whether b is a data batch of a transaction that the view knows to be aborted: read_committed
// consumers do not see it. Control batches and batches outside transactions never are.
func (v *TxnView) Aborted(b Batch) bool {
	if len(v.byProducer) == 0 || !b.IsTransactional() || b.IsControl() {
		return false
	}
	all, base := v.byProducer[b.ProducerID()], b.BaseOffset()
	i := sort.Search(len(all), func(i int) bool { return all[i].last >= base })
	return i < len(all) && all[i].first <= base
}

// OpenTxn is a transaction that was open when a producer snapshot was taken.
type OpenTxn struct {
	ProducerID  int64
	FirstOffset int64
}

const (
	snapshotHead  = 10 // version, CRC, count (storage/…/log/ProducerStateManager.java)
	snapshotEntry = 46
	snapshotTxnAt = 38 // after producer id, epoch, sequence, offset, delta, timestamp, coordinator epoch
)

// ParseProducerSnapshot reads a .snapshot file and returns the transactions that were open at its offset, by first
// offset. Errors: Corrupt, Unsupported for another version.
func ParseProducerSnapshot(data []byte) (open []OpenTxn, err error) {
	if len(data) < snapshotHead {
		return nil, status.Errorf(status.Corrupt, "producer snapshot: %d bytes are too few", len(data))
	}
	if v := binary.BigEndian.Uint16(data); v != 1 {
		return nil, status.Errorf(status.Unsupported, "producer snapshot: version %d, only 1 is known", v)
	}
	want := binary.BigEndian.Uint32(data[2:])
	if sum := crc32.Checksum(data[6:], castagnoli); sum != want {
		return nil, status.Errorf(status.Corrupt, "producer snapshot: CRC32C is %08x, the header says %08x", sum, want)
	}
	n := int64(int32(binary.BigEndian.Uint32(data[6:])))
	if n < 0 || n*snapshotEntry != int64(len(data)-snapshotHead) {
		return nil, status.Errorf(status.Corrupt, "producer snapshot: %d entries do not make %d bytes", n, len(data))
	}
	for e := data[snapshotHead:]; len(e) > 0; e = e[snapshotEntry:] {
		if first := int64(binary.BigEndian.Uint64(e[snapshotTxnAt:])); first >= 0 {
			open = append(open, OpenTxn{ProducerID: int64(binary.BigEndian.Uint64(e)), FirstOffset: first})
		}
	}
	slices.SortFunc(open, func(a, b OpenTxn) int {
		if a.FirstOffset < b.FirstOffset || a.FirstOffset == b.FirstOffset && a.ProducerID < b.ProducerID {
			return -1
		}
		return 1
	})
	return open, nil
}
