package tiering

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/bench/broker"
	"tidemark/bench/calls"
	"tidemark/bench/measure"
	"tidemark/bench/report"
	"tidemark/integration/objectserver"
)

// side is a kind of broker in this run.
type side struct {
	name  string
	key   report.Side
	store string // what its metrics end in: disk, file or s3
	kafka string
	make  func(*objectserver.Server) (broker.Plugin, error)
}

// Names in the report beside those of package calls.
const (
	before    report.Side = "before"
	incumbent string      = "incumbent"
)

// sides are the brokers of a round in their order.
func (o Options) sides() ([]side, error) {
	if o.Before != "" {
		tidemark := func(jar string) func(*objectserver.Server) (broker.Plugin, error) {
			return func(s *objectserver.Server) (broker.Plugin, error) {
				return broker.Tidemark("tidemark-s3", jar, s), nil
			}
		}
		return []side{{"before", before, "s3", o.Kafka, tidemark(o.Before)}, {"after", report.Ours, "s3", o.Kafka, tidemark(o.Jar)}}, nil
	}
	all := []side{
		{"vanilla", report.Peer, "disk", o.Kafka, func(*objectserver.Server) (broker.Plugin, error) { return broker.Vanilla(), nil }},
		{"local", calls.Local, "file", o.Kafka, func(*objectserver.Server) (broker.Plugin, error) { return broker.Local(o.Kafka) }},
		{"tidemark-file", report.Ours, "file", o.Kafka, func(*objectserver.Server) (broker.Plugin, error) {
			return broker.Tidemark("tidemark-file", o.Jar, nil), nil
		}},
		{"tidemark-s3", report.Ours, "s3", o.Kafka, func(s *objectserver.Server) (broker.Plugin, error) {
			return broker.Tidemark("tidemark-s3", o.Jar, s), nil
		}},
	}
	if o.Peer.Libs == "" {
		return all, nil
	}
	kafka := o.Kafka
	if o.Peer.Kafka != "" {
		kafka = o.Peer.Kafka
	}
	libs, err := filepath.Abs(o.Peer.Libs)
	if err != nil {
		return nil, err
	}
	return append(all, side{"foreign", calls.Foreign, strings.TrimPrefix(o.peerStore(), "."), kafka, func(s *objectserver.Server) (broker.Plugin, error) {
		return broker.Foreign("foreign", libs, o.Peer.Props, s)
	}}), nil
}

// life is one fresh broker of a side in one round, with its store.
type life struct {
	run    *run
	side   side
	round  int
	server *objectserver.Server
	*broker.Broker
	values values
	sizes  map[string]int64 // bytes of a topic's closed segments, or of its whole log
	copied counts           // what the store was asked for while the bulk topic was copied
	read   counts           // and while it was read once
}

// values are numbers by row and metric.
type values map[[2]string]float64

// set takes a number; the store is added to the metric's name.
func (l *life) set(row, metric string, v float64) {
	l.values[[2]string{row, metric + "." + l.side.store}] = v
}

func (l *life) start(ctx context.Context) (err error) {
	dir := filepath.Join(l.run.dir, fmt.Sprintf("round-%d-%s", l.round, l.side.name))
	store := 0
	if l.side.store == "s3" {
		if l.server, err = objectserver.Start(ctx, dir+"-server"); err != nil {
			return err
		}
		store = l.server.PID
	}
	plugin, err := l.side.make(l.server)
	if err != nil {
		return err
	}
	l.Broker, err = broker.Start(ctx, broker.Options{Kafka: l.side.kafka, Plugin: plugin, Dir: dir, Heap: l.run.Heap, Properties: l.run.Properties,
		PerPartition: l.run.PerPartition, Store: store})
	l.run.texts[l.side.name] = masked(l.Text)
	return err
}

// masked hides secrets: reports are shown around, and foreign properties may hold real ones.
func masked(properties string) string {
	lines := strings.Split(properties, "\n")
	for i, line := range lines {
		if k, _, ok := strings.Cut(line, "="); ok && secret.MatchString(k) {
			lines[i] = k + "=(hidden)"
		}
	}
	return strings.Join(lines, "\n")
}

var secret = regexp.MustCompile(`(?i)secret|password|token|access.?key`)

func (l *life) stop(keep bool) {
	if l.Broker != nil {
		l.Stop(keep)
	}
	if l.server == nil {
		return
	}
	l.server.Stop()
	_ = os.RemoveAll(filepath.Dir(l.server.DataDir()))
}

// asked is what the store has been asked for since before; nothing where there is no server.
func (l *life) asked(ctx context.Context, before counts) (counts, error) {
	if l.server == nil {
		return counts{}, nil
	}
	now, err := scrape(ctx, l.server.MetricsURL)
	return now.minus(before), err
}

// drop takes a topic's data out of the page cache, wherever it is.
func (l *life) drop(topic string) error {
	var stores []string
	if l.server != nil {
		stores = append(stores, l.server.DataDir())
	}
	d, err := l.DropCache(topic, stores...)
	if err == nil && d.Files == 0 {
		err = fmt.Errorf("no file of %s was found to drop from the page cache", topic)
	}
	if note := left(d); err == nil && !slices.Contains(l.run.cold, note) {
		l.run.cold = append(l.run.cold, note)
	}
	return err
}

func left(d measure.Dropped) string {
	if d.Left < 0 {
		return "this kernel does not say how much stayed in the page cache"
	}
	return fmt.Sprintf("%.0f %% of the dropped bytes stayed in the page cache", 100*float64(d.Left)/float64(max(1, d.Bytes)))
}

// cost sets the CPU-seconds per GB between two readings.
func (l *life) cost(row, prefix string, from, to broker.Clock, bytes int64) {
	gb := float64(bytes) / 1e9
	l.set(row, prefix+"broker.cpu", (to.Broker-from.Broker).Seconds()/gb)
	l.set(row, prefix+"client.cpu", (to.Client-from.Client).Seconds()/gb)
	if l.server != nil {
		l.set(row, prefix+"store.cpu", (to.Store-from.Store).Seconds()/gb)
	}
}

func rate(bytes int64, d time.Duration) float64 { return float64(bytes) / 1e6 / d.Seconds() }
