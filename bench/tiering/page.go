package tiering

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/bench/broker"
	"tidemark/bench/measure"
	"tidemark/bench/report"
)

// write writes report.md and report.csv.
func (r *run) write(rows []report.Row) error {
	page := report.Page{
		Title: "Benchmark: tiered storage", Label: r.label(), Ours: "Tidemark", Rows: rows,
		Summary: fmt.Sprintf("%s, %d rounds of all sides in turn, each with a fresh broker, in one run. Every record consumed back was compared with what "+
			"was produced before a number was kept. %s", r.started.UTC().Format("2006-01-02 15:04 UTC"), r.Rounds, r.peers()),
		Sections: []report.Section{
			{Title: "How it was measured", Text: r.method()},
			{Title: "Where the brokers' CPU time went", Text: r.spending()},
			{Title: "Physical limits", Text: r.limits()},
			{Title: "Machine", Text: r.machine()},
			{Title: "Versions", Text: "- " + strings.Join(measure.Versions(r.Kafka, r.Jar, r.CLI), "\n- ")},
			{Title: "Configuration", Text: r.configuration()},
			{Title: "How to read it", Text: reading},
		},
	}
	return page.Write(r.dir)
}

func (r *run) peers() string {
	if r.Before != "" {
		return fmt.Sprintf("Two Tidemark jars are compared, both with an S3 server: *before* is %s, ours is %s.", r.Before, r.Jar)
	}
	if r.Peer.Libs == "" {
		return "No foreign plugin was given: the dated figures of the incumbent (Aiven's plugin 1.2.0-SNAPSHOT, Kafka 4.2, 524 MB in one partition, " +
			"segments of 100 MiB) stand beside ours, marked *not the same run*, and no ratio with them is claimed."
	}
	kafka := r.Kafka
	if r.Peer.Kafka != "" {
		kafka = r.Peer.Kafka
	}
	return fmt.Sprintf("The foreign plugin is %s with %s on Kafka %s.", r.Peer.Libs, r.Peer.Props, kafka)
}

const reading = `CPU-seconds per GB are the primary metric: on a machine whose cores the broker shares with client, store and others, wall time measures the
neighbours too. A metric ends in where the data lies: s3, file, or disk for a broker without remote storage. MB and GB are powers of ten, of keys and
values for what clients do and of log files for what is copied or stored. A *short* run shows where to look; seven rounds or more are needed to publish.`

func (r *run) method() string {
	lines := []string{
		"All sides run the same JVM flags and properties; they differ in the plugin. Tidemark has its jar in `libs/`, both plugin classes and no table; others have `class.path` and Kafka's own metadata manager. LocalTieredStorage (*local*) copies files and neither syncs nor checks them.",
		fmt.Sprintf("The client is franz-go in the benchmark's own process, on the same cores; fetches of up to %d MiB, %d KiB per partition; batches are not compressed; replication 1.", broker.FetchBytes>>20, r.PerPartition>>10),
		fmt.Sprintf("Bulk topic: %.1f MB, one partition of log lines, `segment.bytes` %d MiB. Topics of more partitions hold as much, in logs, events and random bytes by turns.", float64(r.sets.bulk.Bytes())/1e6, r.Segment>>20),
		fmt.Sprintf("Warm-up in every fresh broker, not counted: %d MiB produced, tiered, and read three times from the store.", r.Warm>>20),
		"The S3 server is SeaweedFS on loopback, a fresh one for each broker; requests and bytes are its own counts, so nothing lies between broker and server.",
		"Copying: the topic is produced untiered, then `remote.storage.enable` is set, and the broker copies all closed segments. Reading: local retention has removed every local segment, the files of the store were dropped from the page cache (fadvise), the process was not restarted, and what is read was never read before.",
	}
	if r.steadyRate > 0 {
		lines = append(lines, fmt.Sprintf("Latency: %d records per second, %.0f %% of what the vanilla broker of round 1 took, for %d s after %d s that do not count, open loop, segments of 8 MiB; latency from the time a record was due.",
			r.steadyRate, steadyShare*100, r.seconds(), steadySkip))
	}
	return "- " + strings.Join(append(lines, r.cold...), "\n- ")
}

func (r *run) limits() string {
	line := func(what string, c measure.Cost) string {
		return fmt.Sprintf("- %s: %.0f MB/s, %.2f CPU-s/GB", what, c.Rate(), c.PerGB())
	}
	return "The same number of bytes in one bare process (the S3 server's CPU time is not in it):\n\n" + strings.Join([]string{
		line("a file written and synced", r.floor.write), line("a file read after it was dropped from the page cache", r.floor.read),
		line("a file copied and synced", r.bare.copied), line("multipart upload to the S3 server in parts as a plugin of ours sends them, four at a time", r.bare.put),
		line("ranged GETs of 16 MiB, one after the other", r.bare.get)}, "\n")
}

func (r *run) machine() string {
	m := measure.ThisMachine()
	return "- " + strings.Join(append([]string{fmt.Sprintf("%s, %d cores, %.1f GiB of memory", m.CPU, m.Cores, float64(m.Memory)/(1<<30)), m.Kernel}, r.others...), "\n- ")
}

// configuration is server.properties of one broker of each side. Keys of the S3 server are of this run only.
func (r *run) configuration() string {
	var b strings.Builder
	names := make([]string, 0, len(r.texts))
	for name := range r.texts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s, `server.properties` (heap %s, G1, InitiatingHeapOccupancyPercent=35):\n\n```properties\n%s```\n\n", name, r.Heap, r.texts[name])
	}
	return b.String()
}
