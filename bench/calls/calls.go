package calls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/bench/driver"
	"tidemark/bench/measure"
	"tidemark/bench/report"
	"tidemark/integration/faultproxy"
	"tidemark/integration/objectserver"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
)

// Peers that are no plugins.
const (
	bareClient report.Side = "bare client"
	arrayCopy  report.Side = "array copy"
	intoC      report.Side = "JNI into C"
	ownClean   report.Side = "own clean run"
)

// Peers that are plugins.
const (
	Foreign report.Side = "foreign"
	Local   report.Side = "local" // Kafka's LocalTieredStorage
)

// Peer is a foreign plugin. Without Libs there is none.
type Peer struct{ Libs, Props, Kafka string }

// Run is what the rows have in common.
type Run struct {
	Kafka, Jar, Dir string
	Rounds          int
	Full            bool
	Size            int64 // bytes, about what a row copies
	Peer            Peer
	Results         *report.Results
	Wants           func(row string) bool
	Note            func(line string) // adds a line to the report, once

	drivers int
	tmp     string // of drivers, "" is each its own
}

// driven is a row that needs no broker: a plugin is called in a JVM of its own.
type driven struct {
	row   string
	limit time.Duration
	do    func(*Run, context.Context, int) error
}

var drivenRows = []driven{
	{"03.copy.raw", 6 * time.Minute, (*Run).copyCalls},
	{"04.copy.zstd", 6 * time.Minute, (*Run).copyZstd},
	{"05.copy.encrypt", 6 * time.Minute, (*Run).copyEncrypt},
	{"07.fetch.first", 6 * time.Minute, (*Run).firstBytes},
	{"09.fetch.churn", 6 * time.Minute, (*Run).churn},
	{"11.jni.cross", 4 * time.Minute, (*Run).crossings},
	{"22.start.load", 4 * time.Minute, (*Run).loading},
	{"23.delete.topic", 10 * time.Minute, (*Run).deleting},
	{"31.degraded", 15 * time.Minute, (*Run).degraded},
}

// Round runs the wanted rows of one round.
func (r *Run) Round(ctx context.Context, round int) {
	for _, d := range drivenRows {
		if !r.Wants(d.row) || Built(d.row) != "" || ctx.Err() != nil {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, d.limit)
		from := time.Now()
		err := d.do(r, limited, round)
		cancel()
		if err != nil {
			reason, _, _ := strings.Cut(err.Error(), "\n")
			fmt.Printf("  round %d/%d %s failed: %v\n", round, r.Rounds, d.row, err)
			r.Results.Lose(d.row, report.Ours, fmt.Sprintf("round %d: %s", round, reason))
		}
		fmt.Printf("  round %d/%d %-14s took %.0f s\n", round, r.Rounds, d.row, time.Since(from).Seconds())
	}
}

// add records a number that was checked, and prints it.
func (r *Run) add(row, metric string, side report.Side, round int, v float64) {
	if !r.Results.Declared(row, metric) {
		return
	}
	r.Results.Add(row, metric, side, round, v)
	fmt.Printf("  round %d/%d %-14s %-24s %-22s %10.2f\n", round, r.Rounds, side, row, metric, v)
}

// serve starts an S3 server for a driven row, and stops it with the returned function.
func (r *Run) serve(ctx context.Context, start func(context.Context, string) (*objectserver.Server, error)) (*objectserver.Server, func(), error) {
	dir := filepath.Join(r.Dir, "driven-server")
	server, err := start(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	return server, func() {
		server.Stop()
		_ = os.RemoveAll(dir)
	}, nil
}

// proxied is an S3 server with the fault proxy before it.
func (r *Run) proxied(ctx context.Context, round int) (place, *faultproxy.Proxy, func(), error) {
	server, stop, err := r.serve(ctx, objectserver.Start)
	if err != nil {
		return place{}, nil, nil, err
	}
	proxy, err := faultproxy.Start(faultproxy.Options{Target: server.Endpoint, Seed: uint64(round)})
	if err != nil {
		stop()
		return place{}, nil, nil, err
	}
	return place{server, proxy.Endpoint}, proxy, func() { proxy.Close(); stop() }, nil
}

// segments writes segments below the run's directory; the returned function removes them.
func (r *Run) segments(n int, size int64) ([]driver.Segment, func(), error) {
	dir := filepath.Join(r.Dir, "segments")
	all, err := driver.WriteSegments(dir, 1, n, size, 0)
	return all, func() { _ = os.RemoveAll(dir) }, err
}

// copyCalls times copyLogSegmentData alone, beside a bare client that sends the same files in the same parts.
func (r *Run) copyCalls(ctx context.Context, round int) error {
	segments, remove, err := r.segments(5, r.Size/4)
	if err != nil {
		return err
	}
	defer remove()
	start, name := objectserver.StartVersity, "versitygw"
	server, stop, err := r.serve(ctx, start)
	if errors.Is(err, objectserver.ErrNoVersity) {
		name = "SeaweedFS, because there is no versitygw"
		server, stop, err = r.serve(ctx, objectserver.Start)
	}
	if err != nil {
		return err
	}
	defer stop()
	r.Note("Calls of row 03 went to " + name + ".")
	for _, at := range []place{{server, server.Endpoint}, {}} {
		for _, side := range r.rivals(at) {
			err := r.with(ctx, side, at, nil, func(d *driver.Driver) error { return r.copySide(ctx, round, side, at, d, segments) })
			if err != nil {
				r.Results.Lose("03.copy.raw", side, err.Error())
				return err
			}
		}
	}
	return r.copyBare(ctx, round, server, segments[1:])
}

func (r *Run) copySide(ctx context.Context, round int, side report.Side, at place, d *driver.Driver, segments []driver.Segment) error {
	if _, err := d.Copy(ctx, segments[0]); err != nil { // warm-up
		return err
	}
	from, err := measure.CPUOf(d.PID)
	if err != nil {
		return err
	}
	var took time.Duration
	var bytes int64
	for _, s := range segments[1:] {
		a, err := d.Copy(ctx, s)
		if err != nil {
			return err
		}
		took += a.Took()
		bytes += s.Size
	}
	to, err := measure.CPUOf(d.PID)
	if err != nil {
		return err
	}
	for _, s := range segments[1:] { // equal bytes, or no number
		if _, err := d.Fetch(ctx, s, 0, -1, 1<<20); err != nil {
			return err
		}
	}
	r.add("03.copy.raw", "call.rate"+at.suffix(), side, round, rate(bytes, took))
	r.add("03.copy.raw", "call.cpu"+at.suffix(), side, round, (to.Total()-from.Total()).Seconds()/(float64(bytes)/1e9))
	return nil
}

func (r *Run) copyBare(ctx context.Context, round int, server *objectserver.Server, segments []driver.Segment) error {
	store, err := s3.Open(ctx, server.Config("bare"), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return err
	}
	defer store.Close()
	var bytes int64
	from, cpu := time.Now(), measure.OwnCPU()
	for _, s := range segments {
		f, err := os.Open(s.Log)
		if err != nil {
			return err
		}
		_, err = store.Put(ctx, fmt.Sprint("object-", s.ID), objectstore.FileSource(f, s.Size), objectstore.Condition{})
		f.Close()
		if err != nil {
			return err
		}
		bytes += s.Size
	}
	r.add("03.copy.raw", "call.rate.s3", bareClient, round, rate(bytes, time.Since(from)))
	r.add("03.copy.raw", "call.cpu.s3", bareClient, round, (measure.OwnCPU()-cpu).Seconds()/(float64(bytes)/1e9))
	return nil
}

func rate(bytes int64, d time.Duration) float64 { return float64(bytes) / 1e6 / d.Seconds() }
