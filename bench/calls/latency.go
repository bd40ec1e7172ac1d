package calls

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"tidemark/bench/driver"
	"tidemark/bench/measure"
	"tidemark/bench/report"
	"tidemark/integration/faultproxy"
	"tidemark/internal/objectstore/s3"
)

// injected is the latency of the store in row 07.
var injected = faultproxy.Rule{Name: "latency", Fault: faultproxy.Fault{Latency: 30 * time.Millisecond, Jitter: 10 * time.Millisecond}}

const firstRead = 64 << 10

// firstBytes reads from a random place of a segment that nothing is known of, in the order of calls in which a broker does, and then from
// another place of the same segment. Of half of the segments the broker has the indexes, as after its restart: only the bytes are fetched.
func (r *Run) firstBytes(ctx context.Context, round int) error {
	n := 44
	if r.Full {
		n = 400
	}
	segments, remove, err := r.segments(n, 8<<20)
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
		err := r.with(ctx, side, at, nil, func(d *driver.Driver) error {
			if _, err := d.Each(ctx, 4, segments, d.Copy); err != nil {
				return err
			}
			return r.firstSide(ctx, round, side, proxy, d, segments)
		})
		if err != nil {
			return err
		}
	}
	return r.firstBare(ctx, round, at, proxy, segments[0])
}

func (r *Run) firstSide(ctx context.Context, round int, side report.Side, proxy *faultproxy.Proxy, d *driver.Driver, segments []driver.Segment) error {
	for _, s := range segments[:4] { // warm-up of the JVM
		if _, err := r.firstRead(ctx, d, s, 0); err != nil {
			return err
		}
	}
	if err := proxy.Script(injected); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(uint64(round), 7))
	cold, known, over := measure.NewLatencies(len(segments)), measure.NewLatencies(len(segments)), measure.NewLatencies(len(segments))
	alone := measure.NewLatencies(len(segments))
	var coldGets, knownGets, aloneGets []int
	one := func(s driver.Segment, place int64, read firstCalls) (took time.Duration, serial int, waited time.Duration, err error) {
		proxy.Forget()
		from := time.Now()
		took, err = read(ctx, d, s, place/firstRead*firstRead)
		// What was read ahead for the call before may end during this one.
		serial, waited = chain(slices.DeleteFunc(proxy.Requests(), func(q faultproxy.Request) bool { return q.Start.Before(from) }))
		return took, serial, waited, err
	}
	for k, s := range segments[4:] {
		// The places lie in different halves, beyond what one GET brings.
		place := random.Int64N(s.Size/4) + s.Size/2
		if k%2 == 1 {
			took, serial, _, err := one(s, place, fetchFirst)
			if err != nil {
				return err
			}
			alone.Add(took)
			aloneGets = append(aloneGets, serial)
			continue
		}
		took, serial, waited, err := one(s, place, r.firstRead)
		if err != nil {
			return err
		}
		cold.Add(took)
		coldGets = append(coldGets, serial)
		over.Add(max(0, took-waited))
		if took, serial, _, err = one(s, random.Int64N(s.Size/4), r.firstRead); err != nil {
			return err
		}
		known.Add(took)
		knownGets = append(knownGets, serial)
	}
	const row = "07.fetch.first"
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	for name, l := range map[string]*measure.Latencies{"cold": cold, "known": known, "alone": alone} {
		r.add(row, name+".p50.s3", side, round, ms(l.Summary().P50))
		r.add(row, name+".p99.s3", side, round, ms(l.Summary().P99))
	}
	r.add(row, "own.p50.s3", side, round, ms(over.Summary().P50))
	r.add(row, "cold.gets.s3", side, round, float64(slices.Max(coldGets)))
	r.add(row, "known.gets.s3", side, round, float64(slices.Max(knownGets)))
	r.add(row, "alone.gets.s3", side, round, float64(slices.Max(aloneGets)))
	return nil
}

// firstCalls are the calls for the first bytes from a place of a segment; they tell how long all of them took.
type firstCalls func(ctx context.Context, d *driver.Driver, s driver.Segment, at int64) (time.Duration, error)

// firstRead is what a broker calls for the first bytes that a consumer gets.
func (r *Run) firstRead(ctx context.Context, d *driver.Driver, s driver.Segment, at int64) (time.Duration, error) {
	var sum time.Duration
	for _, kind := range []string{"OFFSET", "TIMESTAMP"} { // the broker caches both together, with the absent transaction index
		a, err := d.Index(ctx, s, kind)
		if err != nil {
			return 0, err
		}
		sum += a.Took()
	}
	took, err := fetchFirst(ctx, d, s, at)
	return sum + took, err
}

// fetchFirst is what a broker calls that has the indexes.
func fetchFirst(ctx context.Context, d *driver.Driver, s driver.Segment, at int64) (time.Duration, error) {
	a, err := d.Fetch(ctx, s, at, at+firstRead-1, firstRead)
	if err != nil {
		return 0, err
	}
	return a.Took(), nil
}

// chain is how many of the requests followed each other, and the time that something was being waited for.
func chain(requests []faultproxy.Request) (serial int, waited time.Duration) {
	slices.SortFunc(requests, func(a, b faultproxy.Request) int { return a.Start.Compare(b.Start) })
	var end, covered time.Time
	for _, q := range requests {
		stop := q.Start.Add(q.Took)
		if !q.Start.Before(end) {
			serial++
			end = stop
		}
		begin := q.Start
		if begin.Before(covered) {
			begin = covered
		}
		if stop.After(begin) {
			waited += stop.Sub(begin)
			covered = stop
		}
	}
	return serial, waited
}

// firstBare is one GET of the same size through the same proxy.
func (r *Run) firstBare(ctx context.Context, round int, at place, proxy *faultproxy.Proxy, s driver.Segment) error {
	if err := proxy.Script(injected); err != nil {
		return err
	}
	config := at.server.Config("bare")
	config.Endpoint = at.endpoint
	store, err := s3.Open(ctx, config, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		return err
	}
	defer store.Close()
	if err := putBytes(ctx, store, "object", s.Bytes()); err != nil {
		return err
	}
	buffer, n := make([]byte, firstRead), 20
	if r.Full {
		n = 200
	}
	all := measure.NewLatencies(n)
	for i := range n {
		from := time.Now()
		if err := store.ReadRange(ctx, "object", buffer, int64(i)*firstRead%(s.Size-firstRead)); err != nil {
			return err
		}
		all.Add(time.Since(from))
	}
	sum := all.Summary()
	for _, which := range []string{"cold", "known", "alone"} {
		r.add("07.fetch.first", which+".p50.s3", bareClient, round, float64(sum.P50)/float64(time.Millisecond))
		r.add("07.fetch.first", which+".p99.s3", bareClient, round, float64(sum.P99)/float64(time.Millisecond))
	}
	return nil
}

// churn reads at random from many segments with a memory cache of a small part of them.
func (r *Run) churn(ctx context.Context, round int) error {
	n, reads := 320, 1500
	if r.Full {
		n, reads = 500, 20000
	}
	segments, remove, err := r.segments(n, 1<<20)
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
		err := r.with(ctx, side, at, map[string]string{"fetch.cache.bytes": "16777216"}, func(d *driver.Driver) error {
			return r.churnSide(ctx, round, side, proxy, d, segments, reads)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) churnSide(ctx context.Context, round int, side report.Side, proxy *faultproxy.Proxy, d *driver.Driver, segments []driver.Segment, reads int) error {
	if _, err := d.Each(ctx, 8, segments, d.Copy); err != nil {
		return err
	}
	before, err := measure.MemoryOf(d.PID)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(uint64(round), 9))
	zipf := rand.NewZipf(random, 1.1, 1, uint64(len(segments)-1))
	chosen := make([]driver.Segment, reads)
	places := make(chan int64, reads)
	for i := range chosen {
		chosen[i] = segments[zipf.Uint64()]
		places <- random.Int64N(chosen[i].Size - firstRead)
	}
	proxy.Forget()
	latencies := measure.NewLatencies(reads)
	if _, err := d.Each(ctx, 8, chosen, func(ctx context.Context, s driver.Segment) (driver.Answer, error) {
		at := <-places
		a, err := d.Fetch(ctx, s, at, at+firstRead-1, firstRead)
		if err == nil {
			latencies.Add(a.Took())
		}
		return a, err
	}); err != nil {
		return err
	}
	after, err := measure.MemoryOf(d.PID)
	if err != nil {
		return err
	}
	const row = "09.fetch.churn"
	t := proxy.Totals()
	r.add(row, "hits.s3", side, round, 1-min(1, float64(t.Gets)/float64(reads)))
	r.add(row, "p50.s3", side, round, float64(latencies.Summary().P50)/float64(time.Millisecond))
	r.add(row, "p99.s3", side, round, float64(latencies.Summary().P99)/float64(time.Millisecond))
	r.add(row, "bytes.s3", side, round, float64(t.GetBytes)/float64(reads*firstRead))
	r.add(row, "growth.s3", side, round, float64(after.Peak-before.RSS)/(1<<20))
	return nil
}
