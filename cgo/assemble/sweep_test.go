package assemble_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/cgo/assemble/assembletest"
	"tidemark/cgo/dispatch"
	"tidemark/internal/objectstore/key"
)

// stray stores objects of a segment of the broker's partition that is not in the metadata, written long ago.
func stray(t *testing.T, b *assembletest.Broker, id byte, base int64, suffixes ...string) (segmentID [16]byte, files []string) {
	t.Helper()
	segmentID = [16]byte{id, 0xee}
	log, sidecar := key.Segment(b.ID, 0, base, segmentID)
	for n, name := range []string{log, sidecar} {
		if n >= len(suffixes) {
			break
		}
		path := filepath.Join(b.StoreDir, name)
		if err := os.WriteFile(path, []byte(suffixes[n]), 0o644); err != nil {
			t.Fatal(err)
		}
		age(t, path)
		files = append(files, path)
	}
	return segmentID, files
}

func age(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func exist(files []string) bool {
	for _, f := range files {
		if _, err := os.Stat(f); err == nil {
			return true
		}
	}
	return false
}

// TestSweep is the sweep through the boundary: what the metadata manager does not know goes, a copy that never ended is given up, what it
// knows stays and can be read.
func TestSweep(t *testing.T) {
	b := assembletest.New(t)
	b.Properties["sweep.interval.ms"], b.Properties["sweep.dry.run"], b.Properties["sweep.grace.ms"] = "1000", "false", "600000"
	b.Unfinished = map[[16]byte]bool{}
	b.Open()
	seg, log := b.Roll("a", "b", "c")
	last, _ := b.Roll("d")
	for _, path := range objects(b, "segments") {
		age(t, path)
	}
	_, orphan := stray(t, b, 1, 0, "half a log")
	_, unreadable := stray(t, b, 2, 1, "a log", "no sidecar at all")
	unfinished, started := stray(t, b, 3, 2, "a log")
	b.Unfinished[unfinished] = true
	notOurs := filepath.Join(b.StoreDir, "segments", "notes.txt")
	if err := os.WriteFile(notOurs, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	age(t, notOurs)

	b.Until("the orphan is gone and the copy is given up", func() bool { return !exist(orphan) && !b.Unfinished[unfinished] })
	b.Until("the given up copy, which this metadata manager then forgets, is gone too", func() bool { return !exist(started) })
	if !exist(unreadable) || !exist([]string{notOurs}) {
		t.Error("what cannot be judged is gone")
	}
	for _, s := range []dispatch.Segment{seg, last} {
		got, err := b.Read(dispatch.StreamRequest{Segment: s, Kind: dispatch.StreamSegment, End: -1})
		if err != nil || s.ID == seg.ID && !bytes.Equal(got, log) {
			t.Errorf("a living segment cannot be read: %v", err)
		}
	}
	if n := len(objects(b, "clusters")); n != 1 {
		t.Errorf("%d marks of clusters", n)
	}
	b.Close()
	if text := b.Log.String(); !strings.Contains(text, "sweep.done") || !strings.Contains(text, "sweep.found") {
		t.Errorf("the log does not tell of the sweep:\n%s", text)
	}
}

// TestSweepOfAFollowerTouchesNothing: the leader decides.
func TestSweepOfAFollowerTouchesNothing(t *testing.T) {
	b := assembletest.New(t)
	b.Properties["sweep.interval.ms"], b.Properties["sweep.dry.run"], b.Properties["sweep.grace.ms"] = "1000", "false", "600000"
	b.Open()
	b.Roll("a")
	b.Instance.Leadership(dispatch.LeadershipRequest{Followers: []dispatch.TopicPartition{b.Partition()}})
	_, orphan := stray(t, b, 1, 0, "half a log")
	b.Until("a sweep found a partition of another leader", func() bool { return strings.Contains(b.Log.String(), "not-led=1") })
	if !exist(orphan) {
		t.Error("a follower removed something")
	}
}

// TestAShortGraceIsTold: only where the sweep removes anything.
func TestAShortGraceIsTold(t *testing.T) {
	for _, c := range []struct {
		grace, dry string
		told       bool
	}{{"239999", "false", true}, {"240000", "false", false}, {"10000", "true", false}} {
		b := assembletest.New(t)
		b.Properties["sweep.grace.ms"], b.Properties["sweep.dry.run"], b.Properties["copy.deadline.ms"] = c.grace, c.dry, "120000"
		b.Open()
		b.Close()
		if told := strings.Contains(b.Log.String(), "sweep.grace.short"); told != c.told {
			t.Errorf("grace %s ms, dry run %s: told %v", c.grace, c.dry, told)
		}
	}
}
