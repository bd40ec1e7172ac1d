package remotestorage

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// maxHandOvers is how many hand-overs may be under way: more than copier threads, so that a slow one is not felt at once.
const maxHandOvers = 32

// handOver makes the hold file and tells the sink. It returns after handover.timeout.ms at the latest and cannot fail: a
// segment that was not handed over is found again by comparing remote log metadata with the table.
func (m *Manager) handOver(seg Segment, path string, files *files) {
	if m.deps.Sink == nil && m.deps.Wanted == nil {
		return
	}
	release, ok := m.passing.TryAcquire(1)
	if !ok {
		m.notHandedOver(seg, "too many hand-overs are under way")
		return
	}
	// The task owns the descriptor: with a number that was closed and used again it would link another file.
	whole, log := files.size == seg.Size, files.take()
	done := make(chan struct{})
	started := m.tasks.Go("hand over", func(context.Context) {
		defer close(done)
		defer release()
		defer log.Close()
		if m.deps.Wanted != nil {
			m.hold(seg, path, log, whole)
		}
		if m.deps.Sink != nil {
			m.deps.Sink.HandOver(seg)
		}
	})
	if !started {
		release()
		log.Close()
		return
	}
	timer := time.NewTimer(m.cfg.HandOverTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		m.notHandedOver(seg, "it takes longer than handover.timeout.ms and goes on in the background")
	}
}

func (m *Manager) notHandedOver(seg Segment, reason string) {
	m.metrics.slow.Inc()
	m.log.Warn("handover.slow", "topic", seg.Topic, "partition", seg.Partition, "base", seg.BaseOffset, "reason", reason,
		"effect", "the copy is done and not held up; the table finds the segment by itself")
}

// hold links the log file into the root of its log directory, two levels above the file.
func (m *Manager) hold(seg Segment, path string, log *os.File, whole bool) {
	dir := filepath.Dir(filepath.Dir(path))
	m.holds.learn(dir)
	epoch, ok := seg.epoch()
	generation, wanted := m.deps.Wanted(seg.TopicID)
	if !ok || !whole || !wanted {
		return
	}
	m.holds.make(log, dir, Held{
		TopicID: seg.TopicID, Partition: seg.Partition, Base: seg.BaseOffset, End: seg.EndOffset + 1,
		Epoch: epoch, Generation: generation, SegmentID: seg.ID, Size: seg.Size,
	})
}
