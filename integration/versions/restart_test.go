package versions

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

// TestRestartWithManySegments: a hundred thousand segments are known when a broker starts. The metadata manager is Kafka's; ours is made to add
// nothing to it: no record in its topic, and no segment is missing. What loading the list costs, in a JVM of its own by Kafka's class and by ours
// in turn, and how long the broker takes to start with either, is in the table.
func TestRestartWithManySegments(t *testing.T) {
	each(t, "restart with 100 000 segments", ends[1:], func(t *testing.T, version string) string { return newListed(t, version).restarts() })
}

const (
	listed, listedPartitions, listedSegments = "listed", 20, 5000 // of each partition
	stockManager                             = "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"
	ourManager                               = "io.tidemark.kafka.TidemarkRemoteLogMetadataManager"
)

type listedSegmentsOf struct {
	*rig.Rig
	classPath string
	id        string
}

func newListed(t *testing.T, version string) *listedSegmentsOf {
	t.Helper()
	l := &listedSegmentsOf{Rig: rig.PrepareFor(t, cluster.Options{Version: version, Tables: true, Heap: "1g", JVMArgs: quick}, 10*time.Minute)}
	if err := l.Cluster.StartAll(l.Ctx); err != nil {
		t.Fatal(err)
	}
	l.Topic(listed, listedPartitions, nil)
	_, l.id = l.TopicID(listed)
	libs, err := cluster.Fetch(version)
	if err != nil {
		t.Fatal(err)
	}
	classes := t.TempDir()
	l.java("javac", "-Xlint:all,-classfile", "-Werror", "--release", "17", "-proc:none", "-d", classes, "-cp", libs+"/*", "testdata/Segments.java")
	l.classPath = classes + ":" + libs + "/*:" + rig.Built(t, "build/dist/tidemark-*.jar")
	l.AwaitLog(0, "Initialized topic-based RLMM resources successfully", time.Minute)
	l.segments("fill")
	return l
}

// java runs a tool of the JDK to its end.
func (l *listedSegmentsOf) java(name string, args ...string) string {
	l.Helper()
	cmd := exec.CommandContext(l.Ctx, name, args...)
	cmd.Env = append(os.Environ(), "GOGC=100")
	out, err := cmd.Output()
	if err != nil {
		var said string
		if e, ok := err.(*exec.ExitError); ok {
			said = string(e.Stderr)
		}
		l.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, said)
	}
	return string(out)
}

func (l *listedSegmentsOf) segments(what string, more ...string) string {
	l.Helper()
	return l.java("java", append(append(slices.Clone(quick), "-Xmx768m", "-cp", l.classPath, "Segments", what, l.Cluster.Bootstrap(), l.id, fmt.Sprint(listedPartitions), fmt.Sprint(listedSegments)), more...)...)
}

// load is the CPU time of a JVM until its metadata manager knows all segments.
func (l *listedSegmentsOf) load(storage, manager string) (took time.Duration) {
	l.Helper()
	var ms int64
	out := l.segments("load", storage, manager, l.TempDir())
	for line := range strings.Lines(out) {
		if _, err := fmt.Sscanf(line, "loaded %d", &ms); err == nil {
			return time.Duration(ms) * time.Millisecond
		}
	}
	l.Fatalf("%s did not say what it took:\n%s", manager, out)
	return 0
}

// records is how many records the metadata topic has.
func (l *listedSegmentsOf) records() (n int64) {
	l.Helper()
	l.Eventually(time.Minute, func() error {
		ends, err := l.Admin().ListEndOffsets(l.Ctx, "__remote_log_metadata")
		if err != nil {
			return err
		}
		n = 0
		for _, p := range ends["__remote_log_metadata"] {
			if p.Err != nil {
				return p.Err
			}
			n += p.Offset
		}
		return nil
	})
	return n
}

func (l *listedSegmentsOf) restarts() string {
	before := l.records()
	if want := int64(2 * listedPartitions * listedSegments); before != want {
		l.Fatalf("the metadata topic has %d records, %d were written", before, want)
	}
	var stock, ours []time.Duration
	for range 3 {
		stock = append(stock, l.load("-", stockManager))
		ours = append(ours, l.load("io.tidemark.kafka.TidemarkRemoteStorageManager", ourManager))
	}
	n, starts := l.Cluster.Nodes[0], map[string]time.Duration{}
	for _, manager := range []string{stockManager, ourManager} {
		if !n.Stop(time.Minute) {
			l.Fatal("the broker did not stop")
		}
		if err := n.SetProperty("remote.log.metadata.manager.class.name", manager); err != nil {
			l.Fatal(err)
		}
		from := time.Now()
		if err := n.Start(l.Ctx); err != nil {
			l.Fatal(err)
		}
		l.Eventually(2*time.Minute, func() error {
			if !strings.Contains(n.LifeLog(), "Initialized topic-based RLMM resources successfully") {
				return fmt.Errorf("%s is not initialized", filepath.Ext(manager))
			}
			return nil
		})
		starts[manager] = time.Since(from)
	}
	if after := l.records(); after != before {
		l.Errorf("the metadata topic has %d records after the restarts, %d before", after, before)
	}
	slices.Sort(stock)
	slices.Sort(ours)
	return fmt.Sprintf("list loaded with %.2f CPU-s by Kafka's class and %.2f by ours (%.2f; least of 3 %.2f and %.2f); broker up in %.1f and %.1f s; no record added to %d",
		stock[1].Seconds(), ours[1].Seconds(), ours[1].Seconds()/stock[1].Seconds(), stock[0].Seconds(), ours[0].Seconds(), starts[stockManager].Seconds(), starts[ourManager].Seconds(), before)
}
