package faultproxy

import (
	"slices"
	"time"
)

// Request is one request as the proxy saw it.
type Request struct {
	Method   string
	Op       Op
	Key      string
	Range    string
	Status   int   // of the reply that was sent or begun; 0 when none was
	Received int64 // bytes of the request's body that the proxy has read
	Sent     int64 // bytes of the reply's body that the proxy has written
	Start    time.Time
	Signed   time.Time // the time that the signature is made for
	Took     time.Duration
	Fault    string // name of the rule that hit
}

// Totals are counts of requests by what a store charges for them.
type Totals struct {
	Requests                     int64
	Puts, Gets, Lists, Deletes   int64 // Puts with every POST of a multipart upload, Gets with HEADs
	Received, Sent               int64 // bytes of bodies
	GetBytes                     int64 // of Sent, what GETs of objects were answered with
	Ops                          map[Op]int64
	Faults                       map[string]int64 // by name of the rule
	Failed                       int64            // answered with 400 or more, or not at all
	ObjectGets, MinGet, MaxGet   int64            // successful GETs of objects and the bytes of the smallest and largest
	LatencyMillis, LongestMillis float64          // sum and maximum over all requests
}

func (p *Proxy) record(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.flying, c)
	p.requests = append(p.requests, c.record)
}

// InFlight are the requests that have begun and not ended; of what is known only at the end they say nothing but how
// much of the request's body has come.
func (p *Proxy) InFlight() (out []Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c, r := range p.flying {
		r.Received = c.received.Load()
		out = append(out, r)
	}
	return out
}

// Requests is a copy of what was recorded since the start or the last Forget, in the order in which requests ended.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Forget drops the records.
func (p *Proxy) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = nil
}

// Totals adds up what was recorded since the start or the last Forget.
func (p *Proxy) Totals() Totals {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := Totals{Ops: map[Op]int64{}, Faults: map[string]int64{}}
	for _, r := range p.requests {
		t.add(r)
	}
	return t
}

func (t *Totals) add(r Request) {
	t.Requests++
	t.Ops[r.Op]++
	t.Received += r.Received
	t.Sent += r.Sent
	if r.Fault != "" {
		t.Faults[r.Fault]++
	}
	if r.Status == 0 || r.Status >= 400 {
		t.Failed++
	}
	ms := float64(r.Took) / float64(time.Millisecond)
	t.LatencyMillis += ms
	t.LongestMillis = max(t.LongestMillis, ms)
	switch r.Op {
	case PutObject, UploadPart, CreateMultipart, Complete:
		t.Puts++
	case GetObject, GetRange:
		t.Gets++
		t.GetBytes += r.Sent
		if r.Status == 200 || r.Status == 206 {
			if t.ObjectGets == 0 || r.Sent < t.MinGet {
				t.MinGet = r.Sent
			}
			t.ObjectGets++
			t.MaxGet = max(t.MaxGet, r.Sent)
		}
	case Head:
		t.Gets++
	case List, ListUploads:
		t.Lists++
	case Delete, DeleteBatch, Abort:
		t.Deletes++
	}
}
