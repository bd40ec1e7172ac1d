package assemble

import (
	"context"
	"log/slog"
	"testing"

	"tidemark/cgo/dispatch"
	"tidemark/internal/status"
)

// A question that nobody waits for any more is not handed out: a copy that it gives up was judged long ago.
func TestAQuestionThatTimedOutIsNotHandedOut(t *testing.T) {
	tr := newTruth(1, slog.New(slog.DiscardHandler))
	topicID := [16]byte{7}
	tr.leadership(dispatch.LeadershipRequest{Leaders: []dispatch.TopicPartition{{TopicID: topicID, Topic: "t"}}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 3 {
		if _, err := tr.GiveUp(ctx, topicID, 0, [][16]byte{{1}}); !status.Is(err, status.Transient) {
			t.Errorf("got %v, want Transient", err)
		}
	}
	if asked := tr.questions(); len(asked) != 0 || len(tr.waiting) != 0 {
		t.Errorf("handed out: %+v, waited for: %d", asked, len(tr.waiting))
	}
}
