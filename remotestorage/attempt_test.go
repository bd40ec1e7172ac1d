package remotestorage

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

// hanging replaces a file by one that nobody answers for: opening it does not return before release.
func hanging(t *testing.T, path string) (release func()) {
	t.Helper()
	must(t, os.Remove(path))
	must(t, syscall.Mkfifo(path, 0o600))
	opened := false
	release = func() {
		if opened {
			return
		}
		opened = true
		w, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
	}
	t.Cleanup(release)
	return release
}

// A disk that hangs holds a thread and a place among copy.parallel, not the copier thread of the broker; when it answers again all is as before.
func TestAHangingDiskEndsInAnError(t *testing.T) {
	for name, end := range map[string]func(context.CancelFunc){"deadline": func(context.CancelFunc) {}, "interrupt": func(cancel context.CancelFunc) { cancel() }} {
		t.Run(name, func(t *testing.T) {
			log := &events{}
			cfg, c := config(t), segment(t, 1000)
			if name == "deadline" {
				cfg.CopyDeadline, cfg.CopyMinRate = time.Second, 1<<40
			}
			m := start(t, cfg, storetest.NewMemory(), Deps{Log: log.logger()})
			m.grace = 50 * time.Millisecond
			index, err := os.ReadFile(c.paths.TimeIndex)
			must(t, err)
			release := hanging(t, c.paths.TimeIndex)
			ctx, cancel := context.WithCancel(deadline(t))
			defer cancel()
			end(cancel)
			_, err = m.Copy(ctx, c.Segment, c.paths)
			if !status.Is(err, status.Transient) || !strings.Contains(err.Error(), "stage open") || !strings.Contains(err.Error(), filepath.Base(c.paths.Log)) {
				t.Errorf("copy: %v (%v)", err, status.Of(err))
			}
			if n, _ := m.metrics.flights(); n != 0 || len(log.lines("copy.hangs")) != 1 || metric(t, m, "copy_hung_total") != 1 {
				t.Errorf("%d copies in flight, events: %q", n, log.lines("copy.hangs"))
			}
			if left := m.Deleting(); len(left) != 1 || left[0].Identity != c.identity() {
				t.Errorf("to be removed: %+v", left)
			}
			release()
			until(t, "the lost task has ended", func() bool { return m.tasks.Running() == 0 })
			must(t, os.Remove(c.paths.TimeIndex))
			must(t, os.WriteFile(c.paths.TimeIndex, index, 0o644))
			c.ID[5]++
			copied(t, m, &c)
			readBack(t, m, c)
		})
	}
}

// A record of what is to be removed that cannot be made is told.
func TestAHangingCopyThatCannotBeRecorded(t *testing.T) {
	log := &events{}
	c := segment(t, 1000)
	m := start(t, config(t), storetest.NewMemory(), Deps{Log: log.logger()})
	m.grace = 50 * time.Millisecond
	release := hanging(t, c.paths.TimeIndex)
	m.reclaim.Close()
	ctx, cancel := context.WithCancel(deadline(t))
	cancel()
	if _, err := m.Copy(ctx, c.Segment, c.paths); !status.Is(err, status.Transient) {
		t.Errorf("copy: %v (%v)", err, status.Of(err))
	}
	if lines := log.lines("copy.hangs"); len(lines) != 1 || !strings.Contains(lines[0], "recorded=false") || !strings.Contains(lines[0], "not_recorded=") {
		t.Errorf("events: %q", lines)
	}
	release()
	until(t, "the lost task has ended", func() bool { return m.tasks.Running() == 0 })
}

// More copies than copy.parallel, while those that have their turn do not end: waiting ends too.
func TestWaitingForATurnHasADeadline(t *testing.T) {
	cfg, c := config(t), segment(t, 1000)
	cfg.CopyParallel, cfg.CopyDeadline, cfg.CopyMinRate = 1, time.Second, 1<<40
	m := start(t, cfg, storetest.NewMemory(), Deps{})
	release, err := m.slots.Acquire(deadline(t), 1)
	must(t, err)
	_, err = m.Copy(deadline(t), c.Segment, c.paths)
	if !status.Is(err, status.Transient) || !strings.Contains(err.Error(), "stage wait") {
		t.Errorf("copy: %v (%v)", err, status.Of(err))
	}
	release()
	copied(t, m, &c)
}
