package faults

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/integration/faultproxy"
	"tidemark/integration/rig"
)

// segments is how many the log of a copy row has once everything is tiered.
const segments = 2

// again starts the broker and looks at the aftermath of a killed copy: more are complete copies beside the referenced ones, logs are log
// objects without a sidecar, uploads are open ones.
func (p *point) again(more, logs, uploads int) {
	p.Helper()
	p.begin(eager)
	p.whole()
	p.left("after the restart", segments+more, logs, uploads)
	p.freed(0, uploads) // what the metadata knows as begun goes with the topic
	for _, u := range p.uploads() {
		if err := p.direct.AbortUpload(p.Ctx, u[0], u[1]); err != nil {
			p.Errorf("%v", err)
		}
	}
}

// uploads are key and id of those that are open.
func (p *point) uploads() (out [][2]string) {
	p.Helper()
	open, _, err := p.direct.ListUploads(p.Ctx, "segments/"+p.id+"/", 100)
	if err != nil {
		p.Fatal(err)
	}
	for _, u := range open {
		out = append(out, [2]string{u.Key, u.ID})
	}
	return out
}

func beforeStarted(p *point) {
	p.begin(lazy) // nothing is copied for an hour after the leader was elected
	p.create(nil)
	p.fill(pointBytes)
	p.kill()
	if n := len(p.states()); n != 0 {
		p.Fatalf("the metadata knows %d segments already", n)
	}
	p.left("at the point", 0, 0, 0)
	p.again(0, 0, 0)
}

// copying begins a copy whose request is held, and waits for it.
func (p *point) copying(rules func() []faultproxy.Rule) {
	p.Helper()
	p.begin(eager)
	p.create(nil)
	p.script(rules()...)
	p.fill(pointBytes)
	p.held(1)
}

// killStarted kills the broker while the metadata has the segment as begun.
func (p *point) killStarted() {
	p.Helper()
	p.kill()
	if n, all := p.inState(copyStarted), len(p.states()); n != 1 || all != 1 {
		p.Fatalf("the metadata has %d segments begun of %d, wanted 1 of 1", n, all)
	}
}

func afterStarted(p *point) {
	p.copying(func() []faultproxy.Rule {
		return []faultproxy.Rule{p.hold(never, 0, `\.log$`, faultproxy.CreateMultipart, faultproxy.PutObject)}
	})
	p.killStarted()
	p.left("at the point", 0, 0, 0)
	p.again(0, 0, 0)
}

func insideUpload(p *point) {
	p.copying(func() []faultproxy.Rule { return []faultproxy.Rule{p.hold(never, 1, `\.log$`, faultproxy.UploadPart)} })
	p.killStarted()
	p.left("at the point", 0, 0, 1)
	p.again(0, 0, 1)
}

func logObjectOnly(p *point) {
	p.copying(func() []faultproxy.Rule {
		return []faultproxy.Rule{p.hold(never, 0, `\.sidecar$`, faultproxy.PutObject)}
	})
	p.killStarted()
	p.left("at the point", 0, 1, 0)
	p.again(0, 1, 0)
}

func insideSidecar(p *point) {
	p.copying(func() []faultproxy.Rule {
		return []faultproxy.Rule{p.hold(faultproxy.Fault{BytesPerSecond: 20}, 0, `\.sidecar$`, faultproxy.PutObject)}
	})
	p.Eventually(30*time.Second, func() error {
		for _, r := range p.proxy.InFlight() {
			if r.Fault == "hold" && r.Received > 0 {
				return nil
			}
		}
		return fmt.Errorf("no byte of the sidecar is on its way")
	})
	p.killStarted()
	p.left("at the point", 0, 1, 0)
	p.again(0, 1, 0)
}

// unanswered holds the reply to the put of a sidecar, which the store has then.
func unanswered(p *point) {
	p.Helper()
	p.copying(func() []faultproxy.Rule {
		return []faultproxy.Rule{p.hold(faultproxy.Fault{StallHeaders: 15 * time.Second}, 0, `\.sidecar$`, faultproxy.PutObject)}
	})
	p.Eventually(10*time.Second, func() error {
		if both, _, _ := p.count(); both != 1 {
			return fmt.Errorf("the store has %d complete segments, 1 is wanted", both)
		}
		return nil
	})
}

func notReturned(p *point) {
	unanswered(p)
	p.killStarted()
	p.left("at the point", 1, 0, 0)
	p.again(1, 0, 0)
}

// notFinished makes the metadata topic refuse writes while the reply to the sidecar's put is held, so that the copy returns and its end
// cannot be recorded. Its topic is a table.
func notFinished(p *point) {
	p.begin(eager)
	p.create(nil)
	p.CreateTable(p.topic)
	p.script(p.hold(faultproxy.Fault{StallHeaders: 15 * time.Second}, 0, `\.sidecar$`, faultproxy.PutObject))
	records := p.fill(pointBytes)
	p.held(1)
	p.recordable(false)
	completed := regexp.MustCompile(`copy\.completed.*topic=` + p.topic + `\b`)
	p.Eventually(time.Minute, func() error {
		if !completed.MatchString(p.node().LifeLog()) {
			return fmt.Errorf("the copy has not returned")
		}
		return nil
	})
	p.killStarted()
	p.left("at the point", 1, 0, 0)
	p.begin(eager)
	p.whole()
	p.left("after the restart", segments+1, 0, 0)
	p.Covered(p.topic)
	p.SameRows(p.Rows(p.topic, rig.RawValue), records)
	p.Verify(p.topic)
	p.freed(0, 0)
}

func notDeleted(p *point) {
	p.begin(eager)
	p.create(nil)
	p.fill(pointBytes)
	p.Eventually(time.Minute, func() error {
		if n := p.inState(copyFinished); n != 1 {
			return fmt.Errorf("the metadata has %d copied segments", n)
		}
		return nil
	})
	p.kill()
	p.left("at the point", 1, 0, 0)
	before := p.objects()
	p.begin(eager)
	p.whole()
	for name := range before {
		if _, ok := p.objects()[name]; !ok {
			p.Errorf("%s is no more", name)
		}
	}
	p.left("after the restart", segments, 0, 0)
	p.freed(0, 0)
}

func whileDeleting(p *point) {
	p.begin(eager)
	p.create(map[string]string{"file.delete.delay.ms": "20000"})
	p.fill(pointBytes)
	p.Alter(p.topic, "local.retention.ms", "1")
	p.Eventually(time.Minute, func() error {
		if found, _ := filepath.Glob(filepath.Join(p.node().LogDirs[0], p.topic+"-0", "*.log.deleted")); len(found) == 0 {
			return fmt.Errorf("no local segment waits for its deletion")
		}
		return nil
	})
	p.kill()
	p.again(0, 0, 0)
}

// tombstoned kills the broker when the journal has a tombstone whose deletion the metadata does not have as done, while the store takes
// no delete.
func tombstoned(p *point) {
	all := p.removing(faultproxy.Rule{Name: "hold", Ops: []faultproxy.Op{faultproxy.Delete, faultproxy.DeleteBatch}, Fault: never})
	p.left("at the point", all, 0, 0)
	p.removed(all)
}

// deleted is the same while the store takes deletes.
func deleted(p *point) { p.removed(p.removing()) }

// small makes a tiered topic of several segments.
func (p *point) small() (all int) {
	p.Helper()
	p.begin(eager)
	p.create(map[string]string{"segment.bytes": "1048576"})
	p.fill(pointBytes)
	p.TierAll(p.topic)
	all, _, _ = p.count()
	return all
}

// expire makes Kafka delete all segments, now and after a restart: what was deleted by an offset is forgotten in a crash, because Kafka
// keeps the start of a log in a checkpoint of every minute.
func (p *point) expire() { p.Helper(); p.Alter(p.topic, "retention.ms", "1") }

// removing lets Kafka delete segments and kills it at the point.
func (p *point) removing(rules ...faultproxy.Rule) (all int) {
	p.Helper()
	all = p.small()
	p.script(rules...)
	objects := p.objects()
	p.expire()
	for end := time.Now().Add(time.Minute); ; {
		if time.Now().After(end) {
			p.Fatal("the journal had no tombstone whose deletion was not recorded")
		}
		if !p.journalled(objects) {
			continue // the resolution of the moment
		}
		p.node().Pause()
		if open := p.journalledNotFinished(objects); open > 0 {
			break
		}
		p.node().Resume()
	}
	p.kill()
	return all
}

// removed says that the deletion is repeated until nothing is left and the metadata says so.
func (p *point) removed(all int) {
	p.Helper()
	p.begin(eager)
	p.Eventually(2*time.Minute, func() error {
		if b, l, s := p.count(); b+l+s > 0 {
			return fmt.Errorf("%d segments, %d log objects, %d sidecars are left", b, l, s)
		}
		if n := p.inState(deleteFinished); n != all {
			return fmt.Errorf("the metadata has %d of %d segments deleted", n, all)
		}
		return nil
	})
	p.freed(0, 0)
}

func halfRemoved(p *point) {
	all := p.small()
	p.script(p.hold(never, 0, `\.log$`, faultproxy.Delete), faultproxy.Rule{Name: "hold", Ops: []faultproxy.Op{faultproxy.DeleteBatch}, Skip: 1, Fault: never})
	p.expire()
	p.held(1)
	p.kill()
	both, logs, sidecars := p.count()
	if logs == 0 || sidecars > 0 {
		p.Errorf("at the point: %d segments, %d log objects and %d sidecars alone: nothing is half removed", both, logs, sidecars)
	}
	p.removed(all)
}

// journalLost removes the journal while its objects are in the store and Kafka has forgotten their segments.
func journalLost(p *point) {
	if settings, err := os.ReadFile("../../docs/config.md"); err != nil || !bytes.Contains(settings, []byte("sweep.interval.ms")) {
		p.cannot("the broker has no sweep for orphaned objects")
	}
	all := p.small()
	gone := p.deleteBefore(300)
	p.kill()
	if err := os.Remove(filepath.Join(p.node().Dir(), "tidemark", journalName)); err != nil {
		p.Fatal(err)
	}
	p.left("at the point", all, 0, 0)
	p.sweeping("1000", "false")
	defer p.sweeping("0", "true")
	p.begin(eager)
	p.Eventually(2*time.Minute, func() error {
		if both, _, _ := p.count(); both != all-gone {
			return fmt.Errorf("%d segments are in the store, %d of %d are known to Kafka", both, all-gone, all)
		}
		return nil
	})
	p.freed(0, 0)
}

// sweeping sets how often, and whether really, the broker sweeps from its next start on.
func (p *point) sweeping(every, dry string) {
	p.Helper()
	for key, value := range map[string]string{"interval.ms": every, "dry.run": dry, "grace.ms": "10000"} {
		if err := p.node().SetProperty("rsm.config.sweep."+key, value); err != nil {
			p.Fatal(err)
		}
	}
}

// deleteBefore deletes the segments before an offset while the store takes no delete, until Kafka has forgotten them, and returns how many
// they are.
func (p *point) deleteBefore(offset int64) (gone int) {
	p.Helper()
	var bases []int64
	for name := range p.objects() {
		base, err := strconv.ParseInt(name[strings.LastIndex(name, "/")+1:][:20], 10, 64)
		if err != nil {
			p.Fatal(err)
		}
		bases = append(bases, base)
	}
	slices.Sort(bases)
	for _, next := range bases[1:] {
		if next <= offset {
			gone++
		}
	}
	p.script(faultproxy.Rule{Name: "hold", Ops: []faultproxy.Op{faultproxy.Delete, faultproxy.DeleteBatch}, Fault: never})
	offsets := kadm.Offsets{}
	offsets.Add(kadm.Offset{Topic: p.topic, At: offset, LeaderEpoch: -1})
	if _, err := p.Admin().DeleteRecords(p.Ctx, offsets); err != nil {
		p.Fatal(err)
	}
	p.Eventually(time.Minute, func() error {
		if n := p.inState(deleteFinished); n != gone || n == 0 {
			return fmt.Errorf("Kafka has deleted %d segments of %d", n, gone)
		}
		return nil
	})
	return gone
}

// scrape reads one series.
func scrape(t *testing.T, url, name string) float64 {
	t.Helper()
	reply, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	text, _ := io.ReadAll(reply.Body)
	m := regexp.MustCompile(`(?m)^tidemark_` + name + `(?:\{[^}]*\})? (\S+)`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("there is no series %s", name)
	}
	v, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
