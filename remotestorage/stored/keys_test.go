package stored

import (
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	id := Identity{TopicID: uuid(1), Partition: 2, SegmentID: uuid(3), BaseOffset: 4}
	log, sidecar := id.Keys()
	if log == sidecar || !strings.HasPrefix(log, "segments/") || !strings.HasPrefix(sidecar, "segments/") {
		t.Errorf("keys %q and %q", log, sidecar)
	}
	other := id
	other.SegmentID = uuid(5)
	if l, s := other.Keys(); l == log || s == sidecar {
		t.Errorf("another attempt has the same keys: %q, %q", l, s)
	}
}
