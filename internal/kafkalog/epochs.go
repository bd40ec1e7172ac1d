package kafkalog

import (
	"sort"
	"strconv"
	"strings"

	"tidemark/internal/status"
)

// EpochStart is the first offset of a leader epoch.
type EpochStart struct {
	Epoch int32
	Start int64
}

// maxEpochs bounds a checkpoint: one entry per leader change that a segment spans.
const maxEpochs = 1 << 20

// ParseLeaderEpochs reads a leader-epoch checkpoint: lines "0", count, then "epoch start" (storage/…/checkpoint/
// LeaderEpochCheckpointFile.java). Epochs and offsets ascend strictly. Errors: Corrupt with the line; Unsupported for
// another version.
func ParseLeaderEpochs(text []byte) ([]EpochStart, error) {
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if len(lines) < 2 {
		return nil, status.Errorf(status.Corrupt, "leader-epoch checkpoint: %d lines, at least version and count are needed", len(lines))
	}
	if lines[0] != "0" {
		if _, err := strconv.ParseInt(lines[0], 10, 32); err == nil {
			return nil, status.Errorf(status.Unsupported, "leader-epoch checkpoint: version %s, only 0 is known", lines[0])
		}
		return nil, status.Errorf(status.Corrupt, "leader-epoch checkpoint: line 1 is no version")
	}
	count, err := strconv.ParseInt(lines[1], 10, 32)
	if err != nil || count < 0 || count > maxEpochs || int(count) != len(lines)-2 {
		return nil, status.Errorf(status.Corrupt, "leader-epoch checkpoint: line 2 must be the number of entries, which is %d", len(lines)-2)
	}
	epochs := make([]EpochStart, 0, count)
	for i, line := range lines[2:] {
		e, s, ok := strings.Cut(line, " ")
		epoch, err1 := strconv.ParseInt(e, 10, 32)
		start, err2 := strconv.ParseInt(s, 10, 64)
		if !ok || err1 != nil || err2 != nil || epoch < 0 || start < 0 {
			return nil, status.Errorf(status.Corrupt, "leader-epoch checkpoint: line %d is not an epoch and an offset", i+3)
		}
		if i > 0 && (int32(epoch) <= epochs[i-1].Epoch || start <= epochs[i-1].Start) {
			return nil, status.Errorf(status.Corrupt, "leader-epoch checkpoint: line %d does not ascend", i+3)
		}
		epochs = append(epochs, EpochStart{Epoch: int32(epoch), Start: start})
	}
	return epochs, nil
}

// EpochAt is the epoch of offset among ascending epochs; ok is false below the first.
func EpochAt(epochs []EpochStart, offset int64) (epoch int32, ok bool) {
	i := sort.Search(len(epochs), func(i int) bool { return epochs[i].Start > offset })
	if i == 0 {
		return 0, false
	}
	return epochs[i-1].Epoch, true
}
