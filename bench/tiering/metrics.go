package tiering

import (
	"fmt"
	"os"
	"strings"

	"tidemark/bench/calls"
	"tidemark/bench/report"
)

// against is a metric of ours and what it is compared with: one line of the report for each peer.
type against struct {
	row, name, unit string
	better          report.Better
	what            string
	target          *report.Target
	vanilla         string         // metric of the vanilla broker to compare with
	dated           float64        // of the incumbent
	ratio           *report.Target // of the comparison with vanilla
}

// metrics are the lines of the report.
func (o Options) metrics() (all []report.Metric) {
	for _, a := range o.brokerRows() {
		if !o.wants(a.row) {
			continue
		}
		if o.Before != "" {
			if strings.HasSuffix(a.name, ".s3") && a.row != "20.mem.peak" && a.vanilla != "p1.hot.rate.disk" {
				all = append(all, report.Metric{Row: a.row, Name: a.name, Unit: a.unit, Better: a.better, What: a.what, Peer: string(before), Target: a.target})
			}
			continue
		}
		all = append(all, a.lines(strings.HasSuffix(a.name, o.peerStore()))...)
	}
	if o.Before != "" {
		return all
	}
	for _, m := range calls.Metrics() {
		if o.wants(m.Row) && calls.Built(m.Row) == "" && (m.Peer != string(calls.Foreign) || strings.HasSuffix(m.Name, o.peerStore())) {
			all = append(all, m)
		}
	}
	return all
}

// lines: the foreign plugin when there is one, else the incumbent's dated figure, carries the target of our value.
func (a against) lines(peer bool) (all []report.Metric) {
	line := report.Metric{Row: a.row, Name: a.name, Unit: a.unit, Better: a.better, What: a.what}
	with := func(change func(*report.Metric)) {
		m := line
		change(&m)
		all = append(all, m)
	}
	if a.vanilla != "" {
		with(func(m *report.Metric) { m.PeerMetric, m.Target = a.vanilla, a.ratio })
	}
	switch {
	case peer:
		with(func(m *report.Metric) { m.Peer = string(calls.Foreign); m.Target = a.target })
	case a.dated != 0:
		with(func(m *report.Metric) { m.Peer, m.Dated, m.Target = incumbent, a.dated, a.target })
	case a.target != nil || a.vanilla == "":
		with(func(m *report.Metric) { m.OursOnly, m.Target = true, a.target })
	}
	if strings.HasSuffix(a.name, ".file") {
		with(func(m *report.Metric) { m.Peer = string(calls.Local) })
	}
	return all
}

// peerStore is what the foreign plugin's metrics end in; something that no metric ends in when there is none.
func (o Options) peerStore() string {
	text, err := os.ReadFile(o.Peer.Props)
	switch {
	case o.Peer.Libs == "" || err != nil:
		return ".none"
	case strings.Contains(string(text), "{endpoint}"):
		return ".s3"
	default:
		return ".file"
	}
}

const copyWhat = "less the broker's idle CPU time in the seconds before; per GB of closed segments, from the moment the topic is tiered to the last segment in the store"

func (o Options) brokerRows() []against {
	rows := []against{
		{row: "03.copy.raw", name: "broker.cpu.s3", unit: "s/GB", what: "CPU-seconds of the broker, " + copyWhat, target: report.Value(4), dated: 9.7},
		{row: "03.copy.raw", name: "broker.cpu.file", unit: "s/GB", what: "the same with the file store", target: report.Value(2.5), dated: 6.5},
		{row: "03.copy.raw", name: "gross.broker.cpu.s3", unit: "s/GB", what: "the same, nothing subtracted"},
		{row: "03.copy.raw", name: "gross.broker.cpu.file", unit: "s/GB", what: "the same, nothing subtracted"},
		{row: "03.copy.raw", name: "idle.cpu.s3", unit: "s/s", vanilla: "idle.cpu.disk", what: "CPU-seconds per second of the broker before it copies, with all data on its disk"},
		{row: "03.copy.raw", name: "rate.s3", unit: "MB/s", better: report.Higher, what: "closed segments per second, with Kafka's interval of 1 s in it", dated: 36},
		{row: "03.copy.raw", name: "rate.file", unit: "MB/s", better: report.Higher, what: "the same", dated: 125},
		{row: "03.copy.raw", name: "gross.store.cpu.s3", unit: "s/GB", what: "CPU-seconds of the S3 server meanwhile"},
		{row: "03.copy.raw", name: "puts.s3", unit: "1/GB", what: "PUTs and POSTs, by the server's count"},
		{row: "03.copy.raw", name: "bytes.s3", unit: "", what: "bytes sent to the store ÷ bytes of the segments"},
	}
	rows = append(rows, o.readRows()...)
	const fan, latency = "08.fetch.fanout", "10.produce.interference"
	rows = append(rows,
		against{row: fan, name: "bytes.s3", unit: "", what: "bytes from the store ÷ bytes of the range that sixteen consumers read at the same time", target: report.Value(1.02)},
		against{row: fan, name: "gets.s3", unit: "1/GB", what: "GETs per GB of that range"},
		against{row: fan, name: "rate.s3", unit: "MB/s", better: report.Higher, what: "all consumers together", vanilla: "rate.disk"},
		against{row: fan, name: "broker.cpu.s3", unit: "s/GB", what: "CPU-seconds of the broker per GB handed to consumers", vanilla: "broker.cpu.disk"},
		against{row: fan, name: "broker.cpu.file", unit: "s/GB", what: "the same", vanilla: "broker.cpu.disk"},
	)
	for _, phase := range []struct {
		name, what string
		most       float64
	}{{"copying", "while segments are copied", 1.15}, {"readers", "while four consumers catch up besides", 1.25}} {
		for _, q := range []string{"p50", "p99", "p99.9", "max"} {
			a := against{row: latency, name: phase.name + "." + q + ".s3", unit: "ms", what: "acknowledgement after a record was due, open loop, " + phase.what, vanilla: phase.name + "." + q + ".disk"}
			if q == "p99" {
				a.ratio = report.Ratio(phase.most)
			}
			rows = append(rows, a)
			if q == "p99" {
				a.name, a.what = phase.name+".p99.file", "the same with the file store, so without an S3 server on these cores"
				rows = append(rows, a)
			}
		}
		rows = append(rows, against{row: latency, name: phase.name + ".broker.cpu.s3", unit: "s/GB", what: "CPU-seconds of the broker " + phase.what, vanilla: phase.name + ".broker.cpu.disk"})
	}
	const memory, cost = "20.mem.peak", "21.cost.tb"
	return append(rows,
		against{row: memory, name: "over.s3", unit: "MiB", what: "peak resident memory, less that of the vanilla broker of the round and our configured caches", target: report.Value(256)},
		against{row: memory, name: "over.file", unit: "MiB", what: "the same with the file store", target: report.Value(256)},
		against{row: memory, name: "peak.s3", unit: "MiB", what: "peak resident memory of the broker", vanilla: "peak.disk"},
		against{row: memory, name: "peak.file", unit: "MiB", what: "the same", vanilla: "peak.disk"},
		against{row: memory, name: "pause.max.s3", unit: "ms", what: "longest pause of the JVM's garbage collector in the broker's life", vanilla: "pause.max.disk", ratio: report.Ratio(1)},
		against{row: memory, name: "pause.mean.s3", unit: "ms", what: "their mean", vanilla: "pause.mean.disk"},
		against{row: cost, name: "requests.s3", unit: "$/TB", what: "all requests to write and read a TB once, at $0.005 per 1000 PUT and LIST and $0.0004 per 1000 GET", dated: 0.005*76300/1000 + 0.0004*1195000/1000},
		against{row: cost, name: "month.s3", unit: "$/TB", what: "the same with a month of storage at $0.023 per GB"},
		against{row: cost, name: "puts.s3", unit: "1/TB", what: "PUTs and POSTs per TB", dated: 76300},
		against{row: cost, name: "gets.s3", unit: "1/TB", what: "GETs per TB read once", dated: 1195000},
		against{row: cost, name: "lists.s3", unit: "1/TB", what: "LISTs per TB"},
	)
}

// readRows are those of row 06 for each number of partitions. The incumbent's figures are of one partition.
func (o Options) readRows() (rows []against) {
	for _, n := range append([]int{1}, o.partitions()...) {
		prefix, dated := fmt.Sprintf("p%d.", n), func(v float64) float64 { return 0 }
		if n == 1 {
			dated = func(v float64) float64 { return v }
		}
		add := func(name, unit string, better report.Better, what string, vanilla string, value, ratio *report.Target, v float64) {
			if vanilla != "" {
				vanilla = prefix + vanilla
			}
			rows = append(rows, against{row: "06.fetch.seq", name: prefix + name, unit: unit, better: better, what: fmt.Sprintf("%d partitions, cold: %s", n, what),
				vanilla: vanilla, target: value, ratio: ratio, dated: dated(v)})
		}
		add("rate.s3", "MB/s", report.Higher, "keys and values per second", "rate.disk", nil, report.Ratio(0.7), 30)
		add("rate.file", "MB/s", report.Higher, "the same with the file store", "rate.disk", nil, nil, 116)
		add("broker.cpu.s3", "s/GB", report.Lower, "CPU-seconds of the broker", "broker.cpu.disk", report.Value(3), nil, 9.3)
		add("broker.cpu.file", "s/GB", report.Lower, "the same with the file store", "broker.cpu.disk", nil, nil, 2.7)
		add("client.cpu.s3", "s/GB", report.Lower, "CPU-seconds of the client, with the comparison", "client.cpu.disk", nil, nil, 0)
		add("store.cpu.s3", "s/GB", report.Lower, "CPU-seconds of the S3 server", "", nil, nil, 0)
		add("bytes.s3", "", report.Lower, "bytes from the store ÷ bytes of the log", "", report.Value(1.02), nil, 4.97)
		gets := report.Value(64)
		if n > 1 {
			gets = nil // segments are smaller than the target's 100 MiB
		}
		add("gets.s3", "1/GB", report.Lower, "GETs per GB of the log, sidecars included", "", gets, nil, 1195)
		if n == 1 {
			rows = append(rows, against{row: "06.fetch.seq", name: prefix + "rate.s3", unit: "MB/s", better: report.Higher, what: "beside vanilla from the page cache", vanilla: prefix + "hot.rate.disk"})
		}
	}
	return rows
}

// partitions are the topics of row 06 beside the one with one partition.
func (o Options) partitions() []int {
	if o.Full {
		return []int{10, 100}
	}
	return []int{10}
}
