package main

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
		Title: "Benchmark: " + r.ours() + " beside a vanilla broker", Label: r.label(), Ours: r.ours(), Rows: rows,
		Summary: fmt.Sprintf("%s, %d rounds, each with a fresh broker of both sides, interleaved A B A B in one run. Every record consumed back "+
			"was compared with what was produced before a number was kept. There are no targets yet.",
			r.started.UTC().Format("2006-01-02 15:04 UTC"), r.rounds),
		Sections: []report.Section{
			{Title: "How it was measured", Text: r.method()},
			{Title: "Physical limits", Text: r.limits()},
			{Title: "Machine", Text: r.machine()},
			{Title: "Versions", Text: r.versions()},
			{Title: "Configuration of both sides", Text: r.configuration()},
			{Title: "How to read it", Text: reading},
		},
	}
	return page.Write(r.dir)
}

const reading = `CPU-seconds per GB are the primary metric: on a machine whose cores the broker shares with the client and others, wall time measures the
neighbours too. MB and GB are powers of ten of keys and values; MiB are binary. Nothing is subtracted: the idle work of the broker is in every
figure. A *short* run shows where to look; seven rounds or more are needed to publish a number.`

func (r *run) method() string {
	var kinds []string
	for p := range r.sets.bulk.Partitions() {
		kinds = append(kinds, string(r.sets.bulk.Kind(int32(p))))
	}
	lines := []string{
		"Both sides run the same Kafka, JVM flags and properties; ours has the jar in `libs/`, both plugin classes, the file store on the same disk, tiered topics and no table.",
		fmt.Sprintf("The client is franz-go in the benchmark's own process, on the same cores; its CPU time is measured apart. Codec %s, acks=all, idempotent; linger %s at full speed and %s at the fixed rate; fetches of up to %d MiB, %d KiB per partition.",
			r.codec, broker.BulkLinger, broker.SteadyLinger, broker.FetchBytes>>20, r.perPartition>>10),
		fmt.Sprintf("Full speed: %d records, %.1f MB, over %d partitions (%s), replication 1, `segment.bytes` %d MiB.",
			r.sets.bulk.Records(), float64(r.sets.bulk.Bytes())/1e6, r.sets.bulk.Partitions(), strings.Join(kinds, ", "), r.segment>>20),
		fmt.Sprintf("Fixed rate: %d records per second for %d s after %d s that do not count, open loop, %d partitions, `segment.bytes` %d MiB so that segments close and are copied meanwhile; latency from the time a record was due to its acknowledgement.",
			r.rate, r.seconds, steadySkip, steadyPartitions, r.segment>>22),
		fmt.Sprintf("Warm-up in every fresh broker, not counted: %d MiB produced, read hot, and read three times as cold is (ours from the store).", r.warm>>20),
		"broker.cpu of produce.rate runs from the first record until every closed segment is in the store, and at least " + broker.Settle.String() + " after the last acknowledgement on both sides.",
		"consume.hot reads the local log on both sides right after producing, in the page cache.",
		"consume.cold, ours: local retention has removed every local segment, all records come from the store. Vanilla: from its local log. On both sides the data was written back and dropped from the page cache (fadvise) before, the broker's process was not restarted; the plugin's memory cache had not seen these segments.",
		"restart happens last: ours has nothing of the bulk topic on the local disk, vanilla all of it.",
	}
	for _, n := range r.notes {
		if n.cold != "" {
			lines = append(lines, n.life+", cold: "+n.cold+".")
		}
	}
	return "- " + strings.Join(lines, "\n- ")
}

// limits is what moving the same bytes costs without a broker.
func (r *run) limits() string {
	w, c := r.floor.write, r.floor.read
	return fmt.Sprintf("The same bytes on the same disk in one bare process: written and synced %.0f MB/s, %.2f CPU-s/GB; read after dropping them from the page cache %.0f MB/s, %.2f CPU-s/GB.",
		w.Rate(), w.PerGB(), c.Rate(), c.PerGB())
}

func (r *run) machine() string {
	m := measure.ThisMachine()
	lines := []string{
		fmt.Sprintf("%s, %d cores, %.1f GiB of memory", m.CPU, m.Cores, float64(m.Memory)/(1<<30)),
		m.Kernel,
	}
	for _, n := range r.notes {
		lines = append(lines, fmt.Sprintf("%s: other processes used %.0f %% of the machine's CPU time", n.life, n.others*100))
	}
	return "- " + strings.Join(lines, "\n- ")
}

func (r *run) versions() string {
	return "- " + strings.Join(measure.Versions(r.kafka, r.jar, r.cli), "\n- ")
}

// configuration is server.properties of one life of each side, and the settings of the topics.
func (r *run) configuration() string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, n := range r.notes {
		_, side, _ := strings.Cut(strings.TrimPrefix(n.life, "round "), " ")
		if seen[side] {
			continue
		}
		seen[side] = true
		fmt.Fprintf(&b, "%s, `server.properties` (heap %s, G1, InitiatingHeapOccupancyPercent=35):\n\n```properties\n%s```\n\n", side, r.heap, n.properties)
	}
	for _, tiered := range slices.Compact([]bool{r.jar != "", false}) {
		name := "vanilla"
		if tiered {
			name = "Tidemark"
		}
		var settings []string
		for k, v := range broker.TopicConfigs(tiered, r.segment) {
			settings = append(settings, k+"="+*v)
		}
		fmt.Fprintf(&b, "- topic, %s: `%s`\n", name, strings.Join(sorted(settings), "` `"))
	}
	return b.String()
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
