package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"tidemark/bench/broker"
	"tidemark/bench/measure"
	"tidemark/bench/report"
)

// life is one fresh broker in one round.
type life struct {
	options
	side   report.Side
	round  int
	tiered bool // the jar is in libs/ and topics are tiered
	*broker.Broker
	notes notes
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
	w := &watcher{life: l, pid: l.Node.PID(), machine: measure.Busy(), own: measure.OwnCPU()}
	c, _ := measure.CPUOf(w.pid)
	w.broker = c.Total()
	return w
}

// look takes a reading; after a restart the count of the process is gone, and the last one before stays.
func (w *watcher) look() {
	c, err := measure.CPUOf(w.pid)
	if err == nil && w.life.Node.PID() == w.pid {
		w.life.notes.others = measure.Others(w.machine, measure.Busy(), c.Total()-w.broker+measure.OwnCPU()-w.own)
	}
}

// start lays out a fresh broker below the run's directory and waits until it serves.
func (l *life) start(ctx context.Context, dir string, nodes int) (err error) {
	o := broker.Options{Kafka: l.kafka, Plugin: broker.Vanilla(), Dir: filepath.Join(dir, fmt.Sprintf("round-%d-%s-%d", l.round, l.name(), nodes)),
		Heap: l.heap, Properties: l.properties, PerPartition: l.perPartition, Codec: codecs[l.codec], Nodes: nodes}
	if l.tiered {
		o.Plugin = broker.Tidemark("tidemark", l.jar, nil)
	}
	l.Broker, err = broker.Start(ctx, o)
	l.notes.life = fmt.Sprintf("round %d %s", l.round, l.name())
	l.notes.properties = l.Text
	return err
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
