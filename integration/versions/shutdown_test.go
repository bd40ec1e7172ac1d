package versions

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/integration/cluster"
	"tidemark/integration/faultproxy"
	"tidemark/integration/rig"
)

// TestShutdown: a broker that is told to stop while ten copies and many reads are on the way to a slow store does so within its grace time and
// without a native crash, whichever of the plugin and its callers Kafka stops first; the uploads are given up in order; afterwards nothing is
// missing and nothing is left over.
func TestShutdown(t *testing.T) {
	each(t, "stop during 10 copies and many reads", ends, func(t *testing.T, version string) string {
		s := &stopping{slowStore: newSlowStore(t, cluster.Options{Version: version, Heap: "512m", Properties: map[string]string{
			"remote.log.manager.copier.thread.pool.size": "10", "rsm.config.store.s3.single.put.below.bytes": "5242880",
			"rsm.config.store.s3.part.bytes": "5242880", "rsm.config.store.s3.part.concurrency": "2", "remote.fetch.max.wait.ms": "20000",
			"rsm.config.fetch.cache.bytes": "16777216", "broker.session.timeout.ms": "6000",
		}}, 10*time.Minute)}
		return s.run()
	})
}

const (
	stoppingCopies = 10      // partitions, each with a copy in flight
	stoppingBytes  = 7 << 20 // of a segment: two parts
)

type stopping struct {
	*slowStore
	n *cluster.Node
}

func (s *stopping) run() string {
	s.n = s.Cluster.Nodes[0]
	s.Topic("read", stoppingCopies, nil)
	cl := s.Client()
	seed := rig.NewSeeded(9)
	for p := range int32(stoppingCopies) {
		s.Fill(cl, seed, "read", p, 2200<<10)
	}
	s.TierAll("read")
	read := s.Consume("read")

	s.Topic("copied", stoppingCopies, map[string]string{"segment.bytes": fmt.Sprint(stoppingBytes)})
	_, s.id = s.TopicID("copied")
	s.hang(faultproxy.UploadPart, faultproxy.GetObject, faultproxy.GetRange)
	for p := range int32(stoppingCopies) {
		s.Fill(cl, seed, "copied", p, stoppingBytes+1<<20)
	}
	copied := s.Consume("copied")
	s.Eventually(time.Minute, func() error {
		if n := len(s.copying(faultproxy.UploadPart)); n < stoppingCopies {
			return fmt.Errorf("%d of %d copies are on their way", n, stoppingCopies)
		}
		return nil
	})
	reads, end := s.reading()
	took := s.stop()
	end()
	begun, ended := s.uploads()

	s.serve()
	if err := s.n.Start(s.Ctx); err != nil {
		s.Fatal(err)
	}
	s.TierAll("copied")
	s.SameRecords(s.Consume("copied"), copied)
	s.SameRecords(s.Consume("read"), read)
	s.clean()
	return fmt.Sprintf("stopped in %.1f s with %d copies and %d GETs of 30 readers in flight; %d uploads begun, %d given up in order; all %d records there",
		took.Seconds(), stoppingCopies, reads, begun, ended, len(copied)+len(read))
}

// reading sends thirty fetches of remote data that cannot be answered, and returns how many of the store's GETs were waiting then.
func (s *stopping) reading() (waiting int, end func()) {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Ctx)
	var wg sync.WaitGroup
	for i := range 3 * stoppingCopies { // each of one partition: before Kafka 4.2 a fetch reads one from remote
		cl := s.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"read": {int32(i % stoppingCopies): kgo.NewOffset().AtStart()}}),
			kgo.FetchMaxWait(20*time.Second))
		wg.Add(1)
		go func() {
			defer wg.Done()
			for ctx.Err() == nil {
				cl.PollFetches(ctx)
			}
		}()
	}
	// Kafka has ten reader threads; whatever they wait for, more fetches are queued behind them.
	s.Eventually(time.Minute, func() error {
		waiting = 0
		for _, r := range s.proxy.InFlight() {
			if r.Op == faultproxy.GetObject || r.Op == faultproxy.GetRange {
				waiting++
			}
		}
		if waiting < 5 {
			return fmt.Errorf("%d reads of the store are on their way", waiting)
		}
		return nil
	})
	return waiting, func() { cancel(); wg.Wait() }
}

var crash = regexp.MustCompile(`SIGSEGV|SIGABRT|SIGBUS|fatal error: |A fatal error has been detected|core dumped`)

// stop tells the broker to stop and waits until it has, by itself.
func (s *stopping) stop() time.Duration {
	s.Helper()
	const grace = 60 * time.Second
	from := time.Now()
	if !s.n.Stop(grace) {
		s.Errorf("the broker did not stop by itself within %s:\n%s", grace, s.n.LogTail(40))
	}
	took := time.Since(from)
	if found := crash.FindString(s.n.LifeLog()); found != "" {
		s.Errorf("the broker's log has %q:\n%s", found, s.n.LogTail(60))
	}
	root, err := cluster.Root()
	if err != nil {
		s.Fatal(err)
	}
	for _, dir := range []string{s.n.Dir(), filepath.Join(root, "integration", "versions"), root} {
		for _, pattern := range []string{"hs_err*", "core", "core.*"} {
			if found, _ := filepath.Glob(filepath.Join(dir, pattern)); len(found) > 0 {
				s.Errorf("the broker crashed: %v", found)
			}
		}
	}
	if code, ok := s.n.ExitCode(); !ok || code != 143 && code != 0 { // 128 + SIGTERM is how a JVM ends that was told to
		s.Errorf("the broker ended with code %d (ended: %v)", code, ok)
	}
	return took
}

// uploads counts the multipart uploads of log objects that the broker began, and those that it completed or aborted.
func (s *stopping) uploads() (begun, ended int) {
	s.Helper()
	open := map[string]int{}
	for _, r := range s.proxy.Requests() {
		if !strings.Contains(r.Key, s.id) {
			continue
		}
		switch r.Op {
		case faultproxy.CreateMultipart:
			begun++
			open[r.Key]++
		case faultproxy.Complete, faultproxy.Abort:
			if r.Status/100 == 2 {
				ended++
				open[r.Key]--
			}
		}
	}
	for key, n := range open {
		if n != 0 {
			s.Errorf("%d uploads of %s were neither completed nor aborted", n, key)
		}
	}
	if begun < stoppingCopies {
		s.Errorf("%d uploads were begun, %d are wanted", begun, stoppingCopies)
	}
	return begun, ended
}
