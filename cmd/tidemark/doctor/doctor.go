package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	Error  Severity = "ERROR" // data is not tiered, cannot be read, or can be lost
	Warn   Severity = "WARN"  // it works, worse or dearer than it could
	Notice Severity = "INFO"  // worth knowing
)

// Finding is one thing to look at.
type Finding struct {
	Severity Severity `json:"severity"`
	Where    string   `json:"where"` // broker 1, topic orders, orders-3
	What     string   `json:"what"`
	Why      string   `json:"why"`
	Do       string   `json:"do"`
}

// Facts are what is known of a cluster.
type Facts struct {
	Brokers       []Broker
	Topics        []Topic           // those with remote.storage.enable=true
	MetadataTopic *Topic            // __remote_log_metadata, nil if there is none
	Properties    map[string]string // of a server.properties; nil if none was given
	Faults        []string          // of those properties, as the plugin would refuse them
}

// Broker is one broker.
type Broker struct {
	ID     int32
	Host   string
	Config map[string]string // effective; without values the broker hides
}

// Topic is a topic and its partitions by number.
type Topic struct {
	Name       string
	Replicas   int // of the partition that has fewest
	Config     map[string]string
	Partitions []Partition
}

// Partition is what the leader says; -1 is not known, or none.
type Partition struct {
	Start, LocalStart, End int64 // offsets; End is exclusive
	Tiered                 int64 // last offset that is tiered
	LocalBytes             int64 // of the largest replica
}

// The names of settings that rules are about.
const (
	systemEnable  = "remote.log.storage.system.enable"
	storageClass  = "remote.log.storage.manager.class.name"
	storagePath   = "remote.log.storage.manager.class.path"
	metadataClass = "remote.log.metadata.manager.class.name"
	metadataPath  = "remote.log.metadata.manager.class.path"
	listenerName  = "remote.log.metadata.manager.listener.name"
	maxWait       = "remote.fetch.max.wait.ms"
	customBytes   = "remote.log.metadata.custom.metadata.max.bytes"

	plainClass       = "io.tidemark.kafka.TidemarkRemoteStorageManager"
	monitorableClass = "io.tidemark.kafka.TidemarkMonitorableRemoteStorageManager"
	ourMetadata      = "io.tidemark.kafka.TidemarkRemoteLogMetadataManager"
)

// Examine applies all rules; the worst findings come first.
func Examine(f Facts) []Finding {
	var found []Finding
	for _, b := range f.Brokers {
		found = append(found, examineBroker(b)...)
	}
	found = append(found, f.examineMetadataTopic()...)
	for _, t := range f.Topics {
		found = append(found, examineTopic(t)...)
	}
	found = append(found, f.examineProperties()...)
	rank := map[Severity]int{Error: 0, Warn: 1, Notice: 2}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(rank[a.Severity], rank[b.Severity]) })
	return found
}

// number is a setting as a number; ok is false if it is hidden, absent or none.
func number(config map[string]string, key string) (int64, bool) {
	n, err := strconv.ParseInt(config[key], 10, 64)
	return n, err == nil
}

func examineBroker(b Broker) (found []Finding) {
	where := fmt.Sprintf("broker %d", b.ID)
	add := func(s Severity, what, why, do string) { found = append(found, Finding{s, where, what, why, do}) }
	c := b.Config
	if c[systemEnable] != "true" {
		add(Error, systemEnable+" is not true", "topics led by this broker are not tiered, and it cannot serve tiered data of others",
			"set it to true on every broker and isolated controller, and restart")
		return found
	}
	if class := c[storageClass]; class != plainClass && class != monitorableClass {
		add(Error, storageClass+" is "+quoted(class), "another plugin stores segments here; brokers with different plugins cannot read each other's segments",
			"set "+plainClass+" on every broker")
	}
	if path := c[storagePath]; path != "" {
		add(Warn, storagePath+" is set", "Kafka hides the plugin behind a class of its own: no plugin metrics, no tables",
			"unset it and put the jar into libs/")
	}
	if path := c[metadataPath]; path != "" {
		add(Error, metadataPath+" is set", "Kafka never starts a metadata manager that comes through a class path: nothing is tiered, without a word in the log",
			"unset it and put the jar into libs/")
	}
	if class := c[metadataClass]; class != ourMetadata {
		add(Notice, metadataClass+" is "+quoted(class), "tiering works; topics cannot be tables, and reading does not run ahead into the next segment",
			"set "+ourMetadata)
	}
	if c[listenerName] == "" {
		add(Error, listenerName+" is not set", "the metadata manager does not know how to reach its own broker", "name a listener of this broker, such as PLAINTEXT")
	}
	if n, ok := number(c, customBytes); ok && n < 128 {
		add(Error, fmt.Sprintf("%s is %d", customBytes, n), "the plugin's metadata of a segment may have 128 bytes: a longer one stops the tiering of its partition",
			"set 128, the default")
	}
	if n, ok := number(c, maxWait); ok && n <= 500 {
		add(Warn, fmt.Sprintf("%s is %d", maxWait, n), "Kafka drops the result of a first read that takes longer and asks again: consumers of tiered data wait for nothing",
			"set 2000 to 5000; it can be changed without a restart")
	}
	return found
}

func quoted(value string) string {
	if value == "" {
		return "not set"
	}
	return value
}

func (f Facts) examineMetadataTopic() (found []Finding) {
	t := f.MetadataTopic
	if t == nil {
		return nil
	}
	add := func(s Severity, what, why, do string) {
		found = append(found, Finding{s, "topic " + t.Name, what, why, do})
	}
	const loss = "what is lost of this topic is tiered data that nobody finds again"
	if len(f.Brokers) >= 3 && t.Replicas < 3 {
		add(Error, fmt.Sprintf("it has %d replicas", t.Replicas), loss, "raise them to 3 with kafka-reassign-partitions.sh, and set rlmm.config.remote.log.metadata.topic.replication.factor=3")
	}
	if n, ok := number(t.Config, "min.insync.replicas"); ok && n < 2 && len(f.Brokers) >= 3 {
		add(Warn, fmt.Sprintf("min.insync.replicas is %d", n), loss, "set 2 (rlmm.config.remote.log.metadata.topic.min.isr before the topic exists)")
	}
	if p := t.Config["cleanup.policy"]; p != "" && p != "delete" {
		add(Error, "cleanup.policy is "+p, "its records have no keys: compaction loses them, and with them tiered data", "set delete")
	}
	if n, ok := number(t.Config, "retention.ms"); ok && n >= 0 {
		add(Error, fmt.Sprintf("retention.ms is %d", n), "Kafka deletes its records after that time, and with them the way to segments that are older", "set -1")
	}
	return found
}
