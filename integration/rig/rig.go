package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/integration/cluster"
	"tidemark/integration/objectserver"
)

// Rig is one scenario: a cluster, its REST endpoint, the tools around it.
type Rig struct {
	*testing.T
	Ctx     context.Context
	Cluster *cluster.Cluster
	rest    string               // host:port of the first broker's HTTP listener
	S3      *objectserver.Server // where the store is, if it is not a directory
	cli     string
	started time.Time
	asking  *kadm.Client // made when first used
}

// Built is a file that make dist makes.
func Built(t *testing.T, pattern string) string {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	matches, _ := filepath.Glob(filepath.Join(root, pattern))
	if len(matches) == 0 {
		t.Fatalf("%s is missing: run make dist", pattern)
	}
	return matches[len(matches)-1]
}

// Start starts a cluster for a scenario.
func Start(t *testing.T, o cluster.Options) *Rig {
	t.Helper()
	w := Prepare(t, o)
	if err := w.Cluster.StartAll(w.Ctx); err != nil {
		t.Fatal(err)
	}
	return w
}

// Prepare lays out a cluster for a scenario that may take eight minutes.
func Prepare(t *testing.T, o cluster.Options) *Rig {
	t.Helper()
	return PrepareFor(t, o, 8*time.Minute)
}

// PrepareFor lays out a cluster for a scenario that may take d.
func PrepareFor(t *testing.T, o cluster.Options, d time.Duration) *Rig {
	t.Helper()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Map(func(r rune) rune { // no character that class paths or lists of directories give a meaning
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, t.Name())
	o.Dir = filepath.Join(root, "build", "scenario", name)
	if err := os.RemoveAll(o.Dir); err != nil {
		t.Fatal(err)
	}
	if o.Jar == "" {
		o.Jar = Built(t, "build/dist/tidemark-*.jar")
	}
	ports, err := cluster.FreePorts(max(o.Nodes, 1))
	if err != nil {
		t.Fatal(err)
	}
	if o.Properties == nil {
		o.Properties = map[string]string{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	w := &Rig{T: t, Ctx: ctx, cli: Built(t, "build/native/tidemark"), rest: fmt.Sprintf("127.0.0.1:%d", ports[0]), started: time.Now()}
	if o.Tables && o.Nodes <= 1 {
		o.Properties["rsm.config.http.listener"] = w.rest
	}
	if w.Cluster, err = cluster.Prepare(o); err != nil {
		t.Fatal(err)
	}
	for i, n := range w.Cluster.Nodes {
		if o.Tables && o.Nodes > 1 {
			if err := n.WriteProperties(map[string]string{"rsm.config.http.listener": fmt.Sprintf("127.0.0.1:%d", ports[i])}); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() {
		w.Cluster.Stop()
		if t.Failed() {
			for _, n := range w.Cluster.Nodes {
				t.Logf("what broker %d said (%s):\n%s", n.ID, n.LogFile(), telling(n.Log()))
			}
			return
		}
		if os.Getenv("SCENARIO_KEEP") == "" {
			_ = os.RemoveAll(o.Dir)
		}
	})
	return w
}

// S3Properties are the settings of a broker whose store is a server, reached at an endpoint: the server's own, or one before it.
func S3Properties(server *objectserver.Server, endpoint string) map[string]string {
	properties := map[string]string{"rsm.config.store.path": ""}
	for k, v := range map[string]string{"type": "s3", "s3.bucket": server.Bucket, "s3.endpoint": endpoint, "s3.region": objectserver.Region,
		"s3.path.style": "true", "s3.credentials": "static", "s3.access.key": server.AccessKey, "s3.secret.key": server.SecretKey} {
		properties["rsm.config.store."+k] = v
	}
	return properties
}

// telling is the last lines of a broker's log that say something about Tidemark or trouble.
func telling(log string) string {
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "(org.apache.kafka.clients.NetworkClient)") || strings.Contains(line, "RejectedExecution") || strings.HasPrefix(line, "\t") {
			continue // a broker that stops
		}
		if strings.Contains(line, "io.tidemark") || strings.Contains(line, "] WARN") || strings.Contains(line, "] ERROR") || strings.Contains(line, "Exception") {
			lines = append(lines, line[:min(len(line), 400)])
		}
	}
	return strings.Join(lines[max(0, len(lines)-30):], "")
}

// Took notes how long a step was.
func (w *Rig) Took(step string, from time.Time) {
	w.Helper()
	w.Logf("%.1f s: %s, after %.1f s", time.Since(w.started).Seconds(), step, time.Since(from).Seconds())
}

// Done prints the line make test shows for a scenario.
func (w *Rig) Done(format string, args ...any) {
	w.Helper()
	w.Logf("SCENARIO %s: %s (%.0f s)", w.Name(), fmt.Sprintf(format, args...), time.Since(w.started).Seconds())
}

func (w *Rig) Client(opts ...kgo.Opt) *kgo.Client {
	w.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(w.Cluster.Bootstrap(), ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(cl.Close)
	return cl
}

// Admin asks the brokers and changes topics.
func (w *Rig) Admin() *kadm.Client {
	if w.asking == nil {
		w.asking = kadm.NewClient(w.Client(kgo.MetadataMinAge(100 * time.Millisecond)))
	}
	return w.asking
}

// Topic creates a tiered topic of small segments. An empty value leaves a setting to the brokers.
func (w *Rig) Topic(name string, partitions int32, configs map[string]string) {
	w.Helper()
	all := map[string]*string{}
	set := func(k, v string) { all[k] = &v }
	set("remote.storage.enable", "true")
	set("segment.bytes", "1048576")
	set("local.retention.ms", "3600000")
	set("retention.ms", "-1")
	for k, v := range configs {
		set(k, v)
		if v == "" {
			delete(all, k)
		}
	}
	replicas := int16(min(len(w.Cluster.Nodes), 3))
	w.Eventually(time.Minute, func() error {
		_, err := w.Admin().CreateTopic(w.Ctx, partitions, replicas, all, name)
		return err
	})
}

func (w *Rig) Alter(topic, key, value string) {
	w.Helper()
	_, err := w.Admin().AlterTopicConfigs(w.Ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: key, Value: &value}}, topic)
	if err != nil {
		w.Fatal(err)
	}
}

// Eventually calls f until it returns nil.
func (w *Rig) Eventually(d time.Duration, f func() error) {
	w.Helper()
	deadline := time.Now().Add(d)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) || w.Ctx.Err() != nil {
			w.Fatalf("not in %s: %v", d, err)
		}
		select {
		case <-w.Ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// local is the bytes of a topic's log files on all brokers' disks.
func (w *Rig) local(topic string) (left int64) {
	for _, n := range w.Cluster.Nodes {
		for _, dir := range n.LogDirs {
			matches, _ := filepath.Glob(filepath.Join(dir, topic+"-*", "*.log*"))
			for _, m := range matches {
				if info, err := os.Stat(m); err == nil {
					left += info.Size()
				}
			}
		}
	}
	return left
}

// TierAll makes everything leave the local disks and waits for it.
func (w *Rig) TierAll(topic string) {
	w.Helper()
	defer w.Took("everything of "+topic+" left the local disks", time.Now())
	w.Alter(topic, "local.retention.ms", "1")
	w.Eventually(3*time.Minute, func() error {
		if left := w.local(topic); left > 0 {
			return fmt.Errorf("%d bytes of %s are still on local disk", left, topic)
		}
		return nil
	})
}

// Tidemark runs the operator's command and returns its output.
func (w *Rig) Tidemark(args ...string) (string, error) {
	args = append(args, "--bootstrap-server", w.Cluster.Bootstrap(), "--config", w.Cluster.Nodes[0].PropertiesFile())
	cmd := exec.CommandContext(w.Ctx, w.cli, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil {
		err = fmt.Errorf("tidemark %s: %w: %s%s", strings.Join(args[:min(2, len(args))], " "), err, errs.String(), out.String())
	}
	return out.String(), err
}

// CreateTable makes a topic a table; it waits for the brokers' tables to be ready.
func (w *Rig) CreateTable(topic string, more ...string) {
	w.Helper()
	w.Eventually(time.Minute, func() error {
		_, err := w.Tidemark(append([]string{"table", "create", "--topic", topic}, more...)...)
		return err
	})
}

// shown is what table show prints.
type shown struct {
	Event      string
	Partitions []struct {
		Partition  int32
		Next       int64
		LastStable int64
	}
}

func (w *Rig) Show(topic string) (s shown, err error) {
	out, err := w.Tidemark("table", "show", topic, "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	return s, err
}

// Covered waits until the table covers everything below the last stable offset.
func (w *Rig) Covered(topic string) {
	w.Helper()
	defer w.Took("the table covers "+topic, time.Now())
	w.Eventually(3*time.Minute, func() error {
		s, err := w.Show(topic)
		if err != nil {
			return err
		}
		if len(s.Partitions) == 0 {
			return fmt.Errorf("the table shows no partitions (%s)", s.Event)
		}
		for _, p := range s.Partitions {
			if p.Next < p.LastStable {
				return fmt.Errorf("partition %d: the table covers up to %d, the log ends at %d", p.Partition, p.Next, p.LastStable)
			}
		}
		return nil
	})
}

// Verify runs tidemark verify against the topic.
func (w *Rig) Verify(topic string) {
	w.Helper()
	if out, err := w.Tidemark("verify", topic); err != nil {
		w.Errorf("%v\n%s", err, out)
	}
}

// TableRows are the rows of a table as an outside reader sees them.
type TableRows struct {
	Rows        [][3]any
	Quarantined [][3]any
}

// Rows reads a table and its quarantine with DuckDB through the REST endpoint.
func (w *Rig) Rows(table, value string) TableRows {
	w.Helper()
	root, err := cluster.Root()
	if err != nil {
		w.Fatal(err)
	}
	python := filepath.Join(cluster.CacheDir(), "venv", "bin", "python")
	args := []string{filepath.Join(root, "integration", "verify", "rows.py"),
		"--uri", "http://" + w.rest + "/iceberg", "--table", "kafka." + table, "--value", value}
	if w.S3 != nil {
		args = append(args, "--s3-endpoint", w.S3.Endpoint, "--s3-key", w.S3.AccessKey, "--s3-secret", w.S3.SecretKey)
	}
	cmd := exec.CommandContext(w.Ctx, python, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		w.Fatalf("DuckDB (make tools installs it): %v\n%s", err, errs.String())
	}
	var r TableRows
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		w.Fatalf("%v in %.200s", err, out.String())
	}
	return r
}

// Record is the identity of a record and its value.
type Record struct {
	Partition int32
	Offset    int64
	value     string
}

func (r Record) before(other Record) bool {
	return r.Partition < other.Partition || r.Partition == other.Partition && r.Offset < other.Offset
}

// SameRows fails unless the table holds exactly the wanted records, each once.
func (w *Rig) SameRows(got TableRows, want []Record) {
	w.Helper()
	if len(got.Rows) != len(want) {
		w.Errorf("the table has %d rows, %d are wanted", len(got.Rows), len(want))
	}
	rows := map[[2]int64]string{}
	for _, r := range got.Rows {
		id := [2]int64{int64(r[0].(float64)), int64(r[1].(float64))}
		if _, twice := rows[id]; twice {
			w.Fatalf("partition %d offset %d is in the table twice", id[0], id[1])
		}
		value, _ := r[2].(string)
		rows[id] = value
	}
	for _, r := range want {
		value, ok := rows[[2]int64{int64(r.Partition), r.Offset}]
		if !ok {
			w.Fatalf("partition %d offset %d is not in the table", r.Partition, r.Offset)
		}
		if value != r.value {
			w.Fatalf("partition %d offset %d is %.60q in the table, produced was %.60q", r.Partition, r.Offset, value, r.value)
		}
	}
}
