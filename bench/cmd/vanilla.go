package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tidemark/bench/measure"
	"tidemark/bench/report"
)

// metrics are the rows of the suite, in the order of the report.
var metrics = []report.Metric{
	{Row: "produce.rate", Name: "rate", Unit: "MB/s", Better: report.Higher, What: "keys and values acknowledged per second, as fast as the broker takes them, acks=all"},
	{Row: "produce.rate", Name: "broker.cpu", Unit: "s/GB", Better: report.Lower, What: "CPU-seconds of the broker, with the copying of every closed segment on our side"},
	{Row: "produce.rate", Name: "client.cpu", Unit: "s/GB", Better: report.Lower, What: "CPU-seconds of the client over the same time"},
	{Row: "produce.rate", Name: "copy.lag", Unit: "s", Better: report.Lower, OursOnly: true, What: "from the last acknowledgement until every closed segment is in the store"},
	{Row: "produce.p99", Name: "p50", Unit: "ms", Better: report.Lower, What: "acknowledgement after the time a record was due, fixed rate, open loop"},
	{Row: "produce.p99", Name: "p99", Unit: "ms", Better: report.Lower, What: "the same"},
	{Row: "produce.p99", Name: "p99.9", Unit: "ms", Better: report.Lower, What: "the same"},
	{Row: "produce.p99", Name: "max", Unit: "ms", Better: report.Lower, What: "the same"},
	{Row: "produce.p99", Name: "broker.cpu", Unit: "s/GB", Better: report.Lower, What: "CPU-seconds of the broker at the fixed rate, with what is copied meanwhile"},
	{Row: "produce.p99", Name: "client.cpu", Unit: "s/GB", Better: report.Lower, What: "CPU-seconds of the client over the same time"},
	{Row: "consume.hot", Name: "rate", Unit: "MB/s", Better: report.Higher, What: "read back from the local log in the page cache"},
	{Row: "consume.hot", Name: "broker.cpu", Unit: "s/GB", Better: report.Lower, What: "CPU-seconds of the broker"},
	{Row: "consume.hot", Name: "client.cpu", Unit: "s/GB", Better: report.Lower, What: "CPU-seconds of the client, with the comparison of every record"},
	{Row: "consume.cold", Name: "rate", Unit: "MB/s", Better: report.Higher, What: "read back from the store (ours, nothing on the local disk) and from the local disk (peer)"},
	{Row: "consume.cold", Name: "broker.cpu", Unit: "s/GB", Better: report.Lower, What: "CPU-seconds of the broker"},
	{Row: "consume.cold", Name: "client.cpu", Unit: "s/GB", Better: report.Lower, What: "CPU-seconds of the client, with the comparison of every record"},
	{Row: "rss", Name: "after.load", Unit: "MiB", Better: report.Lower, What: "resident memory of the broker after all of the above, the plugin's library and cache included"},
	{Row: "rss", Name: "peak", Unit: "MiB", Better: report.Lower, What: "its highest value"},
	{Row: "restart", Name: "total", Unit: "s", Better: report.Lower, What: "from SIGTERM to \"Kafka Server started\" of the next process, with data"},
	{Row: "restart", Name: "stop", Unit: "s", Better: report.Lower, What: "from SIGTERM to the end of the process"},
	{Row: "restart", Name: "start", Unit: "s", Better: report.Lower, What: "from the start of the process to \"Kafka Server started\""},
	{Row: "restart", Name: "start.cpu", Unit: "s", Better: report.Lower, What: "CPU-seconds of the new process until then"},
	{Row: "restart", Name: "first.record", Unit: "s", Better: report.Lower, What: "from SIGTERM until a consumer has the record at offset 0 again"},
	{Row: "follower", Name: "in.sync", Unit: "s", Better: report.Lower, What: "from the order to replicate a topic of old data to a second broker until it is in sync"},
	{Row: "follower", Name: "brokers.cpu", Unit: "s/GB", Better: report.Lower, What: "CPU-seconds of both brokers meanwhile, per GB of the topic"},
	{Row: "follower", Name: "disk", Unit: "MiB", Better: report.Lower, What: "segments of the topic on the second broker afterwards"},
}

// vanilla compares a broker that has the jar with one that has not: A B A B, a fresh broker each. It reports whether every row has its number.
func vanilla(ctx context.Context, o options) (complete bool, err error) {
	r := &run{options: o, results: report.New("vanilla", metrics), started: time.Now()}
	if r.dir, err = place(o.dir); err != nil {
		return false, err
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return false, err
	}
	if r.sets, err = newSets(o); err != nil {
		return false, err
	}
	fmt.Printf("vanilla suite, %s: %d rounds of vanilla and %s, Kafka %s, %.0f MB and %d records at %d/s in each; nothing is printed before it is checked\n",
		r.label(), o.rounds, r.ours(), o.kafka, float64(r.sets.bulk.Bytes())/1e6, r.sets.steady.Records(), o.rate)
	if r.floor.write, r.floor.read, err = measure.Floor(r.dir, o.size); err != nil {
		return false, err
	}
	r.interleave(ctx)
	rows := r.rows()
	fmt.Printf("\n%s against vanilla, medians of %d rounds (%s):\n", r.ours(), o.rounds, r.label())
	complete = true
	for _, row := range rows {
		fmt.Println(row.Line())
		complete = complete && row.Failure == ""
	}
	if err := r.write(rows); err != nil {
		return false, err
	}
	fmt.Printf("\n%s and report.csv, %.0f s\n", filepath.Join(o.dir, "report.md"), time.Since(r.started).Seconds())
	return complete, ctx.Err()
}
