package versions

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

// three are settings for brokers that come and go.
var three = map[string]string{"rsm.config.tables.linger.ms": "500", "rsm.config.tables.list.interval.ms": "5000", "broker.session.timeout.ms": "6000",
	"controller.quorum.election.timeout.ms": "1000", "min.insync.replicas": "2"}

// TestRollingUpgrade: three brokers, controllers too, go from the oldest to the newest Kafka one by one, then the cluster's features do,
// while a topic is produced, consumed by a group, tiered and a table. In every mix of versions every broker reads every segment that any
// version has tiered.
func TestRollingUpgrade(t *testing.T) {
	from, to := ends[0], ends[1]
	t.Run(from+" to "+to, func(t *testing.T) {
		note(t, from+" -> "+to, "rolling upgrade of three brokers under load", func() string { return upgrade(t, from, to) })
	})
}

const upgraded = 3 // partitions, each led by another broker

type upgrading struct {
	*rig.Rig
	mixes []mix
	reads int
}

// mix is a topic that was tiered while brokers of a mix of versions ran.
type mix struct {
	topic string
	files rig.Saved
}

func upgrade(t *testing.T, from, to string) string {
	u := &upgrading{Rig: rig.PrepareFor(t, cluster.Options{Version: from, Nodes: 3, Tables: true, Heap: "384m", JVMArgs: quick, Properties: three}, 20*time.Minute)}
	if err := u.Cluster.StartAll(u.Ctx); err != nil {
		t.Fatal(err)
	}
	const topic = "upgrading"
	u.Topic(topic, upgraded, map[string]string{"local.retention.ms": "5000"})
	u.CreateTable(topic)
	b := u.ProduceBeside(topic, upgraded, 100<<10)
	group := u.Follow(topic, "upgrading-group", 0)
	b.GoesOn(300)
	u.tierAndRead()
	for _, n := range u.Cluster.Nodes {
		began := time.Now()
		if !n.Stop(time.Minute) {
			t.Errorf("broker %d did not stop by itself within a minute:\n%s", n.ID, n.LogTail(20))
		}
		u.Took(fmt.Sprintf("broker %d stopped", n.ID), began)
		if err := n.SetVersion(to); err != nil {
			t.Fatal(err)
		}
		if err := n.SetProperty("remote.log.storage.manager.class.name", monitorable); err != nil { // each broker as soon as it has left 4.0
			t.Fatal(err)
		}
		b.GoesOn(100)
		began = time.Now()
		if err := n.Start(u.Ctx); err != nil {
			t.Fatal(err)
		}
		u.Took(fmt.Sprintf("broker %d serves with Kafka %s", n.ID, to), began)
		u.AllInSync()
		u.Prefer(topic)
		b.GoesOn(300)
		u.tierAndRead()
	}
	before, after := u.finalize(to)
	b.GoesOn(300)
	u.tierAndRead()
	acked := b.Stop()
	group.Reached(len(acked), 2*time.Minute)

	log := u.Consume(topic)
	u.InLog(log, acked)
	u.SameRecords(group.Stop(), log)
	u.TierAll(topic)
	u.InLog(u.Consume(topic), acked) // from the store, whichever version wrote it
	u.Covered(topic)
	u.SameRows(u.Rows(topic, rig.RawValue), log)
	u.Verify(topic)
	return fmt.Sprintf("metadata.version %s to %s; %d records once in log, group and table; %d mixes of versions, %d whole partitions read equal by every broker",
		before, after, len(log), len(u.mixes), u.reads)
}

// tierAndRead tiers a new topic by the brokers as they are now and has every broker read, from the store, it and those before it.
func (u *upgrading) tierAndRead() {
	u.Helper()
	defer u.Took(fmt.Sprintf("mix %d tiered and read by every broker", len(u.mixes)+1), time.Now())
	m := mix{topic: fmt.Sprintf("mix-%d", len(u.mixes)+1)}
	u.Topic(m.topic, upgraded, nil)
	cl, s := u.Client(), rig.NewSeeded(byte(len(u.mixes)))
	defer cl.Close()
	for p := range int32(upgraded) {
		u.Fill(cl, s, m.topic, p, 2200<<10)
	}
	m.files = u.Save(m.topic)
	_, id := u.TopicID(m.topic)
	u.TierAll(m.topic)
	u.SameStored(id, m.files)
	u.mixes = append(u.mixes, m)
	for _, old := range u.mixes {
		for p := range int32(upgraded) {
			want := old.files.Whole(p)
			for _, n := range u.Cluster.Nodes {
				if d := rig.Different(u.FetchAllFrom(n.ID, old.topic, p), want); d != "" {
					u.Errorf("%s-%d read from broker %d differs from what was written: %s", old.topic, p, n.ID, d)
				}
				u.reads++
			}
		}
	}
}

var finalized = regexp.MustCompile(`Feature: metadata\.version\s.*FinalizedVersionLevel: (\S+)`)

// finalize raises the features of the cluster to those of a release.
func (u *upgrading) finalize(version string) (before, after string) {
	u.Helper()
	tool := func(args ...string) string {
		out, err := u.Cluster.Nodes[0].Tool(u.Ctx, "org.apache.kafka.tools.FeatureCommand", append([]string{"--bootstrap-server", u.Cluster.Bootstrap()}, args...)...)
		if err != nil {
			u.Fatal(err)
		}
		return out
	}
	level := func() string {
		out := tool("describe")
		found := finalized.FindStringSubmatch(out)
		if found == nil {
			u.Fatalf("no metadata.version in:\n%s", out)
		}
		return found[1]
	}
	before = level()
	release := strings.Join(strings.Split(version, ".")[:2], ".")
	tool("upgrade", "--release-version", release)
	u.Eventually(30*time.Second, func() error {
		if after = level(); after == before {
			return fmt.Errorf("metadata.version is still %s", after)
		}
		return nil
	})
	return before, after
}
