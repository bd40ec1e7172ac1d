package faults

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tidemark/integration/cluster"
	"tidemark/integration/faultproxy"
	"tidemark/integration/rig"
	"tidemark/internal/kafkalog"
)

// How often Kafka looks for segments to copy and to delete: hardly ever, or all the time.
const (
	lazy  = "3600000"
	eager = "500"
)

const interval = "remote.log.manager.task.interval.ms"

func (p *point) node() *cluster.Node { return p.Cluster.Nodes[0] }

// begin starts the broker with an interval, if it does not run with it already, and ends all faults.
func (p *point) begin(every string) {
	p.Helper()
	p.script()
	b, err := os.ReadFile(p.node().PropertiesFile())
	if err != nil {
		p.Fatal(err)
	}
	defer p.recordable(true)
	if p.node().Alive() && strings.Contains(string(b), interval+"="+every+"\n") {
		return
	}
	p.node().Stop(time.Minute)
	if err := p.node().SetProperty(interval, every); err != nil {
		p.Fatal(err)
	}
	if err := p.node().Start(p.Ctx); err != nil {
		p.Fatal(err)
	}
}

// recordable makes Kafka's topic of metadata take writes, or refuse them.
func (p *point) recordable(yes bool) {
	p.Helper()
	switch {
	case !yes:
		p.Alter("__remote_log_metadata", "max.message.bytes", "1")
	case p.refusing:
		p.Alter("__remote_log_metadata", "max.message.bytes", "1048588")
	}
	p.refusing = !yes
}

func (p *point) script(rules ...faultproxy.Rule) {
	p.Helper()
	if err := p.proxy.Script(rules...); err != nil {
		p.Fatal(err)
	}
}

// hold makes a fault of the row's requests.
func (p *point) hold(f faultproxy.Fault, skip int, suffix string, ops ...faultproxy.Op) faultproxy.Rule {
	return faultproxy.Rule{Name: "hold", Ops: ops, Key: "^segments/" + regexp.QuoteMeta(p.id) + "/.*" + suffix, Skip: skip, Fault: f}
}

var never = faultproxy.Fault{BlackHole: true}

// create makes the row's topic, so that its id is known before anything is produced.
func (p *point) create(configs map[string]string) {
	p.Helper()
	all := map[string]string{"segment.bytes": fmt.Sprint(pointSegment)}
	for k, v := range configs {
		all[k] = v
	}
	p.Topic(p.topic, 1, all)
	p.raw, p.id = p.TopicID(p.topic)
}

// fill produces and keeps the bytes of the log.
func (p *point) fill(size int) []rig.Record {
	p.Helper()
	records := p.Fill(p.Client(), rig.NewSeeded(p.row[1]), p.topic, 0, size)
	p.saved = p.Save(p.topic).Whole(0)
	return records
}

// held waits until n requests of the script are held.
func (p *point) held(n int) {
	p.Helper()
	p.Eventually(time.Minute, func() error {
		have := 0
		for _, r := range p.proxy.InFlight() {
			if r.Fault == "hold" {
				have++
			}
		}
		if have < n {
			return fmt.Errorf("%d requests are held, %d mark the point", have, n)
		}
		return nil
	})
}

// kill is SIGKILL.
func (p *point) kill() { p.node().Kill() }

// object is what the store has of one segment.
type object struct {
	segment      [16]byte
	log, sidecar bool
}

// objects are those of the row's topic, by key without its ending.
func (p *point) objects() map[string]object {
	p.Helper()
	out := map[string]object{}
	list, more, err := p.direct.List(p.Ctx, "segments/"+p.id+"/", "", 1000)
	if err != nil || more {
		p.Fatalf("%v (more: %v)", err, more)
	}
	for _, o := range list {
		name, ending := strings.TrimSuffix(o.Key, filepath.Ext(o.Key)), filepath.Ext(o.Key)
		have := out[name]
		id, err := base64.RawURLEncoding.DecodeString(name[strings.LastIndex(name, "/")+22:])
		if err != nil || len(id) != 16 {
			p.Fatalf("%s is no key of a segment: %v", o.Key, err)
		}
		copy(have.segment[:], id)
		have.log, have.sidecar = have.log || ending == ".log", have.sidecar || ending == ".sidecar"
		out[name] = have
	}
	return out
}

// count are the objects by what is there of them: both, only the log object, only the sidecar.
func (p *point) count() (both, logs, sidecars int) {
	p.Helper()
	for _, o := range p.objects() {
		switch {
		case o.log && o.sidecar:
			both++
		case o.log:
			logs++
		default:
			sidecars++
		}
	}
	return both, logs, sidecars
}

// left fails unless the store has this of the topic.
func (p *point) left(when string, both, logs, uploads int) {
	p.Helper()
	b, l, s := p.count()
	open, _, err := p.direct.ListUploads(p.Ctx, "segments/"+p.id+"/", 100)
	if err != nil {
		p.Fatal(err)
	}
	if b != both || l != logs || s != 0 || len(open) != uploads {
		p.Errorf("%s: %d segments, %d log objects and %d sidecars alone, %d uploads; wanted %d, %d, 0, %d", when, b, l, s, len(open), both, logs, uploads)
	}
}

// States of a segment in Kafka's metadata.
const (
	copyStarted    = 0
	copyFinished   = 1
	deleteStarted  = 2
	deleteFinished = 3
)

// states are those of the topic's segments, as the log of Kafka's metadata topic on the broker's disk has them.
func (p *point) states() map[[16]byte]byte {
	p.Helper()
	out := map[[16]byte]byte{}
	for _, dir := range p.node().LogDirs {
		files, _ := filepath.Glob(filepath.Join(dir, "__remote_log_metadata-*", "*.log"))
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				p.Fatal(err)
			}
			d := kafkalog.NewDecoder(kafkalog.Limits{})
			// The last batch may be half written; what is before it counts.
			_ = kafkalog.Walk(bytes.NewReader(data), int64(len(data)), func(b kafkalog.Batch) error {
				return d.Records(b, func(r *kafkalog.Record) error {
					at := bytes.Index(r.Value, p.raw[:])
					if at < 0 || len(r.Value) < at+37+2 || r.Value[1] > 1 {
						return nil
					}
					var id [16]byte
					copy(id[:], r.Value[at+16+4+1:]) // after the topic's id, the partition and no tags
					state := byte(copyStarted)
					if r.Value[1] == 1 { // behind the version of the frame: an update: the state is last, before no tags
						state = r.Value[len(r.Value)-2]
					}
					out[id] = max(out[id], state)
					return nil
				})
			})
		}
	}
	return out
}

// inState counts the segments in a state.
func (p *point) inState(state byte) (n int) {
	p.Helper()
	for _, s := range p.states() {
		if s == state {
			n++
		}
	}
	return n
}

// whole says that everything can be read, byte for byte, from the store alone.
func (p *point) whole() {
	p.Helper()
	p.TierAll(p.topic)
	if d := rig.Different(p.FetchAll(p.topic, 0), p.saved); d != "" {
		p.Errorf("what Fetch returns differs from what was in the log: %s", d)
	}
}

// freed deletes the topic: everything of it that the metadata knows goes, and logs and uploads stay for a sweep.
func (p *point) freed(logs, uploads int) {
	p.Helper()
	if _, err := p.Admin().DeleteTopic(p.Ctx, p.topic); err != nil {
		p.Fatal(err)
	}
	p.Eventually(time.Minute, func() error {
		if b, l, s := p.count(); b+s > 0 || l > logs {
			return fmt.Errorf("after the deletion of the topic there are %d segments, %d log objects and %d sidecars", b, l, s)
		}
		return nil
	})
	p.left("after the deletion of the topic", 0, logs, uploads)
}

// metric is the value of a series on the broker's HTTP listener.
func (p *point) metric(name string) float64 {
	p.Helper()
	b, err := os.ReadFile(p.node().PropertiesFile())
	if err != nil {
		p.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^rsm\.config\.http\.listener=(.*)$`).FindSubmatch(b)
	if m == nil {
		p.Fatal("the broker has no HTTP listener")
	}
	return scrape(p.T, "http://"+string(m[1])+"/metrics", name)
}
