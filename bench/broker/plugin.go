package broker

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tidemark/integration/cluster"
	"tidemark/integration/objectserver"
)

// Plugin is what a broker tiers with.
type Plugin struct {
	Name       string
	Tiered     bool
	Jar        string            // the Tidemark jar; "" for every other plugin
	Properties map[string]string // beside those of the harness; "" removes one; {dir} is the broker's directory
}

// Vanilla is a broker without remote storage.
func Vanilla() Plugin { return Plugin{Name: "vanilla"} }

// Tidemark is this repository's jar. Without a server it stores into files below the broker's directory.
func Tidemark(name, jar string, server *objectserver.Server) Plugin {
	p := Plugin{Name: name, Tiered: true, Jar: jar, Properties: map[string]string{}}
	if server == nil {
		return p
	}
	for k, v := range TidemarkS3(server, server.Endpoint, "{dir}") {
		p.Properties["rsm.config."+k] = v
	}
	p.Properties["rsm.config.store.path"] = ""
	return p
}

// TidemarkS3 is the settings of Tidemark's store in an S3 server, reached through endpoint.
func TidemarkS3(server *objectserver.Server, endpoint, prefix string) map[string]string {
	return map[string]string{
		"store.type": "s3", "store.s3.bucket": server.Bucket, "store.s3.prefix": strings.Trim(prefix, "/"), "store.s3.region": objectserver.Region,
		"store.s3.endpoint": endpoint, "store.s3.path.style": "true", "store.s3.credentials": "static",
		"store.s3.access.key": server.AccessKey, "store.s3.secret.key": server.SecretKey,
	}
}

// Foreign is a plugin of others: a folder of jars and a file of properties as they would stand in server.properties. In values {dir} is the
// broker's directory, and {endpoint}, {bucket}, {prefix}, {region}, {access.key} and {secret.key} are those of the S3 server of the run.
func Foreign(name, libs, file string, server *objectserver.Server) (Plugin, error) {
	given, err := ReadProperties(file)
	if err != nil {
		return Plugin{}, err
	}
	p := Plugin{Name: name, Tiered: true, Properties: map[string]string{
		"remote.log.storage.system.enable":                         "true",
		"remote.log.storage.manager.class.path":                    filepath.Join(libs, "*"),
		"remote.log.metadata.manager.listener.name":                "PLAINTEXT",
		"remote.log.manager.task.interval.ms":                      "1000",
		"rlmm.config.remote.log.metadata.topic.replication.factor": "1",
		"rlmm.config.remote.log.metadata.topic.num.partitions":     "4",
		"rlmm.config.remote.log.metadata.topic.min.isr":            "1",
	}}
	for k, v := range given {
		p.Properties[k] = Fill(v, server, "", "{dir}")
	}
	if p.Properties["remote.log.storage.manager.class.name"] == "" {
		return Plugin{}, fmt.Errorf("%s does not set remote.log.storage.manager.class.name", file)
	}
	return p, nil
}

// Fill replaces the names of an S3 server's facts in a property. endpoint "" is the server's own.
func Fill(value string, server *objectserver.Server, endpoint, dir string) string {
	pairs := []string{"{dir}", dir, "{prefix}", strings.Trim(dir, "/")}
	if server != nil {
		if endpoint == "" {
			endpoint = server.Endpoint
		}
		pairs = append(pairs, "{endpoint}", endpoint, "{bucket}", server.Bucket, "{region}", objectserver.Region,
			"{access.key}", server.AccessKey, "{secret.key}", server.SecretKey)
	}
	return strings.NewReplacer(pairs...).Replace(value)
}

// ReadProperties reads a Java properties file of plain key=value lines; lines that begin with # or ! are comments.
func ReadProperties(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	properties := map[string]string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		k, v, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("%s:%d: not key=value", file, n)
		}
		properties[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return properties, lines.Err()
}

// Local is Kafka's LocalTieredStorage, which copies files: a floor for every plugin.
func Local(kafka string) (Plugin, error) {
	libs, err := cluster.FetchLocalTieredStorage(kafka)
	if err != nil {
		return Plugin{}, err
	}
	return Plugin{Name: "local", Tiered: true, Properties: map[string]string{
		"remote.log.storage.system.enable":                         "true",
		"remote.log.storage.manager.class.path":                    filepath.Join(libs, "*"),
		"remote.log.storage.manager.class.name":                    LocalClass,
		"remote.log.metadata.manager.listener.name":                "PLAINTEXT",
		"remote.log.manager.task.interval.ms":                      "1000",
		"rlmm.config.remote.log.metadata.topic.replication.factor": "1",
		"rlmm.config.remote.log.metadata.topic.num.partitions":     "4",
		"rlmm.config.remote.log.metadata.topic.min.isr":            "1",
		"rsm.config.dir":             "{dir}/store",
		"rsm.config.delete.on.close": "false",
	}}, nil
}

// LocalClass is the class of LocalTieredStorage.
const LocalClass = "org.apache.kafka.server.log.remote.storage.LocalTieredStorage"
