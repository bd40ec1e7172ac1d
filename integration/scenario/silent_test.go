package scenario

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

// TestSilentPartition: a log whose producer snapshots are missing, as those written before Kafka 2.8: Kafka fails before it calls the
// plugin, so nothing is tiered and no counter of ours moves. doctor names the partition and the cause; the partitions beside it are tiered.
func TestSilentPartition(t *testing.T) {
	w := start(t, cluster.Options{Version: "4.4.0", Tables: true, JVMArgs: quick})
	const silent, sound = "silent", "sound"
	w.AwaitLog(0, "setting=remote.fetch.max.wait.ms value=500", time.Minute) // Kafka's default
	local := map[string]string{"remote.storage.enable": "false", "local.retention.ms": "-2"}
	w.Topic(silent, 1, local)
	w.Topic(sound, 1, local)
	s, cl := rig.NewSeeded(11), w.Client()
	all := w.Fill(cl, s, silent, 0, 3500<<10)
	w.Fill(cl, s, sound, 0, 3500<<10)
	n := w.Cluster.Nodes[0]
	if !n.Stop(time.Minute) {
		t.Fatal("the broker did not stop")
	}
	snapshots, _ := filepath.Glob(filepath.Join(n.LogDirs[0], silent+"-0", "*.snapshot"))
	if len(snapshots) < 3 {
		t.Fatalf("the log has %d producer snapshots, so nothing is proved", len(snapshots))
	}
	for _, name := range snapshots {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Start(w.Ctx); err != nil {
		t.Fatal(err)
	}
	for _, topic := range []string{silent, sound} {
		w.Alter(topic, "local.retention.ms", "3600000")
		w.Alter(topic, "remote.storage.enable", "true")
	}
	w.tieredBeyond(sound, 100)
	w.AwaitLog(0, "Error occurred while copying log segments of partition: ", time.Minute)
	var found, others []string
	w.Eventually(time.Minute, func() error {
		out, _ := w.Tidemark("doctor", "--json")
		var said struct {
			Findings []struct{ Severity, Where, What, Why, Do string }
		}
		if err := json.Unmarshal([]byte(out), &said); err != nil {
			return fmt.Errorf("doctor --json: %w: %s", err, out)
		}
		found, others = nil, nil
		for _, f := range said.Findings {
			switch {
			case f.Severity == "ERROR" && f.Where == silent+"-0" && strings.Contains(f.What, "nothing is tiered") && strings.Contains(f.Why, "producer snapshot"):
				found = append(found, f.What)
			case f.Severity == "ERROR":
				others = append(others, f.Where+": "+f.What)
			}
		}
		if len(found) != 1 {
			return fmt.Errorf("doctor does not name %s-0: %s", silent, out)
		}
		return nil
	})
	if len(others) > 0 {
		t.Errorf("doctor finds errors in what is right: %v", others)
	}
	w.InLog(w.Consume(silent), all) // whatever is not tiered is served
	w.Done("a log without producer snapshots is not tiered by Kafka; doctor says: %s-0: %s", silent, found[0])
}

// tieredBeyond waits until partition 0 is tiered beyond an offset.
func (w *world) tieredBeyond(topic string, offset int64) {
	w.Helper()
	w.Eventually(time.Minute, func() error {
		listed, err := w.Admin().ListLatestRemoteOffsets(w.Ctx, topic)
		if err != nil {
			return err
		}
		if o, ok := listed.Lookup(topic, 0); !ok || o.Offset <= offset {
			return fmt.Errorf("%s-0 is tiered up to %d, wanted is more than %d", topic, o.Offset, offset)
		}
		return nil
	})
}
