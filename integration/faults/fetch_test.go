package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/integration/faultproxy"
)

// journalName is the file of tombstones.
const journalName = "tombstones.journal"

// journal is the bytes of the tombstone journal.
func (p *point) journal() []byte {
	b, _ := os.ReadFile(filepath.Join(p.node().Dir(), "tidemark", journalName))
	return b
}

// journalled tells whether the journal has a tombstone of one of the segments.
func (p *point) journalled(objects map[string]object) bool {
	b := p.journal()
	for _, o := range objects {
		if bytes.Contains(b, o.segment[:]) {
			return true
		}
	}
	return false
}

// journalledNotFinished counts the segments that have a tombstone and whose deletion the metadata does not have as done.
func (p *point) journalledNotFinished(objects map[string]object) (n int) {
	p.Helper()
	b, states := p.journal(), p.states()
	for _, o := range objects {
		if bytes.Contains(b, o.segment[:]) && states[o.segment] != deleteFinished {
			n++
		}
	}
	return n
}

// reading reads the topic from its start beside the row, until stop.
func (p *point) reading() (stop func()) {
	ctx, cancel := context.WithCancel(p.Ctx)
	cl := p.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{p.topic: {0: kgo.NewOffset().AtStart()}}))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			cl.PollFetches(ctx)
		}
	}()
	return func() { cancel(); <-done }
}

// cacheTorn kills the broker while chunks come into the disk cache, and tears what is there as the loss of a page would.
func cacheTorn(p *point) {
	p.begin(eager)
	p.create(nil)
	p.fill(3 * pointSegment)
	p.TierAll(p.topic)
	dir := regexp.MustCompile(`(?m)^rsm\.config\.fetch\.disk\.cache\.dir=(.*)$`).FindStringSubmatch(p.propertiesText())[1]
	before := allocated(dir)
	p.script(p.hold(never, 4, `\.log$`, faultproxy.GetRange))
	stop := p.reading()
	p.held(1)
	p.Eventually(time.Minute, func() error {
		if n := allocated(dir) - before; n < 1<<20 {
			return fmt.Errorf("%d bytes have come into the disk cache", n)
		}
		return nil
	})
	p.kill()
	stop()
	if n := tear(p, dir); n == 0 {
		p.Fatalf("there is nothing to tear in %s", dir)
	}
	p.begin(eager)
	p.whole()
	if p.metric("fetch_disk_damaged_blocks_total") == 0 {
		p.Errorf("damage in the disk cache was not met")
	}
	p.freed(0, 0)
}

func (p *point) propertiesText() string {
	p.Helper()
	b, err := os.ReadFile(p.node().PropertiesFile())
	if err != nil {
		p.Fatal(err)
	}
	return string(b)
}

// allocated is how many bytes the files of a directory take on disk.
func allocated(dir string) (n int64) {
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range files {
		if fi, err := os.Stat(name); err == nil {
			n += fi.Sys().(*syscall.Stat_t).Blocks * 512
		}
	}
	return n
}

// tear zeroes pages that hold data, one in 64 KiB.
func tear(p *point, dir string) (torn int) {
	p.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range files {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			p.Fatal(err)
		}
		page, zero := make([]byte, 4096), make([]byte, 4096)
		fi, _ := f.Stat()
		for at := int64(40 << 10); at < min(fi.Size(), 128<<20); at += 64 << 10 {
			if n, _ := f.ReadAt(page, at); n == len(page) && !bytes.Equal(page, zero) {
				if _, err := f.WriteAt(zero, at); err != nil {
					p.Fatal(err)
				}
				torn++
			}
		}
		f.Close()
	}
	return torn
}

// shutDown tells the broker to stop while reads ahead are on their way to a store that does not answer.
func shutDown(p *point) {
	p.begin(eager)
	p.create(nil)
	p.fill(3 * pointSegment)
	p.TierAll(p.topic)
	p.script(p.hold(never, 1, `\.log$`, faultproxy.GetRange))
	stop := p.reading()
	p.held(1)
	const grace = time.Minute
	if !p.node().Stop(grace) {
		p.Errorf("the broker did not stop by itself within %v", grace)
	}
	stop()
	if code, ok := p.node().ExitCode(); !ok || code != 143 && code != 0 {
		p.Errorf("the broker ended with code %d", code)
	}
	for _, word := range []string{"SIGSEGV", "SIGABRT", "SIGBUS", "fatal error: ", "A fatal error has been detected"} {
		if strings.Contains(p.node().LifeLog(), word) {
			p.Errorf("the broker's log has %q", word)
		}
	}
	p.begin(eager)
	p.whole()
	p.freed(0, 0)
}
