package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// NothingDeletedIsHeld waits until no broker's process has a deleted file open or mapped: the disk space of such a file is lost until the
// process ends.
func (w *Rig) NothingDeletedIsHeld() {
	w.Helper()
	w.Eventually(time.Minute, func() error {
		for _, n := range w.Cluster.Nodes {
			held, err := deleted(n.PID(), w.Cluster.Dir())
			if err != nil {
				return err
			}
			if len(held) > 0 {
				return fmt.Errorf("broker %d holds %d deleted files: %s", n.ID, len(held), strings.Join(held[:min(len(held), 10)], ", "))
			}
		}
		return nil
	})
}

// deleted are the files below a directory that a process has open or mapped and that no name leads to.
func deleted(pid int, below string) (held []string, err error) {
	const mark = " (deleted)"
	proc := fmt.Sprintf("/proc/%d", pid)
	open, err := os.ReadDir(filepath.Join(proc, "fd"))
	if err != nil {
		return nil, err
	}
	for _, e := range open {
		to, err := os.Readlink(filepath.Join(proc, "fd", e.Name()))
		if err == nil && strings.HasPrefix(to, below) && strings.HasSuffix(to, mark) {
			held = append(held, "open "+to)
		}
	}
	maps, err := os.ReadFile(filepath.Join(proc, "maps"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(maps)) {
		at := strings.Index(line, below)
		if at >= 0 && strings.HasSuffix(strings.TrimSpace(line), mark) {
			held = append(held, "mapped "+strings.TrimSpace(line[at:]))
		}
	}
	return held, nil
}

// OpenBelow counts a broker's descriptors of files below a directory.
func (w *Rig) OpenBelow(id int, dir string) (open int) {
	w.Helper()
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", w.Node(id).PID()))
	if err != nil || len(fds) == 0 {
		w.Fatalf("descriptors of broker %d: %v", id, err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, dir+"/") {
			open++
		}
	}
	return open
}
