package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// Options describe a cluster.
type Options struct {
	Version string // of Kafka: "4.4.0"
	Nodes   int    // brokers; each is a controller too. Default 1
	Dir     string // everything of this cluster lies here
	Jar     string // the Tidemark jar; "" = vanilla
	LogDirs int    // per broker; default 1
	Java    string // java binary; default the one on PATH
	Heap    string // default 512m
	// Tables adds TidemarkRemoteLogMetadataManager; without it the stock manager is used.
	Tables bool
	// Properties are added to, or replace, the ones of the harness on every broker. {node} in a value is the node id.
	Properties map[string]string
	JVMArgs    []string
}

// CacheDir is where downloads are kept between runs.
func CacheDir() string {
	if dir := os.Getenv("TIDEMARK_CACHE"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "tidemark-cache")
	}
	return filepath.Join(home, ".cache", "tidemark")
}

// Root is the repository's root directory, found from the working directory upwards.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
	}
}

// Fetch makes sure the jars of a Kafka version are in the cache and returns their folder.
func Fetch(version string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	libs := filepath.Join(CacheDir(), "kafka-"+version, "libs")
	if _, err := os.Stat(libs); err == nil {
		return libs, nil
	}
	out, err := exec.Command("bash", filepath.Join(root, "integration", "fetch-kafka.sh"), version).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("fetch Kafka %s: %w\n%s", version, err, out)
	}
	return libs, nil
}

// FetchLocalTieredStorage makes sure that Kafka's LocalTieredStorage for a version is in the cache and returns the folder of its jar.
func FetchLocalTieredStorage(version string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	libs := filepath.Join(CacheDir(), "local-tiered-storage-"+version)
	if _, err := os.Stat(libs); err == nil {
		return libs, nil
	}
	out, err := exec.Command("bash", filepath.Join(root, "integration", "fetch-local-tiered-storage.sh"), version).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("fetch LocalTieredStorage of Kafka %s: %w\n%s", version, err, out)
	}
	return libs, nil
}

// JDKs are the java binaries found on this machine by the major versions asked for; missing ones are left out.
func JDKs(majors ...string) map[string]string {
	found := map[string]string{}
	for _, m := range majors {
		matches, _ := filepath.Glob("/usr/lib/jvm/*" + m + "*/bin/java")
		sort.Strings(matches)
		if len(matches) > 0 {
			found[m] = matches[len(matches)-1]
		}
	}
	return found
}

func (o *Options) defaults() error {
	if o.Nodes == 0 {
		o.Nodes = 1
	}
	if o.LogDirs == 0 {
		o.LogDirs = 1
	}
	if o.Heap == "" {
		o.Heap = "512m"
	}
	if o.Java == "" {
		o.Java = "java"
	}
	if o.Dir == "" || o.Version == "" {
		return fmt.Errorf("cluster options need Dir and Version")
	}
	return os.MkdirAll(o.Dir, 0o755)
}

// properties are the server.properties of one node.
func (c *Cluster) properties(n *Node) map[string]string {
	replication := fmt.Sprint(min(c.options.Nodes, 3))
	var voters []string
	for _, other := range c.Nodes {
		voters = append(voters, fmt.Sprintf("%d@127.0.0.1:%d", other.ID, other.controllerPort))
	}
	p := map[string]string{
		"process.roles":                            "broker,controller",
		"node.id":                                  fmt.Sprint(n.ID),
		"controller.quorum.voters":                 strings.Join(voters, ","),
		"listeners":                                fmt.Sprintf("PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", n.Port, n.controllerPort),
		"advertised.listeners":                     fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", n.Port),
		"listener.security.protocol.map":           "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"controller.listener.names":                "CONTROLLER",
		"inter.broker.listener.name":               "PLAINTEXT",
		"log.dirs":                                 strings.Join(n.LogDirs, ","),
		"offsets.topic.replication.factor":         replication,
		"offsets.topic.num.partitions":             "4",
		"transaction.state.log.replication.factor": replication,
		"transaction.state.log.min.isr":            "1",
		"transaction.state.log.num.partitions":     "4",
		"group.initial.rebalance.delay.ms":         "0",
		"auto.create.topics.enable":                "false",
		"log.retention.check.interval.ms":          "1000",
		"log.initial.task.delay.ms":                "1000",
		"log.segment.delete.delay.ms":              "1000",
	}
	if c.options.Jar != "" {
		for k, v := range map[string]string{
			"remote.log.storage.system.enable":                         "true",
			"remote.log.storage.manager.class.name":                    "io.tidemark.kafka.TidemarkRemoteStorageManager",
			"remote.log.metadata.manager.listener.name":                "PLAINTEXT",
			"remote.log.manager.task.interval.ms":                      "1000",
			"rlmm.config.remote.log.metadata.topic.replication.factor": replication,
			"rlmm.config.remote.log.metadata.topic.num.partitions":     "4",
			"rlmm.config.remote.log.metadata.topic.min.isr":            "1",
			"rsm.config.local.dir":                                     filepath.Join(n.dir, "tidemark"),
			"rsm.config.store.type":                                    "file",
			"rsm.config.store.path":                                    filepath.Join(c.options.Dir, "store"),
			"rsm.config.tables.topic.replication.factor":               replication,
		} {
			p[k] = v
		}
		if c.options.Tables {
			p["remote.log.metadata.manager.class.name"] = "io.tidemark.kafka.TidemarkRemoteLogMetadataManager"
		}
	}
	for k, v := range c.options.Properties {
		if v == "" {
			delete(p, k)
			continue
		}
		p[k] = strings.ReplaceAll(v, "{node}", fmt.Sprint(n.ID))
	}
	return p
}

func writeProperties(path string, p map[string]string) error {
	keys := make([]string, 0, len(p))
	for k := range p {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "%s=%s\n", k, strings.ReplaceAll(p[k], "\\", "\\\\"))
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}
