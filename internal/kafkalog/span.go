package kafkalog

// Span is what a broker says about the batches of a segment. It guards the two fields no CRC covers.
type Span struct {
	Base   int64        // lowest offset
	End    int64        // highest offset, inclusive
	Epochs []EpochStart // ascending; empty = the epochs are not checked
}

// Check is Corrupt when the offsets of b lie outside the span, or when its leader epoch is not the one that the epochs
// give for its base offset. A batch without an epoch, and one below the first known epoch, pass.
func (s Span) Check(b Batch) error {
	if b.BaseOffset() < s.Base || b.LastOffset() > s.End {
		return b.corrupt("it ends at offset %d; the segment holds offsets %d to %d", b.LastOffset(), s.Base, s.End)
	}
	if want, ok := EpochAt(s.Epochs, b.BaseOffset()); ok && b.LeaderEpoch() >= 0 && b.LeaderEpoch() != want {
		return b.corrupt("it carries leader epoch %d; the leader-epoch checkpoint says %d", b.LeaderEpoch(), want)
	}
	return nil
}
