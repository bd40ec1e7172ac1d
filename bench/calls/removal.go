package calls

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"tidemark/bench/broker"
	"tidemark/bench/driver"
	"tidemark/bench/measure"
	"tidemark/bench/report"
	"tidemark/integration/faultproxy"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
)

func putBytes(ctx context.Context, store objectstore.Store, key string, data []byte) error {
	_, err := store.Put(ctx, key, bytes.NewReader(data), objectstore.Condition{})
	return err
}

// crossings measures the way from Java into the library and back, and how fast cached bytes come over it.
func (r *Run) crossings(ctx context.Context, round int) error {
	segments, remove, err := r.segments(1, 16<<20)
	if err != nil {
		return err
	}
	defer remove()
	return r.with(ctx, report.Ours, place{}, nil, func(d *driver.Driver) error {
		const row = "11.jni.cross"
		a, err := d.Cross(ctx, 2_000_000, filepath.Dir(segments[0].Dir))
		if err != nil {
			return err
		}
		r.add(row, "plain", report.Ours, round, a["plain"])
		r.add(row, "guarded", report.Ours, round, a["guarded"])
		r.add(row, "plain", intoC, round, a["c"])
		if _, err := d.Copy(ctx, segments[0]); err != nil {
			return err
		}
		for _, step := range []struct {
			name string
			size int
		}{{"64k", 64 << 10}, {"1m", 1 << 20}} {
			best := time.Duration(0)
			for range 12 { // the first ones load and compile
				a, err := d.Fetch(ctx, segments[0], 0, -1, step.size)
				if err != nil {
					return err
				}
				if best == 0 || a.Took() < best {
					best = a.Took()
				}
			}
			r.add(row, "stream."+step.name, report.Ours, round, rate(segments[0].Size, best)/1000)
			floor, err := d.Do(ctx, "array", step.size, 1<<30)
			if err != nil {
				return err
			}
			r.add(row, "stream."+step.name, arrayCopy, round, rate(1<<30, floor.Took())/1000)
		}
		return nil
	})
}

// loading is what configuring the plugin for the first time and copying a first segment takes: ours once with an empty directory for the
// extracted library and once, as at every later start of a broker, with it there.
func (r *Run) loading(ctx context.Context, round int) error {
	segments, remove, err := r.segments(1, 1<<20)
	if err != nil {
		return err
	}
	defer remove()
	r.tmp = filepath.Join(r.Dir, fmt.Sprint("tmp-", round))
	defer func() { _ = os.RemoveAll(r.tmp); r.tmp = "" }()
	if err := os.MkdirAll(r.tmp, 0o700); err != nil {
		return err
	}
	const row = "22.start.load"
	trivial, err := r.load(ctx, Local, segments[0])
	if err != nil {
		return err
	}
	fresh, err := r.load(ctx, report.Ours, segments[0])
	if err != nil {
		return err
	}
	later, err := r.load(ctx, report.Ours, segments[0])
	if err != nil {
		return err
	}
	for side, l := range map[report.Side]loaded{Local: trivial, report.Ours: later} {
		r.add(row, "load.file", side, round, l.wall)
		r.add(row, "load.cpu.file", side, round, l.cpu)
		r.add(row, "first.copy.file", side, round, l.copy)
		r.add(row, "rss.file", side, round, l.rss)
	}
	r.add(row, "fresh.file", report.Ours, round, fresh.wall)
	r.add(row, "over.cpu.file", report.Ours, round, later.cpu-trivial.cpu)
	r.add(row, "over.load.file", report.Ours, round, later.wall-trivial.wall)
	r.add(row, "over.rss.file", report.Ours, round, later.rss-trivial.rss)
	return nil
}

// loaded is in milliseconds and MiB.
type loaded struct{ wall, cpu, copy, rss float64 }

func (r *Run) load(ctx context.Context, side report.Side, s driver.Segment) (l loaded, err error) {
	d, err := r.drive(side, place{}, nil)
	if err != nil {
		return l, err
	}
	defer d.Close()
	before, err := measure.MemoryOf(d.PID)
	if err != nil {
		return l, err
	}
	cpu, err := measure.CPUOf(d.PID)
	if err != nil {
		return l, err
	}
	load, err := d.Configure(ctx)
	if err != nil {
		return l, err
	}
	after, err := measure.MemoryOf(d.PID)
	if err != nil {
		return l, err
	}
	used, err := measure.CPUOf(d.PID)
	if err != nil {
		return l, err
	}
	first, err := d.Copy(ctx, s)
	if err == nil {
		_, err = d.Fetch(ctx, s, 0, -1, 1<<16)
	}
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return loaded{ms(load.Took()), ms(used.Total() - cpu.Total()), ms(first.Took()), float64(after.RSS-before.RSS) / (1 << 20)}, err
}

// noTables: without Kafka's metadata manager the plugin waits two minutes for word of the tables before it removes an object.
var noTables = map[string]string{"tables.enabled": "false"}

// deleting removes a topic's segments one call after the other, as the broker's metadata thread does, from a store that answers in 50 ms.
func (r *Run) deleting(ctx context.Context, round int) error {
	n := 500
	if r.Full {
		n = 10000
	}
	segments, remove, err := r.segments(n, 8<<10)
	if err != nil {
		return err
	}
	defer remove()
	at, proxy, stop, err := r.proxied(ctx, round)
	if err != nil {
		return err
	}
	defer stop()
	for _, side := range r.rivals(at) {
		if err := proxy.Script(); err != nil {
			return err
		}
		err := r.with(ctx, side, at, noTables, func(d *driver.Driver) error {
			return r.deleteSide(ctx, round, side, at, proxy, d, segments)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) deleteSide(ctx context.Context, round int, side report.Side, at place, proxy *faultproxy.Proxy, d *driver.Driver, segments []driver.Segment) error {
	if _, err := d.Each(ctx, 16, segments, d.Copy); err != nil {
		return err
	}
	if err := d.Threads(ctx, 1); err != nil {
		return err
	}
	store, err := s3.Open(ctx, at.server.Config(""), slog.New(slog.NewTextHandler(io.Discard, nil))) // not through the proxy
	if err != nil {
		return err
	}
	defer store.Close()
	objects, err := count(ctx, store, "driver-")
	if err != nil {
		return err
	}
	if objects < len(segments) {
		return fmt.Errorf("%d objects of %d segments are in the store", objects, len(segments))
	}
	if err := proxy.Script(faultproxy.Rule{Name: "latency", Fault: faultproxy.Fault{Latency: 50 * time.Millisecond}}); err != nil {
		return err
	}
	proxy.Forget()
	latencies := measure.NewLatencies(len(segments))
	var sum time.Duration
	from := time.Now()
	for _, s := range segments {
		a, err := d.Delete(ctx, s)
		if err != nil {
			return err
		}
		latencies.Add(a.Took())
		sum += a.Took()
	}
	if err := broker.PollEvery(ctx, 100*time.Millisecond, func() error {
		left, err := count(ctx, store, "driver-")
		if err == nil && left > 0 {
			err = fmt.Errorf("%d of %d objects are left", left, objects)
		}
		return err
	}); err != nil {
		return err
	}
	const row = "23.delete.topic"
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	r.add(row, "call.mean.s3", side, round, ms(sum)/float64(len(segments)))
	r.add(row, "call.p99.s3", side, round, ms(latencies.Summary().P99))
	r.add(row, "call.max.s3", side, round, ms(latencies.Summary().High))
	r.add(row, "gone.s3", side, round, time.Since(from).Seconds())
	r.add(row, "requests.s3", side, round, float64(proxy.Totals().Requests)/(float64(objects)/1000))
	return nil
}

func count(ctx context.Context, store objectstore.Store, prefix string) (n int, err error) {
	for after, more := "", true; more; {
		var page []objectstore.Info
		if page, more, err = store.List(ctx, prefix, after, 1000); err != nil {
			return n, err
		}
		if n += len(page); len(page) > 0 {
			after = page[len(page)-1].Key
		}
	}
	return n, nil
}

// degraded copies and reads with a share of requests that fail: refused with 503, reset, or answered a second late.
func (r *Run) degraded(ctx context.Context, round int) error {
	n := 104
	if r.Full {
		n = 256
	}
	segments, remove, err := r.segments(n, 4<<20)
	if err != nil {
		return err
	}
	defer remove()
	at, proxy, stop, err := r.proxied(ctx, round)
	if err != nil {
		return err
	}
	defer stop()
	for _, side := range r.rivals(at) {
		for _, share := range []float64{0, 0.01, 0.1} {
			if err := proxy.Script(); err != nil { // the plugin starts undisturbed
				return err
			}
			err := r.with(ctx, side, at, map[string]string{"fetch.cache.bytes": "16777216"}, func(d *driver.Driver) error {
				return r.degradedSide(ctx, round, side, proxy, d, segments, share)
			})
			if err != nil {
				return fmt.Errorf("%s at %g %% of faults: %w", side, share*100, err)
			}
		}
	}
	return nil
}

// faults share a chance evenly.
func faults(share float64) []faultproxy.Rule {
	if share == 0 {
		return nil
	}
	// A rule sees only what the ones before it left: chances grow so that each has a third.
	third := share / 3
	return []faultproxy.Rule{
		{Name: "503", Chance: third, Fault: faultproxy.Fault{Status: 503}},
		{Name: "reset", Chance: third / (1 - third), Fault: faultproxy.Fault{Reset: faultproxy.BeforeAck}},
		{Name: "stall", Chance: third / (1 - 2*third), Fault: faultproxy.Fault{StallHeaders: time.Second}},
	}
}

func (r *Run) degradedSide(ctx context.Context, round int, side report.Side, proxy *faultproxy.Proxy, d *driver.Driver, segments []driver.Segment, share float64) error {
	if _, err := d.Each(ctx, 4, segments[:8], d.Copy); err != nil { // warm-up
		return err
	}
	segments = segments[8:]
	if side == report.Ours && share == 0 {
		side = ownClean // what the runs with faults are compared with
	}
	if err := proxy.Script(faults(share)...); err != nil {
		return err
	}
	const row = "31.degraded"
	var bytes int64
	for _, s := range segments {
		bytes += s.Size
	}
	for _, what := range []string{"copy", "fetch"} {
		call := d.Copy
		if what == "fetch" {
			call = func(ctx context.Context, s driver.Segment) (driver.Answer, error) {
				return d.Fetch(ctx, s, 0, -1, 1<<20)
			}
		}
		proxy.Forget()
		from := time.Now()
		answers, err := d.Each(ctx, 4, segments, call)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		took := time.Since(from)
		latencies := measure.NewLatencies(len(answers))
		for _, a := range answers {
			latencies.Add(a.Took())
		}
		name := fmt.Sprintf("%s.%g%%.", what, share*100)
		r.add(row, name+"rate.s3", side, round, rate(bytes, took))
		r.add(row, name+"p99.s3", side, round, float64(latencies.Summary().P99)/float64(time.Millisecond))
		r.add(row, name+"requests.s3", side, round, float64(proxy.Totals().Requests)/float64(len(segments)))
	}
	return nil
}
