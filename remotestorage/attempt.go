package remotestorage

import (
	"context"
	"time"

	"tidemark/internal/status"
)

// attempt makes one copy in a task and waits for its end. Everything a copy waits for has a deadline but the system calls on local files: when a disk
// hangs in one, the caller must get its error all the same, or the partition is tiered no more until its leadership moves. The task then
// keeps its descriptor and its place among copy.parallel, so that their number stays bounded, and goes on to clean up if the disk answers again.
func (m *Manager) attempt(ctx context.Context, f *flight, seg Segment, paths Paths) ([]byte, error) {
	type result struct {
		custom []byte
		err    error
	}
	done := make(chan result, 1)
	if !m.tasks.Go("copy", func(context.Context) {
		var r result
		r.err = m.tasks.Guard("copy", func() (err error) {
			r.custom, err = m.copy(ctx, f, seg, paths)
			return err
		})
		done <- r
	}) {
		return nil, status.Errorf(status.Closed, "the instance is closed")
	}
	ended, last := ctx.Done(), time.Time{}
	for {
		due := f.due().Add(m.grace)
		if !last.IsZero() && last.Before(due) {
			due = last
		}
		timer := time.NewTimer(time.Until(due))
		select {
		case r := <-done:
			timer.Stop()
			return r.custom, r.err
		case <-ended:
			timer.Stop()
			ended, last = nil, time.Now().Add(m.grace)
		case <-timer.C:
			if time.Now().Before(f.due().Add(m.grace)) && (last.IsZero() || time.Now().Before(last)) {
				continue
			}
			return nil, m.giveUp(f, seg, paths)
		}
	}
}

// giveUp records that the objects of a copy that hangs are to be removed: it may hang between them, and when it goes on its context has ended.
// The journal's own task writes the record: its disk may be the one that hangs.
func (m *Manager) giveUp(f *flight, seg Segment, paths Paths) error {
	now, _, since := f.at()
	later := m.reclaim.DeleteAfter(seg.identity(), seg.EndOffset+1, m.lateWrite)
	m.metrics.hung.Inc()
	attrs := append(seg.attrs(), "stage", now.String(), "in_stage", millis(since), "path", paths.Log, "recorded", later == nil,
		"effect", "the copy is given up; its thread is lost until the disk answers, and with it one of copy.parallel")
	if later != nil { // local.dir may be on the same disk
		attrs = append(attrs, "not_recorded", later.Error(), "objects", "what the copy has written stays in the store until the disk answers or a sweep removes it")
	}
	m.log.Error("copy.hangs", attrs...)
	return status.Errorf(status.Transient, "the copy did not end by itself: a system call on %s or its indexes hangs; look at the disk", paths.Log)
}
