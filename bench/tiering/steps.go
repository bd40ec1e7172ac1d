package tiering

import (
	"context"
	"fmt"
	"time"

	"tidemark/bench/broker"
	"tidemark/bench/measure"
	"tidemark/bench/workload"
	"tidemark/remotestorage/fetch"
)

// Topics of a life.
const (
	warmTopic = "warm"
	bulkTopic = "bulk"
	fanTopic  = "fan"
)

const fanConsumers = 16

// step is a part of a life. The numbers of its rows count only when it returns without an error.
type step struct {
	name  string
	rows  []string
	needs []string // rows of later steps that build on this one
	limit time.Duration
	do    func(*life, context.Context) error
}

var steps = []step{
	{"warm-up", nil, nil, 5 * time.Minute, (*life).warmUp},
	{"copy", []string{"03.copy.raw"}, []string{"06.fetch.seq", "10.produce.interference", "20.mem.peak", "21.cost.tb"}, 10 * time.Minute, (*life).copy},
	{"read 1 partition", []string{"06.fetch.seq"}, []string{"10.produce.interference", "20.mem.peak", "21.cost.tb"}, 10 * time.Minute, (*life).readOne},
	{"read many partitions", []string{"06.fetch.seq"}, []string{"20.mem.peak"}, 15 * time.Minute, (*life).readMany},
	{"fan-out", []string{"08.fetch.fanout"}, []string{"20.mem.peak"}, 5 * time.Minute, (*life).fanOut},
	{"interference", []string{"10.produce.interference"}, nil, 10 * time.Minute, (*life).interference},
	{"cost", []string{"21.cost.tb"}, nil, time.Minute, (*life).dollars},
	{"memory", []string{"20.mem.peak"}, nil, time.Minute, (*life).memory},
}

// wanted reports whether a step is part of this run.
func (s step) wanted(o Options) bool {
	for _, row := range append(s.rows, s.needs...) {
		if o.wants(row) {
			return true
		}
	}
	return len(s.rows) == 0
}

// warmUp takes every path several times, so that the JIT compiler has seen it: produce, copy, read from the store.
func (l *life) warmUp(ctx context.Context) error {
	set := l.run.sets.warm
	if err := l.Topic(ctx, warmTopic, set.Partitions(), max(1<<20, l.run.Warm/16), true); err != nil {
		return err
	}
	if _, err := l.Produce(ctx, warmTopic, set, true); err != nil {
		return err
	}
	if l.Plugin.Tiered {
		if err := l.Empty(ctx, warmTopic); err != nil {
			return err
		}
	}
	for range 3 {
		if _, err := l.Consume(ctx, warmTopic, set); err != nil {
			return err
		}
	}
	return nil
}

// copy produces to a topic that is not tiered, and then lets the broker copy all of its closed segments at once: what that costs is the
// copying's, less what the broker used in the idle seconds before.
func (l *life) copy(ctx context.Context) error {
	set := l.run.sets.bulk
	if err := l.Topic(ctx, bulkTopic, 1, l.run.Segment, false); err != nil {
		return err
	}
	p, err := l.Produce(ctx, bulkTopic, set, false)
	if err != nil {
		return err
	}
	if l.run.limit == 0 { // the first broker of the run, a vanilla one unless jars are compared
		l.run.limit = float64(set.Records()) / p.Acked.At.Sub(p.From.At).Seconds()
	}
	if l.sizes[bulkTopic], err = l.LogBytes(bulkTopic); err != nil {
		return err
	}
	const idle = 3 * time.Second
	before, err := l.Clock()
	if err != nil {
		return err
	}
	time.Sleep(idle)
	from, err := l.Clock()
	if err != nil {
		return err
	}
	perSecond := (from.Broker - before.Broker).Seconds() / from.At.Sub(before.At).Seconds()
	l.set("03.copy.raw", "idle.cpu", perSecond)
	if !l.Plugin.Tiered {
		return nil
	}
	return l.tier(ctx, perSecond)
}

// tier lets the broker copy the bulk topic. idle is its CPU-seconds per second without that.
func (l *life) tier(ctx context.Context, idle float64) error {
	const row = "03.copy.raw"
	closed, err := l.ClosedBytes(bulkTopic)
	if err != nil {
		return err
	}
	asked, err := l.asked(ctx, counts{})
	if err != nil {
		return err
	}
	from, err := l.Clock()
	if err != nil {
		return err
	}
	if err := l.Alter(ctx, bulkTopic, map[string]string{"remote.storage.enable": "true", "local.retention.ms": "3600000"}); err != nil {
		return err
	}
	if err := broker.PollEvery(ctx, 20*time.Millisecond, func() error { return l.Tiered(ctx, bulkTopic) }); err != nil {
		return err
	}
	to, err := l.Clock()
	if err != nil {
		return err
	}
	l.run.spent(l.side.name, "copying", from, to, closed)
	wall, gb := to.At.Sub(from.At), float64(closed)/1e9
	l.set(row, "rate", rate(closed, wall))
	l.cost(row, "gross.", from, to, closed)
	l.set(row, "broker.cpu", ((to.Broker-from.Broker).Seconds()-idle*wall.Seconds())/gb)
	if l.copied, err = l.asked(ctx, asked); err != nil {
		return err
	}
	if l.server != nil {
		l.set(row, "puts", l.copied.puts/gb)
		l.set(row, "bytes", l.copied.received/float64(closed))
	}
	l.sizes["copied"] = closed
	return nil
}

// readCold reads a topic that lies in the store only, or on the disk of a vanilla broker, and is in no page cache.
func (l *life) readCold(ctx context.Context, topic, prefix string, set *workload.Set, logBytes int64) (counts, error) {
	if l.Plugin.Tiered {
		if err := l.Empty(ctx, topic); err != nil {
			return counts{}, err
		}
	} else {
		s, err := l.Consume(ctx, topic, set)
		if err != nil {
			return counts{}, err
		}
		l.set("06.fetch.seq", prefix+"hot.rate", rate(set.Bytes(), s.Acked.At.Sub(s.From.At)))
	}
	if err := l.drop(topic); err != nil {
		return counts{}, err
	}
	before, err := l.asked(ctx, counts{})
	if err != nil {
		return counts{}, err
	}
	s, err := l.Consume(ctx, topic, set)
	if err != nil {
		return counts{}, err
	}
	l.run.spent(l.side.name, fmt.Sprintf("reading %d partitions", set.Partitions()), s.From, s.Acked, set.Bytes())
	l.set("06.fetch.seq", prefix+"rate", rate(set.Bytes(), s.Acked.At.Sub(s.From.At)))
	l.cost("06.fetch.seq", prefix, s.From, s.Acked, set.Bytes())
	asked, err := l.asked(ctx, before)
	if err != nil || l.server == nil {
		return asked, err
	}
	l.set("06.fetch.seq", prefix+"gets", asked.gets/(float64(logBytes)/1e9))
	l.set("06.fetch.seq", prefix+"bytes", asked.sent/float64(logBytes))
	return asked, nil
}

func (l *life) readOne(ctx context.Context) (err error) {
	l.read, err = l.readCold(ctx, bulkTopic, "p1.", l.run.sets.bulk, l.sizes[bulkTopic])
	return err
}

// readMany reads topics of several partitions, all of them at once.
func (l *life) readMany(ctx context.Context) error {
	for i, set := range l.run.sets.many {
		topic, prefix := fmt.Sprint("many-", i), fmt.Sprintf("p%d.", set.Partitions())
		if err := l.Topic(ctx, topic, set.Partitions(), max(1<<20, min(l.run.Segment, set.Bytes()*5/4/int64(set.Partitions()))), true); err != nil {
			return err
		}
		if _, err := l.Produce(ctx, topic, set, true); err != nil {
			return err
		}
		whole, err := l.LogBytes(topic)
		if err != nil {
			return err
		}
		if _, err := l.readCold(ctx, topic, prefix, set, whole); err != nil {
			return fmt.Errorf("%d partitions: %w", set.Partitions(), err)
		}
	}
	return nil
}

// fanOut lets many consumers read the same cold range at the same time.
func (l *life) fanOut(ctx context.Context) error {
	set := l.run.sets.fan
	if err := l.Topic(ctx, fanTopic, 1, max(1<<20, set.Bytes()/2), true); err != nil {
		return err
	}
	if _, err := l.Produce(ctx, fanTopic, set, true); err != nil {
		return err
	}
	whole, err := l.LogBytes(fanTopic)
	if err != nil {
		return err
	}
	if l.Plugin.Tiered {
		if err := l.Empty(ctx, fanTopic); err != nil {
			return err
		}
	}
	if err := l.drop(fanTopic); err != nil {
		return err
	}
	before, err := l.asked(ctx, counts{})
	if err != nil {
		return err
	}
	from, err := l.Clock()
	if err != nil {
		return err
	}
	if err := l.together(ctx, fanConsumers, fanTopic, set); err != nil {
		return err
	}
	to, err := l.Clock()
	if err != nil {
		return err
	}
	l.set("08.fetch.fanout", "rate", rate(set.Bytes()*fanConsumers, to.At.Sub(from.At)))
	l.cost("08.fetch.fanout", "", from, to, set.Bytes()*fanConsumers)
	asked, err := l.asked(ctx, before)
	if err != nil || l.server == nil {
		return err
	}
	l.set("08.fetch.fanout", "bytes", asked.sent/float64(whole))
	l.set("08.fetch.fanout", "gets", asked.gets/(float64(whole)/1e9))
	return nil
}

// together reads a topic n times at the same time, each time with the comparison of every record.
func (l *life) together(ctx context.Context, n int, topic string, set *workload.Set) error {
	errs := make(chan error, n)
	for range n {
		cl, err := broker.Consumer(ctx, l.Cluster.Bootstrap(), topic, set.Partitions(), l.PerPartition)
		if err != nil {
			return err
		}
		defer cl.Close()
		go func() { errs <- broker.ConsumeAll(ctx, cl, set) }()
	}
	var failed error
	for range n {
		if err := <-errs; err != nil {
			failed = err
		}
	}
	return failed
}

// dollars are what the prices of a store make of the requests: per TB that is kept a month and read once.
func (l *life) dollars(context.Context) error {
	copied, log := float64(l.sizes["copied"]), float64(l.sizes[bulkTopic])
	if l.server == nil || copied == 0 || log == 0 {
		return nil
	}
	puts, gets := l.copied.puts/copied*1e12, l.read.gets/log*1e12
	lists := (l.copied.lists/copied + l.read.lists/log) * 1e12
	requests := 0.005*(puts+lists)/1000 + 0.0004*gets/1000
	l.set("21.cost.tb", "puts", puts)
	l.set("21.cost.tb", "gets", gets)
	l.set("21.cost.tb", "lists", lists)
	l.set("21.cost.tb", "requests", requests)
	l.set("21.cost.tb", "month", 23*l.copied.received/copied+requests)
	return nil
}

// memory reads what the load has left resident, and what of it is neither a vanilla broker's nor a configured cache.
func (l *life) memory(context.Context) error {
	m, err := measure.MemoryOf(l.Node.PID())
	if err != nil {
		return err
	}
	peak := float64(m.Peak) / (1 << 20)
	l.set("20.mem.peak", "rss", float64(m.RSS)/(1<<20))
	l.set("20.mem.peak", "peak", peak)
	pauses, err := measure.PausesOf(l.GCLog())
	if err != nil {
		return err
	}
	l.set("20.mem.peak", "pause.max", float64(pauses.High)/float64(time.Millisecond))
	l.set("20.mem.peak", "pause.mean", float64(pauses.Sum)/float64(time.Millisecond)/float64(max(1, pauses.Count)))
	if l.side.store == "disk" {
		l.run.vanillaPeak[l.round] = peak
		return nil
	}
	if vanilla := l.run.vanillaPeak[l.round]; vanilla > 0 {
		over := peak - vanilla
		if l.Plugin.Jar != "" {
			c := fetch.DefaultConfig()
			over -= float64(c.CacheBytes+c.SidecarBytes) / (1 << 20)
		}
		l.set("20.mem.peak", "over", over)
	}
	return nil
}
