package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/bench/measure"
	"tidemark/bench/report"
	"tidemark/bench/workload"
	"tidemark/integration/cluster"
)

// life is one fresh broker in one round.
type life struct {
	options
	side    report.Side
	round   int
	tiered  bool // the jar is in libs/ and topics are tiered
	cluster *cluster.Cluster
	node    *cluster.Node
	admin   *kadm.Client
	close   []func()
	notes   notes
}

// notes is what a life tells the report beside numbers.
type notes struct {
	life       string
	properties string
	cold       string
	others     float64 // share of the machine's CPU time that other processes used, until the restart
}

// watcher compares what the machine did with what broker and client did.
type watcher struct {
	life        *life
	pid         int
	machine     measure.Times
	broker, own time.Duration
}

func (l *life) watch() *watcher {
	w := &watcher{life: l, pid: l.node.PID(), machine: measure.Busy(), own: measure.OwnCPU()}
	c, _ := measure.CPUOf(w.pid)
	w.broker = c.Total()
	return w
}

// look takes a reading; after a restart the count of the process is gone, and the last one before stays.
func (w *watcher) look() {
	c, err := measure.CPUOf(w.pid)
	if err == nil && w.life.node.PID() == w.pid {
		w.life.notes.others = measure.Others(w.machine, measure.Busy(), c.Total()-w.broker+measure.OwnCPU()-w.own)
	}
}

const log4j = `<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="WARN"><Appenders><Console name="out" target="SYSTEM_OUT"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console></Appenders>
<Loggers><Root level="INFO"><AppenderRef ref="out"/></Root></Loggers></Configuration>
`

// start lays out a fresh broker below the run's directory and waits until it serves.
func (l *life) start(ctx context.Context, dir string) error {
	o := cluster.Options{Version: l.kafka, Dir: filepath.Join(dir, fmt.Sprintf("round-%d-%s", l.round, l.name())),
		Heap: l.heap, Properties: l.properties}
	if err := os.RemoveAll(o.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	if l.tiered {
		o.Jar, o.Tables = l.jar, true
	}
	// The harness logs Tidemark at DEBUG, for tests; what is measured logs as stock Kafka does.
	logging := filepath.Join(o.Dir, "log4j2-bench.xml")
	if err := os.WriteFile(logging, []byte(log4j), 0o644); err != nil {
		return err
	}
	o.JVMArgs = []string{"-XX:InitiatingHeapOccupancyPercent=35", "-Dlog4j2.configurationFile=" + logging}
	var err error
	if l.cluster, err = cluster.Start(ctx, o); err != nil {
		return err
	}
	l.node = l.cluster.Nodes[0]
	properties, err := os.ReadFile(l.node.PropertiesFile())
	if err != nil {
		return err
	}
	l.notes.life = fmt.Sprintf("round %d %s", l.round, l.name())
	l.notes.properties = strings.ReplaceAll(string(properties), o.Dir, "DIR")
	return l.connect(ctx)
}

// connect opens the client for administration; the one before, of an earlier process, is closed.
func (l *life) connect(ctx context.Context) error {
	l.disconnect()
	cl, err := open(ctx, l.cluster.Bootstrap())
	if err != nil {
		return err
	}
	l.admin = kadm.NewClient(cl)
	l.close = append(l.close, cl.Close)
	return nil
}

func (l *life) disconnect() {
	for _, f := range l.close {
		f()
	}
	l.close = nil
}

// stop ends the broker; its directory stays when something failed, for its log.
func (l *life) stop(keep bool) {
	l.disconnect()
	if l.cluster == nil {
		return
	}
	l.cluster.Stop()
	if !keep {
		_ = os.RemoveAll(l.cluster.Dir())
	}
}

func (l *life) name() string {
	switch {
	case l.side == report.Peer:
		return "vanilla"
	case l.tiered:
		return "tidemark"
	default:
		return "vanilla-again"
	}
}

// topic creates a topic; on our side it is tiered, with local data kept until empty is called. It returns when all partitions answer:
// a client that comes before waits for its next look at the metadata, seconds that are no broker's.
func (l *life) topic(ctx context.Context, name string, partitions int, segment int64) error {
	if _, err := l.admin.CreateTopic(ctx, int32(partitions), 1, topicConfigs(l.tiered, segment), name); err != nil {
		return err
	}
	return poll(ctx, func() error {
		listed, err := l.admin.ListEndOffsets(ctx, name)
		if err == nil {
			err = listed.Error()
		}
		if got := len(listed[name]); err == nil && got < partitions {
			err = fmt.Errorf("%d of %d partitions of %s answer", got, partitions, name)
		}
		return err
	})
}

func topicConfigs(tiered bool, segment int64) map[string]*string {
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

// ends compares the end offsets of a topic with the set: nothing more and nothing less than what was produced.
func (l *life) ends(ctx context.Context, topic string, set *workload.Set) error {
	listed, err := l.admin.ListEndOffsets(ctx, topic)
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

// awaitTiered waits until all closed segments of a topic are in the store, by what the broker says (ListOffsets, KIP-1005).
func (l *life) awaitTiered(ctx context.Context, topic string) error {
	return poll(ctx, func() error {
		listed, err := l.admin.ListLatestRemoteOffsets(ctx, topic)
		if err != nil {
			return err
		}
		active, err := l.activeSegments(topic)
		if err != nil {
			return err
		}
		for p, base := range active {
			if got, _ := listed.Lookup(topic, p); base > 0 && (got.Err != nil || got.Offset < base-1) {
				return fmt.Errorf("partition %d is tiered up to offset %d, its closed segments end at %d (%v)", p, got.Offset, base-1, got.Err)
			}
		}
		return nil
	})
}

// activeSegments is the base offset of the newest segment by partition.
func (l *life) activeSegments(topic string) (map[int32]int64, error) {
	files, err := l.segments(topic, "*.log")
	if err != nil {
		return nil, err
	}
	active := map[int32]int64{}
	for _, f := range files {
		dir := filepath.Base(filepath.Dir(f))
		p, err := strconv.ParseInt(dir[strings.LastIndexByte(dir, '-')+1:], 10, 32)
		if err != nil {
			return nil, err
		}
		base, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(f), ".log"), 10, 64)
		if err != nil {
			return nil, err
		}
		active[int32(p)] = max(active[int32(p)], base)
	}
	return active, nil
}

func (l *life) segments(topic, pattern string) ([]string, error) {
	return filepath.Glob(filepath.Join(l.node.LogDirs[0], topic+"-*", pattern))
}

// empty lets local retention pass and waits until no byte of the topic is left on the broker's disk.
func (l *life) empty(ctx context.Context, topic string) error {
	one := "1"
	_, err := l.admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "local.retention.ms", Value: &one}}, topic)
	if err != nil {
		return err
	}
	return poll(ctx, func() error {
		files, err := l.segments(topic, "*.log*") // with those renamed for deletion
		var left int64
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				left += info.Size()
			}
		}
		if err == nil && left > 0 {
			err = fmt.Errorf("%d bytes of %s are still on the broker's disk", left, topic)
		}
		return err
	})
}

// dropCache takes the data of a topic out of the page cache: stored objects on our side, log segments on the other.
func (l *life) dropCache(topic string) (measure.Dropped, error) {
	if l.tiered {
		return measure.DropCache(filepath.Join(l.cluster.Dir(), "store"), func(string) bool { return true })
	}
	return measure.DropCache(l.node.LogDirs[0], func(path string) bool {
		return strings.HasPrefix(filepath.Base(filepath.Dir(path)), topic+"-") && filepath.Ext(path) == ".log"
	})
}

// poll calls f until it returns nil; its last error says what was missing when the time was up.
func poll(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(250 * time.Millisecond):
		}
	}
}
