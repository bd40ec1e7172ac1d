package remotestorage

import (
	"context"

	"tidemark/internal/kafkalog"
	"tidemark/internal/status"
	"tidemark/remotestorage/reclaim"
	"tidemark/remotestorage/stored"
)

// Describe completes a segment of which TopicID, Partition, ID and BaseOffset are known from its sidecar; Custom stays empty.
// Errors as those of OpenSegment.
func (m *Manager) Describe(ctx context.Context, seg Segment) (Segment, error) {
	ctx, leave, err := m.enter(ctx, "describe segment")
	if err != nil {
		return Segment{}, err
	}
	defer leave()
	seg.Custom, seg.Size = nil, -1
	s, err := m.fetch.Sidecar(ctx, seg.ref())
	if err != nil {
		return Segment{}, err
	}
	seg.Topic, seg.EndOffset, seg.MaxTimestamp = s.Manifest.Topic, s.Manifest.EndOffset, s.Manifest.MaxTimestamp
	seg.Size, seg.BrokerID = s.Manifest.Map.Size, s.Manifest.BrokerID
	_, has := s.Index(stored.TransactionIndex)
	seg.TxnIndexEmpty = !has
	text, _ := s.Index(stored.LeaderEpochs)
	epochs, err := kafkalog.ParseLeaderEpochs(text)
	if err != nil {
		_, key := seg.identity().Keys()
		return Segment{}, status.Wrapf(err, "sidecar %s", key)
	}
	for n, e := range epochs { // of the whole partition up to the segment's end
		if e.Start <= seg.EndOffset && (n+1 == len(epochs) || epochs[n+1].Start > seg.BaseOffset) {
			seg.Epochs = append(seg.Epochs, e)
		}
	}
	return seg, nil
}

// Deleting are the segments that Kafka has deleted and whose objects may still be there, because a table needs them or
// removal has not come to them.
func (m *Manager) Deleting() []reclaim.Tombstone { return m.reclaim.Pending() }
