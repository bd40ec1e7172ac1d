package calls

import (
	"fmt"

	"tidemark/bench/report"
)

// peers are sides of a metric beside the foreign plugin.
type peers []report.Side

// lines are metrics of the report.
type lines []report.Metric

// add adds a metric of ours, with a line for each peer. A target of our value has a line of its own; one of the ratio is for the first peer.
func (l *lines) add(row, name, unit string, better report.Better, what string, target *report.Target, with peers) {
	m := report.Metric{Row: row, Name: name, Unit: unit, Better: better, What: what}
	if target != nil && !target.Ratio || len(with) == 0 {
		m.OursOnly, m.Target = true, target
		*l = append(*l, m)
		m.OursOnly, m.Target = false, nil
	}
	for i, p := range append(with, Foreign) {
		m.Peer, m.Target = string(p), nil
		if target != nil && target.Ratio && i == 0 {
			m.Target = target
		}
		*l = append(*l, m)
	}
}

// Metrics are the lines of the report. Those of a foreign plugin are for runs that have one.
func Metrics() []report.Metric {
	var all lines
	all.copies()
	all.reads()
	all.others()
	return append(all, degradedMetrics()...)
}

func (l *lines) copies() {
	const raw, compressed, encrypted = "03.copy.raw", "04.copy.zstd", "05.copy.encrypt"
	l.add(raw, "call.rate.s3", "MB/s", report.Higher, "copyLogSegmentData alone, one call at a time", report.Ratio(0.9), peers{bareClient})
	l.add(raw, "call.cpu.s3", "s/GB", report.Lower, "CPU-seconds of the JVM, or of the bare client's process", nil, peers{bareClient})
	l.add(raw, "call.rate.file", "MB/s", report.Higher, "the same with the file store", nil, peers{Local})
	l.add(raw, "call.cpu.file", "s/GB", report.Lower, "the same with the file store", nil, peers{Local})

	l.add(compressed, "per.core", "MB/s", report.Higher, "bytes of events copied per CPU-second of the JVM, compressed at level 1 in chunks of 1 MiB and stored in files", report.Ratio(0.95), peers{codecAlone, codecInC})
	l.add(encrypted, "per.core", "MB/s", report.Higher, "bytes of events copied per CPU-second of the JVM, encrypted and stored in files", report.Ratio(0.9), peers{primitiveAlone})
	for _, row := range []struct {
		name  string
		floor report.Side
		more  peers
	}{{compressed, codecAlone, peers{codecInC}}, {encrypted, primitiveAlone, nil}} {
		l.add(row.name, "cpu", "s/GB", report.Lower, "CPU-seconds of the JVM, the whole call", nil, nil)
		l.add(row.name, "plain.cpu", "s/GB", report.Lower, "the same without the transformation", nil, nil)
		l.add(row.name, "added.cpu", "s/GB", report.Lower, "the difference: what the transformation adds to a copy", nil, peers{row.floor})
		l.add(row.name, "stored", "", report.Lower, "stored bytes, sidecars included, ÷ bytes of the segments", nil, append(peers{row.floor}, row.more...))
	}
}

func (l *lines) reads() {
	const first, churn = "07.fetch.first", "09.fetch.churn"
	l.add(first, "own.p50.s3", "ms", report.Lower, "from the first call to the first 64 KiB, less the time in which a request was under way", report.Value(3), nil)
	l.add(first, "cold.gets.s3", "", report.Lower, "GETs that follow each other, nothing known of the segment, at most", report.Value(2), nil)
	l.add(first, "known.gets.s3", "", report.Lower, "the same with its sidecar known", report.Value(1), nil)
	l.add(first, "alone.gets.s3", "", report.Lower, "the same with the indexes known to the broker and nothing to the plugin, as after a restart", report.Value(1), nil)
	l.add(first, "cold.p50.s3", "ms", report.Lower, "from the first call to the first 64 KiB", nil, peers{bareClient})
	l.add(first, "cold.p99.s3", "ms", report.Lower, "the same", nil, peers{bareClient})
	l.add(first, "known.p50.s3", "ms", report.Lower, "the same with the sidecar known", nil, peers{bareClient})
	l.add(first, "known.p99.s3", "ms", report.Lower, "the same", report.Ratio(1.3), peers{bareClient})
	l.add(first, "alone.p50.s3", "ms", report.Lower, "the same with the indexes known to the broker and nothing to the plugin", nil, peers{bareClient})
	l.add(first, "alone.p99.s3", "ms", report.Lower, "the same", nil, peers{bareClient})

	l.add(churn, "hits.s3", "", report.Higher, "share of reads that needed no GET", nil, nil)
	l.add(churn, "p50.s3", "ms", report.Lower, "a read of 64 KiB", nil, nil)
	l.add(churn, "p99.s3", "ms", report.Lower, "the same", nil, nil)
	l.add(churn, "bytes.s3", "", report.Lower, "bytes from the store ÷ bytes read", nil, nil)
	l.add(churn, "growth.s3", "MiB", report.Lower, "resident memory that the reads added, JVM heap of the driver included", nil, nil)
}

func (l *lines) others() {
	const cross = "11.jni.cross"
	l.add(cross, "plain", "ns", report.Lower, "JNI to Go and back, nothing done there", nil, peers{intoC})
	l.add(cross, "guarded", "ns", report.Lower, "the same with the recover that every call has", report.Value(110), nil)
	l.add(cross, "stream.64k", "GB/s", report.Higher, "a cached segment read in steps of 64 KiB", report.Ratio(0.9), peers{arrayCopy})
	l.add(cross, "stream.1m", "GB/s", report.Higher, "the same in steps of 1 MiB", nil, peers{arrayCopy})

	const load, del = "22.start.load", "23.delete.topic"
	l.add(load, "over.load.file", "ms", report.Lower, "what loading and configuring takes longer than that of LocalTieredStorage, which loads the same classes of Kafka", report.Value(250), nil)
	l.add(load, "over.cpu.file", "ms", report.Lower, "the same in CPU time", nil, nil)
	l.add(load, "over.rss.file", "MiB", report.Lower, "the same in resident memory", report.Value(110), nil)
	l.add(load, "fresh.file", "ms", report.Lower, "loading and configuring for the first time on a machine: the library is extracted from the jar", nil, nil)
	l.add(load, "load.file", "ms", report.Lower, "loading and configuring later, the JVM cold", nil, peers{Local})
	l.add(load, "load.cpu.file", "ms", report.Lower, "CPU time of that", nil, peers{Local})
	l.add(load, "rss.file", "MiB", report.Lower, "resident memory that it added", nil, peers{Local})
	l.add(load, "first.copy.file", "ms", report.Lower, "the first copy, 1 MiB", nil, peers{Local})

	l.add(del, "call.mean.s3", "ms", report.Lower, "deleteLogSegmentData, one after the other", report.Value(0.1), nil)
	l.add(del, "call.p99.s3", "ms", report.Lower, "the same", nil, nil)
	l.add(del, "call.max.s3", "ms", report.Lower, "the same", nil, nil)
	l.add(del, "gone.s3", "s", report.Lower, "from the first call until no object is left", nil, nil)
	l.add(del, "requests.s3", "1/1000", report.Lower, "requests for every 1000 objects", report.Value(3), nil)
}

// degradedMetrics compare with the own clean run, which is the metric of 0 %.
func degradedMetrics() (all []report.Metric) {
	for _, what := range []string{"copy", "fetch"} {
		for _, share := range []struct {
			name  string
			least float64
		}{{"1%", 0.9}, {"10%", 0.6}} {
			for _, m := range []report.Metric{
				{Name: "rate.s3", Unit: "MB/s", Better: report.Higher, What: "four calls at a time", Target: report.Ratio(share.least)},
				{Name: "p99.s3", Unit: "ms", Better: report.Lower, What: "a call"},
				{Name: "requests.s3", Unit: "", Better: report.Lower, What: "requests for each segment"},
			} {
				m.Row, m.Peer = "31.degraded", string(ownClean)
				m.PeerMetric = fmt.Sprintf("%s.0%%.%s", what, m.Name)
				m.Name = fmt.Sprintf("%s.%s.%s", what, share.name, m.Name)
				m.What += ", with that share of requests refused, reset or stalled for a second, beside none"
				all = append(all, m)
				m.Peer, m.PeerMetric, m.Target = string(Foreign), "", nil
				all = append(all, m)
			}
		}
	}
	return all
}
