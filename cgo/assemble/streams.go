package assemble

import (
	"context"
	"io"

	"tidemark/cgo/dispatch"
	"tidemark/internal/status"
	"tidemark/remotestorage"
	"tidemark/remotestorage/stored"
)

var indexKinds = map[dispatch.StreamKind]remotestorage.IndexKind{
	dispatch.StreamOffset: stored.OffsetIndex, dispatch.StreamTimestamp: stored.TimeIndex, dispatch.StreamProducerSnapshot: stored.ProducerSnapshot,
	dispatch.StreamTransaction: stored.TransactionIndex, dispatch.StreamLeaderEpoch: stored.LeaderEpochs,
}

// Open starts reading a segment or an index.
func (i *Instance) Open(ctx context.Context, req dispatch.StreamRequest) (dispatch.Stream, int64, error) {
	if req.Kind == dispatch.StreamSegment {
		var next *remotestorage.Segment
		if req.Next != nil {
			s := segment(*req.Next)
			next = &s
		}
		s, total, err := i.storage.OpenSegment(ctx, segment(req.Segment), next, req.Start, req.End)
		if err != nil {
			return nil, 0, err
		}
		return s, total, nil
	}
	kind, ok := indexKinds[req.Kind]
	if !ok {
		return nil, 0, status.Errorf(status.Invalid, "stream kind %d is not known", req.Kind)
	}
	raw, err := i.storage.Index(ctx, segment(req.Segment), kind)
	if err != nil {
		return nil, 0, err
	}
	return &indexStream{left: raw}, int64(len(raw)), nil
}

// indexStream hands out a whole index.
type indexStream struct{ left []byte }

func (s *indexStream) Next(_ context.Context, dst []byte) (int, error) {
	if len(s.left) == 0 {
		return 0, io.EOF
	}
	n := copy(dst, s.left)
	s.left = s.left[n:]
	return n, nil
}

func (s *indexStream) Close() {}
