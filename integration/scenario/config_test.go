package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

// TestConfiguration: what is wrong stops the broker with all faults at once, in words.
func TestConfiguration(t *testing.T) {
	w := prepare(t, cluster.Options{Version: "4.4.0", Tables: true, Heap: "256m", JVMArgs: quick})
	own := filepath.Join(w.Cluster.Dir(), "own")
	if err := errors.Join(os.Mkdir(own, 0o755), os.Symlink(rig.Built(t, "build/dist/tidemark-*.jar"), filepath.Join(own, "tidemark.jar"))); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		changes map[string]string
		words   []string // in the one line of the exception and those below it
	}{
		{"unknown and missing", map[string]string{
			"rsm.config.store.pth": "/somewhere", "rsm.config.store.type": "", "rsm.config.copy.paralel": "4", "rsm.config.tables.workers": "many"},
			[]string{"4 faults", "rsm.config.store.pth", "store.path", "rsm.config.store.type is missing", "copy.paralel", "copy.parallel", `rsm.config.tables.workers: "many"`}},
		{"contradictory", map[string]string{
			"rsm.config.store.s3.bucket": "b", "rsm.config.store.path": "relative", "rsm.config.local.dir": "relative", "rsm.config.fetch.cache.bytes": "1",
			"rsm.config.http.listener": "0.0.0.0:1"},
			[]string{"5 faults", "store.s3.bucket", "store.type=s3", "store.path", "absolute", "local.dir", "fetch.cache.bytes", "http.allow.remote"}},
		{"S3 without what it needs", map[string]string{
			"rsm.config.store.type": "s3", "rsm.config.store.s3.credentials": "static", "rsm.config.store.s3.endpoint": "nowhere"},
			[]string{"4 faults", "store.path", "store.s3.bucket", "store.s3.endpoint", "store.s3.access.key"}},
		{"class path of the metadata manager", map[string]string{
			"remote.log.metadata.manager.class.path": filepath.Join(own, "*")},
			[]string{"remote.log.metadata.manager.class.path must be unset", "libs/"}},
	} {
		w.refusedStart(c.name, c.changes, c.words)
	}
	w.badLibraries()
	w.Done("every fault of a configuration in one exception, with the nearest names; libraries that cannot be loaded in one sentence")
}

// quick makes a JVM that lives for seconds start faster.
var quick = []string{"-XX:TieredStopAtLevel=1"}

// refusedStart starts the broker with changed properties and expects it to end with one ConfigException that has all words.
func (w *world) refusedStart(name string, changes map[string]string, words []string) {
	w.Helper()
	n := w.Cluster.Nodes[0]
	if err := n.WriteProperties(changes); err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
	defer cancel()
	if err := n.Start(ctx); err == nil {
		n.Stop(time.Minute)
		w.Errorf("%s: the broker started", name)
		return
	}
	if n.Alive() {
		w.Errorf("%s: the broker neither starts nor ends:\n%s", name, n.LogTail(20))
		n.Kill()
		return
	}
	said := exception(n.LifeLog())
	for _, word := range words {
		if !strings.Contains(said, word) {
			w.Errorf("%s: the exception does not say %q: %s", name, word, said)
		}
	}
}

// exception is the text of the first ConfigException in a log, up to its stack.
func exception(log string) string {
	_, text, found := strings.Cut(log, "ConfigException: ")
	if !found {
		return "(no ConfigException)\n" + log[max(0, len(log)-3000):]
	}
	text, _, _ = strings.Cut(text, "\n\tat ")
	return text
}

// badLibraries starts the broker with libraries that cannot be loaded.
func (w *world) badLibraries() {
	w.Helper()
	broken := filepath.Join(w.Cluster.Dir(), "broken.so")
	if err := os.WriteFile(broken, []byte("this is no library"), 0o755); err != nil {
		w.Fatal(err)
	}
	w.Cluster.SetJVMArgs(append([]string{"-Dtidemark.native.lib=" + broken}, quick...)...)
	w.refusedStart("a corrupted library", nil, []string{broken, "is not a Linux library"})
	noexec := filepath.Join(w.Cluster.Dir(), "noexec")
	if err := os.Mkdir(noexec, 0o755); err != nil {
		w.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "noexec,size=256m", "tmpfs", noexec).CombinedOutput(); err != nil {
		w.Logf("SKIPPED: a file system without execution, mount needs more rights than this process has: %v %s", err, out)
		return
	}
	defer func() { _ = exec.Command("umount", noexec).Run() }()
	w.Cluster.SetJVMArgs(append([]string{"-Dtidemark.native.dir=" + noexec}, quick...)...)
	w.refusedStart("noexec", nil, []string{noexec, "forbids execution (noexec)", "-Dtidemark.native.dir"})
}

// TestClassPath: with a class path of its own the storage manager warns and tiers; with the stock metadata manager there are no tables,
// and the log and the command say why.
func TestClassPath(t *testing.T) {
	w := prepare(t, cluster.Options{Version: "4.4.0", JVMArgs: quick})
	n := w.Cluster.Nodes[0]
	own := filepath.Join(w.Cluster.Dir(), "plugin")
	if err := os.Mkdir(own, 0o755); err != nil {
		t.Fatal(err)
	}
	jars, _ := filepath.Glob(filepath.Join(w.Cluster.Dir(), "libs", "tidemark-*.jar"))
	if len(jars) != 1 {
		t.Fatalf("the jar is not in libs: %v", jars)
	}
	if err := os.Rename(jars[0], filepath.Join(own, filepath.Base(jars[0]))); err != nil {
		t.Fatal(err)
	}
	if err := n.WriteProperties(map[string]string{"remote.log.storage.manager.class.path": filepath.Join(own, "*")}); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(w.Ctx); err != nil {
		t.Fatal(err)
	}
	w.AwaitLog(0, "remote.log.storage.manager.class.path is set: tiering works", time.Minute)
	const topic = "apart"
	w.Topic(topic, 1, nil)
	_, id := w.TopicID(topic)
	w.Fill(w.Client(), rig.NewSeeded(8), topic, 0, 2500<<10)
	files := w.Save(topic)
	w.TierAll(topic)
	segments := w.SameStored(id, files)
	if d := rig.Different(w.FetchAll(topic, 0), files.Whole(0)); d != "" {
		t.Errorf("what Fetch returns differs from the local log: %s", d)
	}
	w.AwaitLog(0, "remote.log.metadata.manager.class.name is not io.tidemark.kafka.TidemarkRemoteLogMetadataManager", time.Minute)
	out, err := w.Tidemark("table", "create", "--topic", topic)
	if err == nil || !strings.Contains(err.Error(), "__tidemark_tables does not exist") {
		t.Errorf("table create on such a broker: %v %s", err, out)
	}
	w.doctor(topic)
	w.Done("class.path gives a warning, %d segments were tiered and read back; log and command say why there are no tables", segments)
}

// doctor runs the command of that name on this broker, which has several faults of the kinds it knows.
func (w *world) doctor(topic string) {
	w.Helper()
	out, err := w.Tidemark("doctor", "--json")
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		w.Errorf("doctor: %v", err)
	}
	var said struct {
		Brokers      int
		TieredTopics int
		Findings     []struct{ Severity, Where, What, Why, Do string }
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		w.Fatalf("doctor --json: %v: %s", err, out)
	}
	if said.Brokers != 1 || said.TieredTopics != 1 {
		w.Errorf("doctor looked at %d brokers and %d tiered topics", said.Brokers, said.TieredTopics)
	}
	for _, want := range [][3]string{
		{"WARN", "broker 1", "remote.log.storage.manager.class.path is set"},
		{"INFO", "broker 1", "remote.log.metadata.manager.class.name is "},
		{"WARN", "broker 1", "remote.fetch.max.wait.ms is 500"},
		{"WARN", "topic " + topic, "segment.bytes is 1048576"},
	} {
		found := false
		for _, f := range said.Findings {
			found = found || f.Severity == want[0] && f.Where == want[1] && strings.HasPrefix(f.What, want[2])
		}
		if !found {
			w.Errorf("doctor does not find %v in %s", want, out)
		}
	}
	for _, f := range said.Findings {
		if f.Severity == "ERROR" {
			w.Errorf("doctor finds what is right: %+v", f)
		}
	}
	if text, _ := w.Tidemark("doctor"); !strings.Contains(text, "why: ") {
		w.Errorf("doctor prints %s", text)
	}
}
