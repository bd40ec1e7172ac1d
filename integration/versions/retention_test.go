package versions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

// TestLocalRetention: three brokers whose segments are of different sizes, so that leader and followers never roll at the same offset. After
// many leader moves no replica keeps more than local retention allows, and what is not local any more is read from the store.
func TestLocalRetention(t *testing.T) {
	each(t, "local retention on leader and followers", ends, func(t *testing.T, version string) string {
		return newKept(t, version).moved()
	})
}

const (
	kept, keptPartitions = "kept", 3
	localRetention       = 3 << 20
)

// segmentSizes is log.segment.bytes by broker.
var segmentSizes = []int64{1 << 20, 1400 << 10, 1900 << 10}

type keptLocally struct {
	*rig.Rig
	all []rig.Record
}

func newKept(t *testing.T, version string) *keptLocally {
	k := &keptLocally{Rig: rig.PrepareFor(t, cluster.Options{Version: version, Nodes: 3, Tables: true, Heap: "384m", JVMArgs: quick, Properties: three}, 10*time.Minute)}
	for i, n := range k.Cluster.Nodes {
		if err := n.SetProperty("log.segment.bytes", fmt.Sprint(segmentSizes[i])); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Cluster.StartAll(k.Ctx); err != nil {
		t.Fatal(err)
	}
	k.Topic(kept, keptPartitions, map[string]string{"segment.bytes": "", "local.retention.bytes": fmt.Sprint(localRetention)})
	return k
}

func (k *keptLocally) moved() string {
	const rounds = 6
	cl, seeded := k.Client(kgo.ProducerBatchMaxBytes(100<<10)), rig.NewSeeded(13) // batches of a segment's size would roll alike everywhere
	for round := range rounds {
		for p := range int32(keptPartitions) {
			k.Place(kept, p, rotated(round+int(p))...)
			k.all = append(k.all, k.Fill(cl, seeded, kept, p, 3<<20)...)
		}
	}
	k.differ()
	var most int64
	k.Eventually(2*time.Minute, func() (err error) {
		most, err = k.within()
		return err
	})
	log := k.Consume(kept)
	k.InLog(log, k.all)
	if len(log) != len(k.all) {
		k.Errorf("%d records in the log, %d were acknowledged", len(log), len(k.all))
	}
	return fmt.Sprintf("%d leader moves, segments of %v bytes; no replica has more than %d local bytes, %d are to be kept; %d records read", rounds*keptPartitions, segmentSizes, most,
		localRetention, len(log))
}

// rotated are the three brokers beginning with another one each time.
func rotated(by int) (brokers []int32) {
	for i := range 3 {
		brokers = append(brokers, int32((by+i)%3)+1)
	}
	return brokers
}

// logs are the log files of a partition on a broker, with those that are being deleted.
func (k *keptLocally) logs(broker int, partition int32) (names []string, size int64) {
	k.Helper()
	names, _ = filepath.Glob(filepath.Join(k.Node(broker).LogDirs[0], fmt.Sprintf("%s-%d", kept, partition), "*.log*"))
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	return names, size
}

// differ fails unless the replicas have rolled at different offsets: else the test proves nothing.
func (k *keptLocally) differ() {
	k.Helper()
	for p := range int32(keptPartitions) {
		bases := map[string]int{}
		for broker := 1; broker <= 3; broker++ {
			names, _ := k.logs(broker, p)
			for _, name := range names {
				bases[strings.TrimSuffix(filepath.Base(name), ".deleted")]++
			}
		}
		alone := 0
		for _, replicas := range bases {
			if replicas == 1 {
				alone++
			}
		}
		if alone < 3 {
			k.Errorf("partition %d: the replicas roll at the same offsets: %v", p, bases)
		}
	}
}

// within reports the largest replica, or what keeps more than it may: the oldest segment can stay until what is left without it is less than
// local retention, and so can what its leader has not closed.
func (k *keptLocally) within() (most int64, err error) {
	const batch = 100 << 10
	limit := localRetention + segmentSizes[len(segmentSizes)-1] + batch
	remote, err := k.Admin().ListLatestRemoteOffsets(k.Ctx, kept)
	if err != nil {
		return 0, err
	}
	for p := range int32(keptPartitions) {
		tiered, _ := remote.Lookup(kept, p)
		for broker := 1; broker <= 3; broker++ {
			names, size := k.logs(broker, p)
			if size > limit {
				return 0, fmt.Errorf("broker %d keeps %d bytes of partition %d, at most %d are to be kept; its local log begins at %s, tiered is up to offset %d",
					broker, size, p, limit, filepath.Base(names[0]), tiered.Offset)
			}
			most = max(most, size)
		}
	}
	return most, nil
}
