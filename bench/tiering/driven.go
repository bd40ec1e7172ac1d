package tiering

import (
	"fmt"

	"tidemark/bench/report"
)

// drivenMetrics are the lines of rows without a broker. The foreign plugin's are left out when there is none.
func drivenMetrics() (all []report.Metric) {
	type peers []report.Side
	add := func(row, name, unit string, better report.Better, what string, target *report.Target, with peers) {
		m := report.Metric{Row: row, Name: name, Unit: unit, Better: better, What: what}
		if target != nil && !target.Ratio || len(with) == 0 {
			m.OursOnly, m.Target = true, target
			all = append(all, m)
			m.OursOnly, m.Target = false, nil
		}
		for _, p := range append(with, foreign) {
			m.Peer, m.Target = string(p), nil
			if target != nil && target.Ratio && p == with[0] {
				m.Target = target
			}
			all = append(all, m)
		}
	}
	const raw, first, churn, cross = "03.copy.raw", "07.fetch.first", "09.fetch.churn", "11.jni.cross"
	add(raw, "call.rate.s3", "MB/s", report.Higher, "copyLogSegmentData alone, one call at a time", report.Ratio(0.9), peers{bareClient})
	add(raw, "call.cpu.s3", "s/GB", report.Lower, "CPU-seconds of the JVM, or of the bare client's process", nil, peers{bareClient})
	add(raw, "call.rate.file", "MB/s", report.Higher, "the same with the file store", nil, peers{local})
	add(raw, "call.cpu.file", "s/GB", report.Lower, "the same with the file store", nil, peers{local})

	const compressed, encrypted = "04.copy.zstd", "05.copy.encrypt"
	add(compressed, "per.core", "MB/s", report.Higher, "bytes of events copied per CPU-second of the JVM, compressed at the default level and stored in files", report.Ratio(0.95), peers{codecAlone})
	add(compressed, "stored", "", report.Lower, "stored bytes ÷ bytes of the segments", nil, peers{codecAlone})
	add(encrypted, "per.core", "MB/s", report.Higher, "bytes of events copied per CPU-second of the JVM, encrypted and stored in files", report.Ratio(0.9), peers{primitiveAlone})
	add(encrypted, "stored", "", report.Lower, "stored bytes ÷ bytes of the segments", nil, peers{primitiveAlone})

	add(first, "own.p50.s3", "ms", report.Lower, "from the first call to the first 64 KiB, less the time in which a request was under way", report.Value(3), nil)
	add(first, "cold.gets.s3", "", report.Lower, "GETs that follow each other, nothing known of the segment, at most", report.Value(2), nil)
	add(first, "known.gets.s3", "", report.Lower, "the same with its sidecar known", report.Value(1), nil)
	add(first, "cold.p50.s3", "ms", report.Lower, "from the first call to the first 64 KiB", nil, peers{bareClient})
	add(first, "cold.p99.s3", "ms", report.Lower, "the same", nil, peers{bareClient})
	add(first, "known.p50.s3", "ms", report.Lower, "the same with the sidecar known", nil, peers{bareClient})
	add(first, "known.p99.s3", "ms", report.Lower, "the same", report.Ratio(1.3), peers{bareClient})

	add(churn, "hits.s3", "", report.Higher, "share of reads that needed no GET", nil, nil)
	add(churn, "p50.s3", "ms", report.Lower, "a read of 64 KiB", nil, nil)
	add(churn, "p99.s3", "ms", report.Lower, "the same", nil, nil)
	add(churn, "bytes.s3", "", report.Lower, "bytes from the store ÷ bytes read", nil, nil)
	add(churn, "growth.s3", "MiB", report.Lower, "resident memory that the reads added, JVM heap of the driver included", nil, nil)

	add(cross, "plain", "ns", report.Lower, "JNI to Go and back, nothing done there", nil, nil)
	add(cross, "guarded", "ns", report.Lower, "the same with the recover that every call has", report.Value(110), nil)
	add(cross, "stream.64k", "GB/s", report.Higher, "a cached segment read in steps of 64 KiB", report.Ratio(0.9), peers{arrayCopy})
	add(cross, "stream.1m", "GB/s", report.Higher, "the same in steps of 1 MiB", nil, peers{arrayCopy})

	const load, del = "22.start.load", "23.delete.topic"
	add(load, "over.load.file", "ms", report.Lower, "what loading and configuring takes longer than that of LocalTieredStorage, which loads the same classes of Kafka", report.Value(250), nil)
	add(load, "over.cpu.file", "ms", report.Lower, "the same in CPU time", nil, nil)
	add(load, "over.rss.file", "MiB", report.Lower, "the same in resident memory", report.Value(110), nil)
	add(load, "fresh.file", "ms", report.Lower, "loading and configuring for the first time on a machine: the library is extracted from the jar", nil, nil)
	add(load, "load.file", "ms", report.Lower, "loading and configuring later, the JVM cold", nil, peers{local})
	add(load, "load.cpu.file", "ms", report.Lower, "CPU time of that", nil, peers{local})
	add(load, "rss.file", "MiB", report.Lower, "resident memory that it added", nil, peers{local})
	add(load, "first.copy.file", "ms", report.Lower, "the first copy, 1 MiB", nil, peers{local})

	add(del, "call.mean.s3", "ms", report.Lower, "deleteLogSegmentData, one after the other", report.Value(0.1), nil)
	add(del, "call.p99.s3", "ms", report.Lower, "the same", nil, nil)
	add(del, "call.max.s3", "ms", report.Lower, "the same", nil, nil)
	add(del, "gone.s3", "s", report.Lower, "from the first call until no object is left", nil, nil)
	add(del, "requests.s3", "1/1000", report.Lower, "requests for every 1000 objects", report.Value(50), nil)
	return append(all, degradedMetrics()...)
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
				m.Peer, m.PeerMetric, m.Target = string(foreign), "", nil
				all = append(all, m)
			}
		}
	}
	return all
}
