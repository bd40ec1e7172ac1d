package remotestorage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/kafkalog"
	"tidemark/internal/kafkalog/logtest"
	"tidemark/internal/objectstore/storetest"
	"tidemark/internal/status"
)

// openBelow are the files below a directory that this process holds open, by the names they have or had.
func openBelow(t *testing.T, dir string) (open []string) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(target, dir) {
			open = append(open, target)
		}
	}
	return open
}

// A thousand copies, of which every third fails in one way or another, beside deletions of their topics: no file of a segment stays open.
func TestNoDescriptorOutlivesACopy(t *testing.T) {
	root := t.TempDir()
	store := storetest.Faulty(storetest.NewMemory())
	m := start(t, config(t), store, Deps{Sink: &sink{}, Wanted: func([16]byte) (uint64, bool) { return 1, true }})
	before := len(openBelow(t, ""))
	failed := 0
	for i := range 1000 {
		s := logtest.NewSegment(int64(i))
		s.Epochs = []kafkalog.EpochStart{{}}
		s.Produce(kafkalog.None, "one", "two")
		part := filepath.Join(root, fmt.Sprintf("flights-%d", i))
		must(t, os.MkdirAll(part, 0o755))
		f, err := s.Write(part)
		must(t, err)
		seg := Segment{TopicID: [16]byte{0xF1}, Topic: "flights", ID: [16]byte{byte(i), byte(i >> 8)}, BaseOffset: s.Base, EndOffset: s.Next() - 1,
			Size: int64(len(s.Log)), Epochs: []Epoch{{}}, TxnIndexEmpty: true}
		paths := Paths{Log: f.Log, OffsetIndex: f.OffsetIndex, TimeIndex: f.TimeIndex, ProducerSnapshot: f.ProducerSnapshot, LeaderEpochs: s.LeaderEpochs()}
		want := status.OK
		switch i % 12 {
		case 2:
			paths.ProducerSnapshot, want = filepath.Join(part, "none"), status.NotFound
		case 5:
			seg.EndOffset, want = seg.EndOffset-1, status.Corrupt
		case 8:
			store.Add(storetest.Fault{Op: storetest.Put, Key: ".log"})
			want = status.Transient
		case 11:
			store.Add(storetest.Fault{Op: storetest.Put, Key: ".sidecar", Effect: storetest.Pass, Run: func() { panic("store") }})
			want = status.Internal
		}
		if _, err = m.Copy(deadline(t), seg, paths); status.Of(err) != want {
			t.Fatalf("copy %d: %v (%v), want %v", i, err, status.Of(err), want)
		}
		store.Heal()
		if want != status.OK {
			failed++
		}
		must(t, os.RemoveAll(part))
	}
	if failed < 300 {
		t.Errorf("only %d copies failed", failed)
	}
	until(t, "the hand-overs have ended", func() bool { return m.tasks.Running() == 0 })
	if held := len(m.Held()); held == 0 {
		t.Error("nothing is held for the table")
	}
	m.ReleaseHeld([16]byte{0xF1}, 0, 2000)
	if open := openBelow(t, root); len(open) != 0 {
		t.Errorf("open after all copies: %v", open)
	}
	if after := len(openBelow(t, "")); after > before+2 {
		t.Errorf("%d descriptors before, %d after: %v", before, after, openBelow(t, ""))
	}
	var left []string
	must(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left = append(left, path)
		}
		return err
	}))
	if len(left) != 0 {
		t.Errorf("files that keep bytes on the disk: %v", left)
	}
}
