package kafkalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/kafkalog"
	"tidemark/internal/status"
)

func TestParseLeaderEpochs(t *testing.T) {
	got, err := kafkalog.ParseLeaderEpochs([]byte("0\n3\n0 0\n2 17\n5 9000000000\n"))
	want := []kafkalog.EpochStart{{Epoch: 0, Start: 0}, {Epoch: 2, Start: 17}, {Epoch: 5, Start: 9_000_000_000}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := kafkalog.ParseLeaderEpochs([]byte("0\n0\n")); err != nil || len(got) != 0 {
		t.Errorf("no epochs: %v, %v", got, err)
	}
	for text, class := range map[string]status.Class{
		"": status.Corrupt, "0\n": status.Corrupt, "x\n0\n": status.Corrupt, "1\n0\n": status.Unsupported,
		"0\n2\n0 0\n": status.Corrupt, "0\n-1\n": status.Corrupt, "0\n1\n0\n": status.Corrupt, "0\n1\n0 x\n": status.Corrupt,
		"0\n1\n-1 0\n": status.Corrupt, "0\n2\n1 5\n1 6\n": status.Corrupt, "0\n2\n1 5\n2 5\n": status.Corrupt,
		"0\n1\n99999999999 0\n": status.Corrupt, "0\n1\n0 0 0\n": status.Corrupt,
	} {
		if _, err := kafkalog.ParseLeaderEpochs([]byte(text)); !status.Is(err, class) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestEpochAt(t *testing.T) {
	epochs := []kafkalog.EpochStart{{Epoch: 1, Start: 10}, {Epoch: 4, Start: 20}}
	for offset, want := range map[int64]int32{10: 1, 19: 1, 20: 4, 1 << 40: 4} {
		if got, ok := kafkalog.EpochAt(epochs, offset); !ok || got != want {
			t.Errorf("offset %d: %d, %v", offset, got, ok)
		}
	}
	if _, ok := kafkalog.EpochAt(epochs, 9); ok {
		t.Error("an offset below the first epoch has one")
	}
}
