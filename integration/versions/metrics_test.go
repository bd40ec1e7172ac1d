package versions

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

const (
	plain       = "io.tidemark.kafka.TidemarkRemoteStorageManager"
	monitorable = "io.tidemark.kafka.TidemarkMonitorableRemoteStorageManager"
	beans       = "kafka.server:type=plugins,config=remote.log.storage.manager.class.name,class=TidemarkMonitorableRemoteStorageManager"
)

// TestPluginMetrics: from Kafka 4.1 on the monitorable class shows the metrics among the broker's own, and they move; the plain class shows
// them in its own domain on every version; on 4.0 the monitorable class stops the broker with a word that tells why.
func TestPluginMetrics(t *testing.T) {
	each(t, "KIP-877 metrics by the monitorable class", all[1:], func(t *testing.T, version string) string {
		m := newMetered(t, version, monitorable)
		before := m.read(beans, "tidemark_copy_segments_total")
		m.copySome()
		m.Eventually(30*time.Second, func() error { // polled every five seconds
			if now := m.read(beans, "tidemark_copy_segments_total"); now <= before {
				return fmt.Errorf("%s, tidemark_copy_segments_total is %v and was %v", beans, now, before)
			}
			return nil
		})
		copied, same := m.read(beans, "tidemark_copy_segments_total"), m.read(own("tidemark_copy_segments_total"), "Value")
		if copied != same {
			t.Errorf("the broker's metric says %v segments, our own bean %v", copied, same)
		}
		names, labelled := m.names("kafka.server:type=plugins,*"), 0
		for _, n := range names {
			if strings.HasPrefix(n, beans+",") {
				labelled++
			}
		}
		if labelled == 0 {
			t.Errorf("no bean with a label of ours among %v", names)
		}
		if !m.Cluster.Nodes[0].Stop(time.Minute) {
			t.Error("the broker did not stop by itself")
		}
		return fmt.Sprintf("%s moved to %v; %d beans with labels", "tidemark_copy_segments_total", copied, labelled)
	})
}

// TestPlainClassOn40: the class that every version loads, and what happens to a 4.0 broker that names the other.
func TestPlainClassOn40(t *testing.T) {
	each(t, "plain class; the monitorable one is refused", all[:1], func(t *testing.T, version string) string {
		m := newMetered(t, version, plain)
		m.copySome()
		m.Eventually(30*time.Second, func() error {
			if m.read(own("tidemark_copy_segments_total"), "Value") < 1 {
				return fmt.Errorf("no copy is counted")
			}
			return nil
		})
		n := m.Cluster.Nodes[0]
		if !n.Stop(time.Minute) {
			t.Error("the broker did not stop by itself")
		}
		if err := n.WriteProperties(map[string]string{"remote.log.storage.manager.class.name": monitorable}); err != nil {
			t.Fatal(err)
		}
		if err := n.Start(m.Ctx); err == nil {
			t.Fatal("a 4.0 broker started with a class that it cannot load")
		}
		if log := n.LifeLog(); !strings.Contains(log, "org/apache/kafka/common/metrics/Monitorable") {
			t.Errorf("the broker does not say what is missing:\n%s", n.LogTail(20))
		}
		return "the plain class counts copies in its own domain; the other stops the broker: no org.apache.kafka.common.metrics.Monitorable"
	})
}

// own is the name of the bean of one metric in our own domain.
func own(metric string) string { return "tidemark:type=Metrics,name=" + metric }

// metered is a broker whose beans can be read.
type metered struct {
	*rig.Rig
	port int
}

func newMetered(t *testing.T, version, class string) *metered {
	t.Helper()
	ports, err := cluster.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	jmx := []string{"-Dcom.sun.management.jmxremote.port=" + strconv.Itoa(ports[0]), "-Dcom.sun.management.jmxremote.host=127.0.0.1",
		"-Djava.rmi.server.hostname=127.0.0.1", "-Dcom.sun.management.jmxremote.rmi.port=" + strconv.Itoa(ports[0]),
		"-Dcom.sun.management.jmxremote.authenticate=false", "-Dcom.sun.management.jmxremote.ssl=false"}
	w := rig.Start(t, cluster.Options{Version: version, Tables: true, JVMArgs: append(jmx, quick...),
		Properties: map[string]string{"remote.log.storage.manager.class.name": class}})
	return &metered{w, ports[0]}
}

func (m *metered) copySome() {
	m.Helper()
	m.Topic("metered", 1, nil)
	m.Fill(m.Client(), rig.NewSeeded(3), "metered", 0, 3<<20)
	m.TierAll("metered")
}

func (m *metered) tool(args ...string) string {
	m.Helper()
	out, err := m.Cluster.Tool(m.Ctx, "org.apache.kafka.tools.JmxTool", append([]string{"--jmx-url",
		fmt.Sprintf("service:jmx:rmi:///jndi/rmi://127.0.0.1:%d/jmxrmi", m.port), "--one-time", "--report-format", "csv"}, args...)...)
	if err != nil {
		m.Fatal(err)
	}
	return out
}

// read is one attribute of one bean.
func (m *metered) read(bean, attribute string) float64 {
	m.Helper()
	out := m.tool("--object-name", bean, "--attributes", attribute)
	for l := range strings.Lines(out) {
		if at := strings.LastIndex(l, ":"+attribute+","); at >= 0 {
			v, err := strconv.ParseFloat(strings.Trim(l[at+len(attribute)+2:], "\" \n"), 64)
			if err == nil {
				return v
			}
		}
	}
	m.Fatalf("%s has no number %s:\n%s", bean, attribute, out)
	return 0
}

// names are the beans that match a pattern.
func (m *metered) names(pattern string) []string {
	m.Helper()
	seen := map[string]bool{}
	var out []string
	for l := range strings.Lines(m.tool("--object-name", pattern)) {
		if at := strings.LastIndex(l, ":tidemark_"); at >= 0 && !seen[l[:at]] {
			seen[l[:at]] = true
			out = append(out, l[:at])
		}
	}
	return out
}
