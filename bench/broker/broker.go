package broker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/measure"
	"tidemark/bench/workload"
	"tidemark/integration/cluster"
)

// Options describe a broker.
type Options struct {
	Kafka        string // version
	Plugin       Plugin
	Dir          string // of the broker; emptied first
	Heap         string
	Properties   map[string]string // of the run, for every broker
	PerPartition int32             // bytes of a partition in one fetch of the client
	Codec        kgo.CompressionCodec
	Store        int      // process of the object server, 0 for none
	Nodes        int      // brokers, 0 is one; all but the first only follow
	JVMArgs      []string // further ones
}

// Broker is a running broker.
type Broker struct {
	Options
	Cluster *cluster.Cluster
	Node    *cluster.Node
	Admin   *kadm.Client
	Text    string // server.properties, with DIR for the broker's directory

	close []func()
}

const log4j = `<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="WARN"><Appenders><Console name="out" target="SYSTEM_OUT"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console></Appenders>
<Loggers><Root level="INFO"><AppenderRef ref="out"/></Root></Loggers></Configuration>
`

// Start lays out a fresh broker and waits until it serves. The broker is returned with an error too when its log may say more.
func Start(ctx context.Context, o Options) (*Broker, error) {
	b := &Broker{Options: o}
	c := cluster.Options{Version: o.Kafka, Dir: o.Dir, Heap: o.Heap, Properties: map[string]string{}, Jar: o.Plugin.Jar, Tables: o.Plugin.Jar != "", Nodes: o.Nodes}
	for _, properties := range []map[string]string{o.Plugin.Properties, o.Properties} {
		for k, v := range properties {
			c.Properties[k] = strings.ReplaceAll(v, "{dir}", strings.TrimPrefix(o.Dir, prefixSlash(k)))
		}
	}
	if err := os.RemoveAll(o.Dir); err != nil {
		return b, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return b, err
	}
	// The harness logs Tidemark at DEBUG, for tests; what is measured logs as stock Kafka does.
	logging := filepath.Join(o.Dir, "log4j2-bench.xml")
	if err := os.WriteFile(logging, []byte(log4j), 0o644); err != nil {
		return b, err
	}
	c.JVMArgs = append([]string{"-XX:InitiatingHeapOccupancyPercent=35", "-Dlog4j2.configurationFile=" + logging}, o.JVMArgs...)
	if o.Nodes <= 1 {
		c.JVMArgs = append(c.JVMArgs, "-Xlog:gc:file="+b.GCLog())
	}
	var err error
	if b.Cluster, err = cluster.Start(ctx, c); err != nil {
		return b, err
	}
	b.Node = b.Cluster.Nodes[0]
	properties, err := os.ReadFile(b.Node.PropertiesFile())
	if err != nil {
		return b, err
	}
	b.Text = strings.ReplaceAll(string(properties), o.Dir, "DIR")
	return b, b.Connect(ctx)
}

// GCLog is the garbage collector's log of a single broker.
func (b *Broker) GCLog() string { return filepath.Join(b.Dir, "gc.log") }

// prefixSlash: keys in a bucket do not begin with a slash, directories do.
func prefixSlash(property string) string {
	if strings.HasSuffix(property, ".prefix") {
		return "/"
	}
	return ""
}

// Connect opens the client for administration; the one before, of an earlier process, is closed.
func (b *Broker) Connect(ctx context.Context) error {
	b.Disconnect()
	cl, err := Open(ctx, b.Cluster.Bootstrap())
	if err != nil {
		return err
	}
	b.Admin = kadm.NewClient(cl)
	b.close = append(b.close, cl.Close)
	return nil
}

// Disconnect closes the client for administration.
func (b *Broker) Disconnect() {
	for _, f := range b.close {
		f()
	}
	b.close = nil
}

// Stop ends the broker: by force, unless something failed and its directory stays, for its log.
func (b *Broker) Stop(keep bool) {
	b.Disconnect()
	if b.Cluster == nil {
		return
	}
	if keep {
		b.Cluster.Stop()
		return
	}
	for _, n := range b.Cluster.Nodes {
		n.Kill()
	}
	_ = os.RemoveAll(b.Cluster.Dir())
}

// TopicConfigs are the settings of a topic; with tiered its local data is kept until Empty is called.
func TopicConfigs(tiered bool, segment int64) map[string]*string {
	configs := map[string]*string{}
	set := func(k, v string) { configs[k] = &v }
	set("segment.bytes", strconv.FormatInt(segment, 10))
	set("retention.ms", "-1")
	if tiered {
		set("remote.storage.enable", "true")
		set("local.retention.ms", "3600000")
	}
	return configs
}

// Topic creates a topic. It returns when all partitions answer: a client that comes before waits for its next look at the metadata,
// seconds that are no broker's.
func (b *Broker) Topic(ctx context.Context, name string, partitions int, segment int64, tiered bool) error {
	if _, err := b.Admin.CreateTopic(ctx, int32(partitions), 1, TopicConfigs(tiered && b.Plugin.Tiered, segment), name); err != nil {
		return err
	}
	return Poll(ctx, func() error {
		listed, err := b.Admin.ListEndOffsets(ctx, name)
		if err == nil {
			err = listed.Error()
		}
		if got := len(listed[name]); err == nil && got < partitions {
			err = fmt.Errorf("%d of %d partitions of %s answer", got, partitions, name)
		}
		return err
	})
}

// Alter sets settings of a topic.
func (b *Broker) Alter(ctx context.Context, topic string, settings map[string]string) error {
	var all []kadm.AlterConfig
	for k, v := range settings {
		all = append(all, kadm.AlterConfig{Op: kadm.SetConfig, Name: k, Value: &v})
	}
	answers, err := b.Admin.AlterTopicConfigs(ctx, all, topic)
	if err != nil {
		return err
	}
	for _, a := range answers {
		if a.Err != nil {
			return fmt.Errorf("settings of %s: %w: %s", topic, a.Err, a.ErrMessage)
		}
	}
	return nil
}

// Ends compares the end offsets of a topic with the set: nothing more and nothing less than what was produced.
func (b *Broker) Ends(ctx context.Context, topic string, set *workload.Set) error {
	listed, err := b.Admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return err
	}
	for p := range set.Partitions() {
		got, _ := listed.Lookup(topic, int32(p))
		if want := set.Count(int32(p)); got.Offset != want {
			return fmt.Errorf("partition %d ends at offset %d, %d records were produced", p, got.Offset, want)
		}
	}
	return nil
}

// Poll calls f until it returns nil; its last error says what was missing when the time was up.
func Poll(ctx context.Context, f func() error) error { return PollEvery(ctx, 250*time.Millisecond, f) }

// PollEvery is Poll with another pause between calls.
func PollEvery(ctx context.Context, pause time.Duration, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// Clock is a reading of the processes.
type Clock struct {
	At                    time.Time
	Broker, Client, Store time.Duration   // CPU time
	Threads               measure.Threads // of the broker
}

// Clock reads them now.
func (b *Broker) Clock() (Clock, error) {
	c, err := measure.CPUOf(b.Node.PID())
	if err != nil {
		return Clock{}, err
	}
	threads, err := measure.ThreadsOf(b.Node.PID())
	if err != nil {
		return Clock{}, err
	}
	now := Clock{At: time.Now(), Broker: c.Total(), Client: measure.OwnCPU(), Threads: threads}
	if b.Store != 0 {
		s, err := measure.CPUOf(b.Store)
		if err != nil {
			return Clock{}, err
		}
		now.Store = s.Total()
	}
	return now, nil
}
