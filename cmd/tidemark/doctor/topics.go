package doctor

import (
	"fmt"
	"path/filepath"
	"strings"
)

// smallSegment is what makes two objects and two metadata records a segment dear.
const smallSegment = 16 << 20

func examineTopic(t Topic) (found []Finding) {
	add := func(s Severity, what, why, do string) {
		found = append(found, Finding{s, "topic " + t.Name, what, why, do})
	}
	c := t.Config
	if strings.Contains(c["cleanup.policy"], "compact") {
		add(Error, "cleanup.policy is "+c["cleanup.policy"], "Kafka does not tier compacted topics", "tier a topic that is not compacted")
	}
	if n, ok := number(c, "segment.bytes"); ok && n < smallSegment {
		add(Warn, fmt.Sprintf("segment.bytes is %d", n), "each segment costs two objects, requests, and memory of every broker for its metadata", "set 104857600 or more")
	}
	localMS, haveMS := number(c, "local.retention.ms")
	localBytes, haveBytes := number(c, "local.retention.bytes")
	ms, _ := number(c, "retention.ms")
	bytes, haveTotal := number(c, "retention.bytes")
	asLong := haveMS && haveBytes && (localMS == -2 || localMS == ms) && (localBytes == -2 || localBytes == bytes)
	switch {
	case asLong && c["remote.log.copy.disable"] != "true":
		add(Warn, "local.retention is as long as retention", "every byte is kept twice and no local disk is freed", "set local.retention.ms to what consumers read often")
	case haveMS && haveBytes && localMS < 0 && localBytes >= 0:
		add(Notice, "only local.retention.bytes limits what is local", "the newest segment of a quiet topic is not closed by it, so its tail is not tiered", "set local.retention.ms as well")
	}
	if haveTotal && bytes >= 0 {
		add(Notice, fmt.Sprintf("retention.bytes is %d", bytes), "before Kafka 4.3.2 a new leader counts bytes twice that are both local and remote, and deletes too early (KAFKA-20732)",
			"limit by retention.ms, or run Kafka 4.3.2 or 4.4")
	}
	return append(found, examinePartitions(t)...)
}

// examinePartitions finds partitions that have more on local disk than an active segment and nothing in the store.
func examinePartitions(t Topic) (found []Finding) {
	segment, ok := number(t.Config, "segment.bytes")
	if !ok || t.Config["remote.log.copy.disable"] == "true" {
		return nil
	}
	for i, p := range t.Partitions {
		if p.Tiered >= 0 || p.LocalBytes < 2*segment || p.End <= p.Start {
			continue
		}
		found = append(found, Finding{Error, fmt.Sprintf("%s-%d", t.Name, i), fmt.Sprintf("%d bytes are on local disk and nothing is tiered", p.LocalBytes),
			"closed segments are not copied: the plugin or Kafka fails before or in the copy (a producer snapshot that is missing makes Kafka fail without calling the plugin), " +
				"or a transaction has been open since the first segment",
			"look for RemoteLogManager in the leader's log, at RemoteCopyErrorsPerSec, and at tidemark_copy_errors_total"})
	}
	return found
}

// examineProperties looks at a server.properties, which tells what brokers hide.
func (f Facts) examineProperties() (found []Finding) {
	p := f.Properties
	if p == nil {
		return nil
	}
	add := func(s Severity, what, why, do string) {
		found = append(found, Finding{s, "server.properties", what, why, do})
	}
	for _, fault := range f.Faults {
		add(Error, fault, "the broker does not start with it", "see docs/config.md")
	}
	hosts := map[string]bool{}
	for _, b := range f.Brokers {
		hosts[b.Host] = true
	}
	if p["rsm.config.store.type"] == "file" && len(hosts) > 1 {
		add(Error, fmt.Sprintf("store.type is file with brokers on %d hosts", len(hosts)), "a segment that one host stored is not there for the others", "use store.type=s3")
	}
	for _, dir := range strings.Split(p["log.dirs"]+","+p["log.dir"], ",") {
		dir = strings.TrimSpace(dir)
		for _, key := range []string{"rsm.config.local.dir", "rsm.config.store.path", "rsm.config.fetch.disk.cache.dir"} {
			if dir != "" && p[key] != "" && within(dir, p[key]) {
				add(Error, key+" lies in log.dirs", "Kafka does not start with a directory it does not know in a log directory", "move it out of "+dir)
			}
		}
	}
	if p["rsm.config.http.listener"] == "" {
		add(Notice, "rsm.config.http.listener is not set", "no metrics for Prometheus, no table states and no Iceberg catalog over HTTP from this broker", "set 127.0.0.1:8405, or an address of your monitoring network")
	}
	return found
}

// within tells that path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(filepath.Clean(dir), filepath.Clean(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
