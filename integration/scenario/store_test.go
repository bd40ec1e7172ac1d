package scenario

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/integration/cluster"
	"tidemark/integration/objectserver"
	"tidemark/integration/rig"
)

// outage makes a store unusable and usable again.
type outage struct {
	down, up func() error
}

// dirOutage puts a symbolic link to itself where each directory of a file store was: whoever writes, reads or removes below fails, as root
// too. A file in its place would not do: below it nothing is, and so a removal would succeed.
func dirOutage(dir string) outage {
	away := dir + ".away"
	return outage{
		down: func() error {
			entries, err := os.ReadDir(dir)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(away, 0o755); err != nil {
				return err
			}
			for _, e := range entries {
				if err := os.Rename(filepath.Join(dir, e.Name()), filepath.Join(away, e.Name())); err != nil {
					return err
				}
				if err := os.Symlink(e.Name(), filepath.Join(dir, e.Name())); err != nil {
					return err
				}
			}
			return nil
		},
		up: func() error {
			entries, err := os.ReadDir(away)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
					return err
				}
				if err := os.Rename(filepath.Join(away, e.Name()), filepath.Join(dir, e.Name())); err != nil {
					return err
				}
			}
			return os.Remove(away)
		},
	}
}

// TestFileStoreDown: while the file store cannot be used the broker takes and serves records; afterwards everything is tiered and a
// row, without anybody's doing.
func TestFileStoreDown(t *testing.T) {
	w := start(t, cluster.Options{Version: "4.4.0", Tables: true, JVMArgs: quick})
	w.storeDown(dirOutage(w.StoreDir()))
}

// TestS3Down is the same with a server.
func TestS3Down(t *testing.T) {
	w, server := prepareS3(t, "4.4.0")
	if err := w.Cluster.StartAll(w.Ctx); err != nil {
		t.Fatal(err)
	}
	defer w.saidOnce()
	w.storeDown(outage{
		down: func() error { server.Stop(); return nil },
		up:   func() error { return server.Restart(w.Ctx) },
	})
}

// prepareS3 lays out a broker on an S3 server.
func prepareS3(t *testing.T, version string) (*world, *objectserver.Server) {
	t.Helper()
	server, err := objectserver.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	w := prepare(t, cluster.Options{Version: version, Tables: true, JVMArgs: quick, Properties: rig.S3Properties(server, server.Endpoint)})
	w.S3 = server
	return w, server
}

func (w *world) storeDown(store outage) {
	const topic = "outage"
	s, cl := rig.NewSeeded(5), w.Client()
	w.Topic(topic, 1, nil)
	w.CreateTable(topic)
	all := w.Fill(cl, s, topic, 0, 2500<<10)
	w.Eventually(time.Minute, func() error {
		shown, err := w.Show(topic)
		if err == nil && (len(shown.Partitions) == 0 || shown.Partitions[0].Next == 0) {
			return fmt.Errorf("the table has no row yet (%s)", shown.Event)
		}
		return err
	})
	if err := store.down(); err != nil {
		w.Fatal(err)
	}
	from := len(w.Cluster.Nodes[0].Log())
	all = append(all, w.Fill(cl, s, topic, 0, 3<<20)...)
	w.InLog(w.Consume(topic), all) // served from local disk
	w.Eventually(time.Minute, func() error {
		if log := w.Cluster.Nodes[0].Log()[from:]; !strings.Contains(log, "Error occurred while copying log segments") && !strings.Contains(log, "RemoteStorageException") {
			return fmt.Errorf("the broker has not noticed that the store is down")
		}
		return nil
	})
	all = append(all, w.Fill(cl, s, topic, 0, 1<<20)...)
	if !w.Cluster.Nodes[0].Alive() {
		w.Fatal("the broker ended")
	}
	if err := store.up(); err != nil {
		w.Fatal(err)
	}
	w.TierAll(topic)
	w.Covered(topic)
	w.InLog(w.Consume(topic), all) // served from the store
	w.SameRows(w.Rows(topic, rig.RawValue), all)
	w.Verify(topic)
	w.Done("produced and served while the store was down; afterwards %d records tiered and rows by themselves", len(all))
}

// TestStoreUnreachableAtStart: the broker starts, says so once, serves, and goes on by itself when the store is there.
func TestStoreUnreachableAtStart(t *testing.T) {
	w := prepare(t, cluster.Options{Version: "4.4.0", Tables: true, JVMArgs: quick})
	if err := os.Mkdir(w.StoreDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	// A file system without room for a file.
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "nr_inodes=1", "tmpfs", w.StoreDir()).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: mount needs more rights than this process has: %v %s", err, out)
	}
	unmount := sync.OnceValue(func() error { return exec.Command("umount", w.StoreDir()).Run() })
	defer func() { _ = unmount() }()
	w.lateStore(unmount)
}

// TestS3UnreachableAtStart is the same with a server.
func TestS3UnreachableAtStart(t *testing.T) {
	w, server := prepareS3(t, "4.4.0")
	server.Stop()
	w.lateStore(func() error { return server.Restart(w.Ctx) })
}

func (w *world) lateStore(up func() error) {
	if err := w.Cluster.StartAll(w.Ctx); err != nil {
		w.Fatal(err)
	}
	const topic = "early"
	s, cl := rig.NewSeeded(6), w.Client()
	w.Topic(topic, 1, nil)
	all := w.Fill(cl, s, topic, 0, 2500<<10)
	w.InLog(w.Consume(topic), all)
	w.AwaitLog(0, "store.unreachable", time.Minute)
	w.AwaitLog(0, "Error occurred while copying log segments", time.Minute)
	if err := up(); err != nil {
		w.Fatal(err)
	}
	w.CreateTable(topic)
	w.TierAll(topic)
	w.Covered(topic)
	w.SameRows(w.Rows(topic, rig.RawValue), all)
	w.InLog(w.Consume(topic), all)
	w.saidOnce()
	w.Done("the broker started without its store, said so once, served, and tiered %d records when it was there", len(all))
}

// saidOnce fails unless the broker has said once that the store is down and once that it is back.
func (w *world) saidOnce() {
	w.Helper()
	log := w.Cluster.Nodes[0].Log()
	if down, up := strings.Count(log, "store.unreachable"), strings.Count(log, "store.reachable"); down != 1 || up != 1 {
		w.Errorf("store.unreachable was logged %d times and store.reachable %d times; once each is wanted", down, up)
	}
}

// flip changes one byte of a file; the function it returns changes it back.
func (w *world) flip(name string, at int) func() {
	w.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		w.Fatal(err)
	}
	if at < 0 {
		at += int(info.Size())
	}
	var b [1]byte
	if _, err := f.ReadAt(b[:], int64(at)); err != nil {
		w.Fatal(err)
	}
	b[0] ^= 0x40
	if _, err := f.WriteAt(b[:], int64(at)); err != nil {
		w.Fatal(err)
	}
	return func() { w.flip(name, at) }
}

// TestDamage: damaged objects are errors that name them; what is whole is served, and nothing is skipped silently.
func TestDamage(t *testing.T) {
	w := start(t, cluster.Options{Version: "4.4.0", Tables: true, JVMArgs: quick})
	const topic = "damaged"
	s := rig.NewSeeded(7)
	w.Topic(topic, 2, nil)
	w.CreateTable(topic)
	_, id := w.TopicID(topic)
	all := w.write2(s, topic, 3<<20)
	files := w.Save(topic)
	w.TierAll(topic)
	w.Covered(topic)
	w.SameRows(w.Rows(topic, rig.RawValue), all)
	w.Verify(topic)

	var first, second rig.StoredSegment // of partition 0
	for _, seg := range w.Stored(id) {
		if seg.Partition == 0 && seg.Base == 0 {
			first = seg
		} else if seg.Partition == 0 && second.Log == "" {
			second = seg
		}
	}
	// A broker that has just started has nothing in its caches.
	w.Cluster.Nodes[0].Stop(time.Minute)
	size := len(files[0][1].Data)
	mendLog, mendSidecar := w.flip(second.Log, size/2), w.flip(first.Sidecar(), 100)
	if err := w.Cluster.Nodes[0].Start(w.Ctx); err != nil {
		t.Fatal(err)
	}
	if d := rig.Different(w.FetchAll(topic, 1), files.Whole(1)); d != "" {
		t.Errorf("the other partition is affected: %s", d)
	}
	w.noRead(topic, 0, filepath.Base(first.Sidecar()))
	w.names(topic, first.Sidecar())
	mendSidecar()
	w.noGap(topic, files, second)
	w.names(topic, second.Log, "--data")
	mendLog()
	if d := rig.Different(w.FetchAll(topic, 0), files.Whole(0)); d != "" {
		t.Errorf("after the repair: %s", d)
	}
	w.damagedTable(topic, id)
	w.Done("damaged log object, sidecar, Parquet and metadata files: an error that names each, the rest served, no gap")
}

// noRead fails unless reading a partition from an offset fails and the broker's log names the object.
func (w *world) noRead(topic string, offset int64, object string) {
	w.Helper()
	cl := w.Client()
	w.Eventually(30*time.Second, func() error {
		raw, _, err := w.FetchOnce(cl, topic, 0, offset)
		if len(raw) > 0 {
			w.Fatalf("a read at offset %d got %d bytes although %s is damaged", offset, len(raw), object)
		}
		if log := w.Cluster.Nodes[0].LifeLog(); !strings.Contains(log, object) {
			return fmt.Errorf("the broker's log does not name %s (the fetch: %v)", object, err)
		}
		return nil
	})
}

// noGap reads partition 0 with a plain consumer's requests: all that comes before the damaged segment is right, and nothing after it comes.
func (w *world) noGap(topic string, files rig.Saved, damaged rig.StoredSegment) {
	w.Helper()
	cl := w.Client()
	var got []byte
	at := int64(0)
	w.Eventually(30*time.Second, func() error {
		raw, next, err := w.FetchOnce(cl, topic, 0, at)
		got, at = append(got, raw...), next
		if !strings.HasPrefix(string(files.Whole(0)), string(got)) {
			w.Fatalf("what was read up to offset %d is not what was written: %s", at, rig.Different(got, files.Whole(0)))
		}
		if log := w.Cluster.Nodes[0].LifeLog(); !strings.Contains(log, filepath.Base(damaged.Log)) {
			return fmt.Errorf("the broker's log does not name %s (at offset %d, the fetch: %v)", filepath.Base(damaged.Log), at, err)
		}
		return nil
	})
	if before := files[0][0]; len(got) < len(before.Data) {
		w.noFurther(cl, topic, at, damaged)
	}
	w.noRead(topic, at, filepath.Base(damaged.Log))
}

// noFurther reads what is whole before the damaged segment.
func (w *world) noFurther(cl *kgo.Client, topic string, at int64, damaged rig.StoredSegment) {
	w.Helper()
	w.Eventually(30*time.Second, func() error {
		_, next, err := w.FetchOnce(cl, topic, 0, at)
		at = next
		if at < damaged.Base {
			return fmt.Errorf("offset %d of the whole segment before offset %d cannot be read: %v", at, damaged.Base, err)
		}
		return nil
	})
}

// damagedTable damages files of the table one after the other; verify has to name each.
func (w *world) damagedTable(topic, id string) {
	w.Helper()
	newest := func(pattern string) string {
		found, _ := filepath.Glob(filepath.Join(w.StoreDir(), pattern))
		var best string
		var when time.Time
		for _, name := range found {
			if info, err := os.Stat(name); err == nil && !info.ModTime().Before(when) {
				best, when = name, info.ModTime()
			}
		}
		if best == "" {
			w.Fatalf("no file %s in the store", pattern)
		}
		return best
	}
	main := filepath.Join("tables", id, "main", "*")
	file := newest(filepath.Join(main, "data", "*", "*", "*.parquet"))
	for _, c := range []struct {
		name string
		at   int
		more []string
	}{
		{file, -6, nil},
		{file, 5000, []string{"--data"}}, // in a page
		{newest(filepath.Join(main, "metadata", "*.metadata.json*")), 10, nil},
		{newest(filepath.Join(main, "metadata", "snap-*.avro")), 20, nil},
		{newest(filepath.Join(main, "metadata", "*-m*.avro")), 20, nil},
		{newest(filepath.Join("catalog", "groups", id, "claims", "*", "*")), 20, nil},
	} {
		mend := w.flip(c.name, c.at)
		w.names(topic, c.name, c.more...)
		mend()
	}
	if out, err := w.Tidemark("verify", topic, "--data"); err != nil {
		w.Errorf("after the repair: %v\n%s", err, out)
	}
}

// names fails unless verify fails and names a file.
func (w *world) names(topic, file string, more ...string) {
	w.Helper()
	out, err := w.Tidemark(append([]string{"verify", topic}, more...)...)
	if err == nil || !strings.Contains(err.Error()+out, filepath.Base(file)) {
		w.Errorf("verify %v does not name the damaged %s: %v\n%s", more, file, err, out)
	}
}
