package sweep

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/key"
	"tidemark/internal/status"
	"tidemark/remotestorage/stored"
)

func mustRun(t *testing.T, s *Sweeper) Report {
	t.Helper()
	r, err := s.Run(context.Background())
	if err != nil || r.Failed > 0 {
		t.Fatalf("sweep: %v, %+v", err, r)
	}
	return r
}

// TestSweepKeepsAndRemoves is each reason once.
func TestSweepKeepsAndRemoves(t *testing.T) {
	w := newWorld()
	p := place{topic(1), 10}
	other := place{topic(1), 1} // its keys lie beside those of partition 10
	w.meta.leads = func(p place) bool { return p.partition != 2 }
	alive := w.segment(p, 100, "ls", Finished)
	deleting := w.segment(p, 0, "ls", Deleting)
	orphan := w.segment(p, 20, "ls", Absent)
	half := w.segment(p, 30, "l", Absent)
	beyondHalf := w.segment(p, 300, "l", Absent) // never readable: no sidecar
	beyond := w.segment(p, 200, "ls", Absent)
	started := w.segment(p, 40, "ls", Started)
	copying := w.segment(p, 50, "l", Absent)
	pending := w.segment(p, 60, "ls", Absent)
	held := w.segment(p, 70, "ls", Absent)
	dark := w.segment(p, 80, "ls", Absent)
	foreign := w.segment(place{topic(1), 2}, 0, "ls", Absent)
	alone := w.segment(other, 0, "ls", Absent) // of a partition without metadata
	delete(w.ends, dark.SegmentID)
	w.copying[copying.SegmentID], w.pending[pending.SegmentID] = true, true
	w.held = func(id stored.Identity) bool { return id.BaseOffset == held.BaseOffset }
	strange := key.PartitionPrefix(p.topicID, p.partition) + "notes.txt"
	if _, err := w.store.Put(context.Background(), strange, bytes.NewReader(nil), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	w.store.pass(testGrace)
	young := w.segment(p, 90, "ls", Absent)

	before := w.keys()
	r := mustRun(t, w.sweeper(func(c *Config) { c.DryRun = true }))
	if !slices.Equal(before, w.keys()) || r.Removed+r.GivenUp > 0 || r.Orphans != 5 || w.meta.states[started.SegmentID] != Started {
		t.Fatalf("a dry run changed something: %+v", r)
	}
	s := w.sweeper()
	r = mustRun(t, s)
	for name, c := range map[string]struct {
		id   stored.Identity
		want string
	}{
		"alive": {alive, "ls"}, "deleting": {deleting, ""}, "orphan": {orphan, ""}, "half": {half, ""}, "half beyond": {beyondHalf, ""}, "beyond": {beyond, "ls"},
		"started": {started, "ls"}, "copying": {copying, "l"}, "pending": {pending, "ls"}, "held": {held, "ls"}, "dark": {dark, "ls"},
		"foreign": {foreign, "ls"}, "without metadata": {alone, "ls"}, "young": {young, "ls"},
	} {
		if got := w.stores(c.id); got != c.want {
			t.Errorf("%s: %q is left, want %q", name, got, c.want)
		}
	}
	if !slices.Contains(w.keys(), strange) {
		t.Error("an object that is not ours is gone")
	}
	want := map[Reason]int{Alive: 1, Undeleted: 1, Orphan: 3, Beyond: 2, Abandoned: 1, Copying: 1, Pending: 1, Held: 1, NotKnown: 1, NotLed: 1, Young: 1, UnknownKey: 1}
	if fmt.Sprint(r.Reasons) != fmt.Sprint(want) || r.Removed != 6 || r.GivenUp != 1 || w.meta.states[started.SegmentID] != Deleting {
		t.Errorf("%+v\nwant reasons %v", r, want)
	}
	w.held = nil // the table has its rows now
	mustRun(t, s)
	if w.stores(held) != "" {
		t.Error("a segment that is not held any more stays")
	}
	if w.stores(started) != "" {
		t.Error("a copy that was given up stays, though Kafka does not come back to it")
	}
}

// TestManyOrphansLookLikeLostMetadata: nothing is removed above the limit, and everything at it.
func TestManyOrphansLookLikeLostMetadata(t *testing.T) {
	for _, n := range []int{5, 6} {
		w := newWorld()
		p := place{topic(1), 0}
		w.segment(p, 1000, "ls", Finished)
		for i := range n {
			w.segment(p, int64(10*i), "ls", Absent)
		}
		w.store.pass(testGrace)
		r := mustRun(t, w.sweeper(func(c *Config) { c.Most = 5 }))
		if left := len(w.keys()); n == 5 && left != 2 || n == 6 && (left != 14 || r.Reasons[TooMany] != 6 || r.Orphans != 0) {
			t.Errorf("%d orphans: %d objects are left, %+v", n, left, r)
		}
	}
}

func TestDeletedTopicsGoAtTheSecondLook(t *testing.T) {
	w := newWorld()
	p, q := place{topic(1), 0}, place{topic(2), 0}
	for i := range 250 { // more than one batch, and more than sweep.partition.max
		w.segment(p, int64(10*i), "ls", Absent)
	}
	stays := w.segment(q, 0, "ls", Finished)
	w.store.pass(10 * testGrace)
	w.meta.deleted[p.topicID] = true
	s := w.sweeper()
	mustRun(t, s)
	w.store.pass(testGrace - time.Second)
	mustRun(t, s)
	if n := len(w.keys()); n != 502 {
		t.Fatalf("%d objects before the topic was missing for the grace time", n)
	}
	again := w.sweeper()
	again.Remember(s.Missing())
	w.store.pass(time.Second)

	mark := key.Cluster("cluster/2")
	if _, err := w.store.Put(context.Background(), mark, bytes.NewReader(nil), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if r := mustRun(t, again); len(w.keys()) != 503 || !slices.Equal(r.Foreign, []string{"cluster/2"}) {
		t.Fatalf("with the mark of another cluster %d objects are left, %+v", len(w.keys()), r)
	}
	if err := w.store.Delete(context.Background(), mark); err != nil {
		t.Fatal(err)
	}
	w.meta.deleted[p.topicID] = false // the cluster answers again as it should
	w.meta.leads = func(p place) bool { return p.topicID != topic(1) }
	mustRun(t, again)
	if len(again.Missing()) != 0 || len(w.keys()) != 502 {
		t.Fatalf("a topic that is there again counts as missing: %v", again.Missing())
	}
	w.meta.deleted[p.topicID] = true
	mustRun(t, again)
	w.store.pass(testGrace)
	mustRun(t, again)
	if w.stores(stays) != "ls" || len(w.keys()) != 2 {
		t.Errorf("%d objects are left", len(w.keys()))
	}
}

// TestNotKnownIsKept: whatever fails, nothing is removed.
func TestNotKnownIsKept(t *testing.T) {
	w := newWorld()
	for n := range byte(5) {
		w.segment(place{topic(n + 1), 0}, 0, "l", Absent)
	}
	w.store.pass(testGrace)
	w.meta.fails = status.Errorf(status.Transient, "not loaded")
	r, err := w.sweeper().Run(context.Background())
	if len(w.keys()) != 5 || !status.Is(err, status.Transient) || r.Failed != failuresInARow || !strings.Contains(r.FirstError, "not loaded") {
		t.Errorf("%v, %+v", err, r)
	}
	w.meta.fails = nil
	w.deps.Cluster = func() string { return "" }
	if _, err := w.sweeper().Run(context.Background()); err == nil || len(w.keys()) != 5 {
		t.Errorf("a sweep of an unknown cluster: %v", err)
	}
}

// changing is a metadata manager that answers differently the second time.
type changing struct {
	*meta
	first Answer
	calls int
}

func (c *changing) States(ctx context.Context, topicID [16]byte, partition int32, ids [][16]byte) (Answer, error) {
	if c.calls++; c.calls == 1 {
		return c.first, nil
	}
	return c.meta.States(ctx, topicID, partition, ids)
}

func TestTheMetadataIsAskedAgainBeforeTheDelete(t *testing.T) {
	w := newWorld()
	id := w.segment(place{topic(1), 0}, 0, "ls", Finished)
	w.store.pass(testGrace)
	truth := &changing{meta: w.meta, first: Answer{States: []State{Absent}, End: 100}}
	w.deps.Truth = truth
	r := mustRun(t, w.sweeper())
	if w.stores(id) != "ls" || truth.calls != 2 || r.Reasons[Alive] != 1 {
		t.Errorf("%d questions, %+v", truth.calls, r)
	}
}

// uploads is a store with unfinished uploads.
type uploads struct {
	open    []objectstore.Upload
	aborted []string
	denied  error // to a listing
	locked  error // to an abort
}

func (u *uploads) ListUploads(_ context.Context, _ string, most int) ([]objectstore.Upload, bool, error) {
	if u.denied != nil {
		return nil, false, u.denied
	}
	n := min(most, len(u.open))
	return slices.Clone(u.open[:n]), n < len(u.open), nil
}

func (u *uploads) AbortUpload(_ context.Context, _, id string) error {
	if u.locked != nil {
		return u.locked
	}
	n := slices.IndexFunc(u.open, func(o objectstore.Upload) bool { return o.ID == id })
	if n < 0 {
		return errors.New("no such upload")
	}
	u.open = slices.Delete(u.open, n, n+1)
	u.aborted = append(u.aborted, id)
	return nil
}

func TestUploadsOfNobodyAreAborted(t *testing.T) {
	w := newWorld()
	w.meta.leads = func(p place) bool { return p.partition == 0 }
	u := &uploads{}
	add := func(id, k string, age time.Duration) {
		u.open = append(u.open, objectstore.Upload{Key: k, ID: id, Started: w.store.now.Add(-age)})
	}
	seg := func(partition int32, n byte) string {
		log, _ := key.Segment(topic(1), partition, 0, [16]byte{n, 9})
		return log
	}
	w.copying[[16]byte{2, 9}] = true
	add("old", seg(0, 1), testGrace)
	add("copying", seg(0, 2), testGrace)
	add("young", seg(0, 3), testGrace-time.Second)
	add("foreign", seg(1, 4), testGrace)
	add("table", "tables/x/data/1.parquet", testGrace)
	add("strange", "backup/of/something", 100*testGrace)
	for n := range 2 * uploadsAtOnce {
		add(fmt.Sprint("many", n), seg(0, 5), 2*testGrace)
	}
	w.deps.Uploads = u
	r := mustRun(t, w.sweeper(func(c *Config) { c.DryRun = true }))
	if len(u.aborted) > 0 || r.OldUploads < 2 {
		t.Fatalf("a dry run aborted %v, %+v", u.aborted, r)
	}
	r = mustRun(t, w.sweeper())
	left := []string{}
	for _, o := range u.open {
		left = append(left, o.ID)
	}
	if !slices.Equal(left, []string{"copying", "young", "foreign", "strange"}) || r.Aborted != 2*uploadsAtOnce+2 {
		t.Errorf("left: %v, aborted %d", left, r.Aborted)
	}
}

// TestUploadsThatMayNotBeTouchedSpoilNoSweep: a right that is not granted is told, and segments are swept.
func TestUploadsThatMayNotBeTouchedSpoilNoSweep(t *testing.T) {
	for name, u := range map[string]*uploads{
		"denied":  {denied: status.Errorf(status.Invalid, "AccessDenied")},
		"no such": {denied: status.Errorf(status.Unsupported, "NotImplemented")},
		"locked":  {locked: status.Errorf(status.Invalid, "AccessDenied")},
	} {
		w := newWorld()
		log := &bytes.Buffer{}
		w.deps.Log = slog.New(slog.NewTextHandler(log, nil))
		p := place{topic(1), 0}
		w.segment(p, 100, "ls", Finished)
		orphan := w.segment(p, 0, "ls", Absent)
		u.open = []objectstore.Upload{{Key: "tables/x/data/1.parquet", ID: "old", Started: w.store.now}}
		w.deps.Uploads = u
		w.store.pass(testGrace)
		r := mustRun(t, w.sweeper())
		if !status.Is(r.UploadsError, status.Of(cmp.Or(u.denied, u.locked))) || w.stores(orphan) != "" || !strings.Contains(log.String(), "sweep.uploads.failed") {
			t.Errorf("%s: %+v, log:\n%s", name, r, log)
		}
		for series, want := range map[string]float64{"sweep_uploads_errors_total": 1, "sweep_orphan_segments": 1, "sweep_runs_total{outcome=ok}": 1} {
			if got := w.series(t, series); got != want {
				t.Errorf("%s: %s is %v, want %v", name, series, got, want)
			}
		}
		if w.series(t, "sweep_last_success_timestamp_seconds") == 0 {
			t.Errorf("%s: the sweep does not count", name)
		}
	}
}

// TestUploadsOfADeletedTopicWaitLikeItsSegments: also those of a topic that has nothing else in the store.
func TestUploadsOfADeletedTopicWaitLikeItsSegments(t *testing.T) {
	w := newWorld()
	w.segment(place{topic(1), 0}, 0, "ls", Finished)
	w.meta.deleted[topic(1)], w.meta.deleted[topic(2)] = true, true
	u := &uploads{}
	for n := range byte(2) {
		k, _ := key.Segment(topic(n+1), 0, 10, [16]byte{n, 9})
		u.open = append(u.open, objectstore.Upload{Key: k, ID: fmt.Sprint(n), Started: w.store.now})
	}
	w.deps.Uploads = u
	w.store.pass(10 * testGrace)
	s := w.sweeper()
	for range 2 {
		if r := mustRun(t, s); len(u.aborted) > 0 || r.OldUploads > 0 {
			t.Fatalf("aborted %v before the topics were missing for the grace time", u.aborted)
		}
		w.store.pass(testGrace / 2)
	}
	mark := key.Cluster("cluster/2")
	if _, err := w.store.Put(context.Background(), mark, bytes.NewReader(nil), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if mustRun(t, s); len(u.aborted) > 0 {
		t.Fatalf("aborted %v beside another cluster", u.aborted)
	}
	if err := w.store.Delete(context.Background(), mark); err != nil {
		t.Fatal(err)
	}
	if r := mustRun(t, s); len(u.open) > 0 || r.Aborted != 2 {
		t.Errorf("left: %v, %+v", u.open, r)
	}
}
