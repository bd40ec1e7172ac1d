package faultproxy

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestRefusalsThatNameAPlaceAndATime(t *testing.T) {
	p, o, c := setup(t, Rule{Fault: Fault{Status: 301, Location: "http://elsewhere.invalid/", Date: 5 * time.Hour}})
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := http.NewRequest("GET", p.Endpoint+"/b/k", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Date", "20260102T030405Z")
	reply, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	reply.Body.Close()
	date, err := http.ParseTime(reply.Header.Get("Date"))
	if ahead := time.Until(date); err != nil || reply.StatusCode != 301 || reply.Header.Get("Location") != "http://elsewhere.invalid/" || ahead < 4*time.Hour || ahead > 5*time.Hour {
		t.Errorf("%d to %q, %v ahead, %v", reply.StatusCode, reply.Header.Get("Location"), ahead, err)
	}
	recorded(t, p, 1)
	if got := p.Requests()[0].Signed; !got.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) || len(o.list()) != 0 {
		t.Errorf("signed at %v, the server has %v", got, o.list())
	}
}

// recorded waits until n requests have ended: a client may have its answer before.
func recorded(t *testing.T, p *Proxy, n int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); len(p.Requests()) < n; time.Sleep(time.Millisecond) { // the pace of looking
		if time.Now().After(end) {
			t.Fatalf("%d requests were recorded, %d are wanted", len(p.Requests()), n)
		}
	}
}

func TestConnectionsAreCounted(t *testing.T) {
	p, _, c := setup(t, Rule{Fault: Fault{Latency: time.Hour}})
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	for range 3 {
		asking.Add(1)
		go func() {
			defer asking.Done()
			r, _ := http.NewRequestWithContext(ctx, "PUT", p.Endpoint+"/b/k", strings.NewReader("12345"))
			if reply, err := c.Do(r); err == nil {
				t.Errorf("a request that waits for an hour was answered: %d", reply.StatusCode)
				reply.Body.Close()
			}
		}()
	}
	for end := time.Now().Add(20 * time.Second); len(p.InFlight()) < 3; time.Sleep(time.Millisecond) { // the pace of looking
		if time.Now().After(end) {
			t.Fatal("three requests are not in flight")
		}
	}
	if open, most := p.Connections(); open != 3 || most != 3 {
		t.Errorf("%d connections, at most %d", open, most)
	}
	cancel()
	asking.Wait()
	recorded(t, p, 3)
	if _, most := p.Connections(); most != 3 {
		t.Errorf("at most %d", most)
	}
}

// A proxy that is closed answers nothing: a request that waits there does not look like an empty success.
func TestACloseAnswersNothing(t *testing.T) {
	p, o, c := setup(t, Rule{Fault: Fault{Latency: time.Hour}})
	answered := make(chan error, 1)
	go func() {
		_, _, err := do(t, c, "GET", p.Endpoint+"/b/k", "", nil)
		answered <- err
	}()
	for end := time.Now().Add(20 * time.Second); len(p.InFlight()) < 1; time.Sleep(time.Millisecond) { // the pace of looking
		if time.Now().After(end) {
			t.Fatal("the request is not in flight")
		}
	}
	p.Close()
	if err := <-answered; err == nil || len(o.list()) != 0 {
		t.Errorf("%v; the server has %v", err, o.list())
	}
}

// What of a request's body has come is known while it is on its way.
func TestBodiesInFlight(t *testing.T) {
	p, _, c := setup(t, Rule{Fault: Fault{BytesPerSecond: 20}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, _ := http.NewRequestWithContext(ctx, "PUT", p.Endpoint+"/b/k", strings.NewReader(strings.Repeat("x", 1000)))
		if reply, err := c.Do(r); err == nil {
			reply.Body.Close()
		}
	}()
	received := func() int64 {
		for _, r := range p.InFlight() {
			return r.Received
		}
		return 0
	}
	for end := time.Now().Add(20 * time.Second); received() == 0; time.Sleep(time.Millisecond) { // the pace of looking
		if time.Now().After(end) {
			t.Fatal("nothing has come")
		}
	}
	if n := received(); n >= 1000 {
		t.Errorf("all %d bytes have come", n)
	}
	cancel()
	<-done
}
