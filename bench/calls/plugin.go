package calls

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tidemark/bench/broker"
	"tidemark/bench/driver"
	"tidemark/bench/report"
	"tidemark/integration/cluster"
	"tidemark/integration/objectserver"
)

const ourClass = "io.tidemark.kafka.TidemarkRemoteStorageManager"

// place is where a driven plugin stores: in an S3 server through endpoint, or with no server in files.
type place struct {
	server   *objectserver.Server
	endpoint string
}

func (p place) suffix() string {
	if p.server == nil {
		return ".file"
	}
	return ".s3"
}

// driverDir is the directory of the next driver, without what a run that was ended has left there.
func (r *Run) driverDir() (string, error) {
	r.drivers++
	dir := filepath.Join(r.Dir, fmt.Sprint("driver-", r.drivers))
	return dir, os.RemoveAll(dir)
}

// drive starts a JVM with a plugin that is not configured yet. settings are ours only.
func (r *Run) drive(side report.Side, at place, settings map[string]string) (*driver.Driver, error) {
	dir, err := r.driverDir()
	if err != nil {
		return nil, err
	}
	o := driver.Options{Kafka: r.Kafka, Dir: dir, Tmp: r.tmp, Settings: map[string]string{}}
	switch side {
	case report.Ours:
		o.Class = ourClass
		o.Libs = filepath.Join(o.Dir, "libs")
		if err := os.MkdirAll(o.Libs, 0o755); err != nil {
			return nil, err
		}
		if err := os.Symlink(r.Jar, filepath.Join(o.Libs, filepath.Base(r.Jar))); err != nil {
			return nil, err
		}
		o.Settings["local.dir"] = filepath.Join(o.Dir, "local")
		if at.server == nil {
			o.Settings["store.type"], o.Settings["store.path"] = "file", filepath.Join(o.Dir, "store")
		} else {
			for k, v := range broker.TidemarkS3(at.server, at.endpoint, fmt.Sprint("driver-", r.drivers)) {
				o.Settings[k] = v
			}
		}
		for k, v := range settings {
			o.Settings[k] = v
		}
	case Local:
		libs, err := cluster.FetchLocalTieredStorage(r.Kafka)
		if err != nil {
			return nil, err
		}
		o.Class, o.Libs = broker.LocalClass, libs
		o.Settings["dir"], o.Settings["delete.on.close"] = filepath.Join(o.Dir, "store"), "false"
	case Foreign:
		given, err := broker.ReadProperties(r.Peer.Props)
		if err != nil {
			return nil, err
		}
		o.Class, o.Libs = given["remote.log.storage.manager.class.name"], r.Peer.Libs
		if r.Peer.Kafka != "" {
			o.Kafka = r.Peer.Kafka
		}
		for k, v := range given {
			if k, ok := strings.CutPrefix(k, "rsm.config."); ok {
				o.Settings[k] = broker.Fill(v, at.server, at.endpoint, o.Dir)
			}
		}
	}
	return driver.Start(o)
}

// with runs f with a configured plugin and ends it; its directory goes unless f failed.
func (r *Run) with(ctx context.Context, side report.Side, at place, settings map[string]string, f func(*driver.Driver) error) error {
	d, err := r.drive(side, at, settings)
	if err != nil {
		return err
	}
	_, err = d.Configure(ctx)
	if err == nil {
		err = f(d)
	}
	d.Close()
	if err == nil {
		err = os.RemoveAll(filepath.Join(r.Dir, fmt.Sprint("driver-", r.drivers)))
	}
	return err
}

// hasForeign reports whether there is a foreign plugin with this kind of store.
func (r *Run) hasForeign(at place) bool {
	if r.Peer.Libs == "" {
		return false
	}
	text, err := os.ReadFile(r.Peer.Props)
	return err == nil && strings.Contains(string(text), "{endpoint}") == (at.server != nil)
}

// rivals are the sides that a driven row compares in one place, ours first.
func (r *Run) rivals(at place) []report.Side {
	sides := []report.Side{report.Ours}
	if at.server == nil {
		sides = append(sides, Local)
	}
	if r.hasForeign(at) {
		sides = append(sides, Foreign)
	}
	return sides
}
