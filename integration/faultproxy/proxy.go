package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options describe a proxy.
type Options struct {
	Target string // http://host:port of the server
	Listen string // host:port; "" is a free port on 127.0.0.1
	Seed   uint64 // of chances and jitter
	// Object opens a whole object by its path in the URL, for IgnoreRange. The proxy cannot ask for it: Range is signed.
	Object func(ctx context.Context, path string) (io.ReadCloser, int64, error)
}

// Proxy is a running proxy.
type Proxy struct {
	Endpoint string // http://host:port that clients use in place of the server's

	options   Options
	target    *url.URL
	server    *http.Server
	transport *http.Transport
	closing   context.Context
	close     context.CancelFunc
	active    sync.WaitGroup // requests, also on connections that were taken from the server
	serving   sync.WaitGroup

	mu       sync.Mutex
	script   *script
	requests []Request
	flying   map[*call]Request // begun and not ended
	open     map[net.Conn]bool // connections of clients
	most     int               // of open
}

// Start listens and forwards; the script is empty.
func Start(o Options) (*Proxy, error) {
	target, err := url.Parse(o.Target)
	if err != nil || target.Host == "" || target.Scheme != "http" {
		return nil, fmt.Errorf("faultproxy: %q is not http://host:port", o.Target)
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, err
	}
	p := &Proxy{Endpoint: "http://" + l.Addr().String(), options: o, target: target, script: &script{}, flying: map[*call]Request{}, open: map[net.Conn]bool{},
		transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256, IdleConnTimeout: 30 * time.Second,
			WriteBufferSize: 64 << 10, ReadBufferSize: 64 << 10}}
	p.closing, p.close = context.WithCancel(context.Background())
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute, ConnState: p.connection}
	p.serving.Add(1)
	go func() { defer p.serving.Done(); _ = p.server.Serve(l) }()
	return p, nil
}

// connection follows the clients' connections.
func (p *Proxy) connection(c net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch state {
	case http.StateNew:
		p.open[c] = true
		p.most = max(p.most, len(p.open))
	case http.StateClosed, http.StateHijacked:
		delete(p.open, c)
	}
}

// Connections are how many clients' connections are open, and the most there were at once. Those that a fault has taken do not count.
func (p *Proxy) Connections() (open, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open), p.most
}

// Script replaces the rules and begins to count their occurrences and to draw chances anew. No rules end all faults.
func (p *Proxy) Script(rules ...Rule) error {
	s, err := compile(p.options.Seed, rules)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.script = s
	p.mu.Unlock()
	return nil
}

// Close ends all connections.
func (p *Proxy) Close() {
	p.close()
	_ = p.server.Close()
	p.serving.Wait()
	p.active.Wait()
	p.transport.CloseIdleConnections()
}

// call is one request under way.
type call struct {
	proxy  *Proxy
	w      http.ResponseWriter
	r      *http.Request
	fault  Fault
	record Request
	ctx    context.Context

	received atomic.Int64 // bytes of the request's body; the transport reads it in a goroutine of its own
}

// errGone ends a call whose connection is no more.
var errGone = errors.New("the connection was ended")

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.active.Add(1)
	defer p.active.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.closing, cancel)()
	op, key := operation(r)
	c := &call{proxy: p, w: w, r: r, ctx: ctx,
		record: Request{Method: r.Method, Op: op, Key: key, Range: r.Header.Get("Range"), Start: time.Now()}}
	c.record.Signed, _ = time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	p.mu.Lock()
	c.record.Fault, c.fault = p.script.hit(r, op, key)
	p.flying[c] = c.record
	p.mu.Unlock()
	c.serve()
	c.record.Received = c.received.Load()
	c.record.Took = time.Since(c.record.Start)
	p.record(c)
}

// wait pauses; it reports whether the client is still there.
func (c *call) wait(d time.Duration) bool {
	if d <= 0 {
		return c.ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

func (c *call) serve() {
	f := c.fault
	if f.BlackHole {
		c.blackHole()
		return
	}
	if f.Latency > 0 && f.Reset == Nowhere && f.Status == 0 && !c.hold() || !c.wait(f.Latency) {
		c.reset() // or an empty success would be sent
		return
	}
	switch {
	case f.Reset == AtRequest:
		c.reset()
	case f.Reset == InRequestBody:
		c.drain(max(0, min(f.After, c.r.ContentLength-1)))
		c.reset()
	case f.Reset == BeforeAck:
		c.drain(-1)
		c.reset()
	case f.Status != 0:
		c.drain(-1)
		c.refuse()
	default:
		c.forward()
	}
}

// hold takes the body in before a latency, because only then does the server notice a client that gives up: a request that its client has
// given up is not sent on. It reports whether the client is still there.
func (c *call) hold() bool {
	body, err := io.ReadAll(c.r.Body)
	c.r.Body = io.NopCloser(bytes.NewReader(body))
	return err == nil
}

// drain reads n bytes of the request's body, all of it when n is negative.
func (c *call) drain(n int64) {
	var src io.Reader = c.body()
	if n >= 0 {
		src = io.LimitReader(src, n)
	}
	_, _ = io.Copy(io.Discard, src)
}

// body is the request's body, counted and at the fault's pace.
func (c *call) body() io.Reader {
	return &pacedReader{call: c, src: c.r.Body}
}

func (c *call) refuse() {
	f := c.fault
	text := fmt.Sprintf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>%s</Code><Message>injected by the fault proxy</Message>"+
		"<Resource>/%s</Resource><RequestId>faultproxy</RequestId></Error>", f.code(), strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(c.record.Key))
	c.w.Header().Set("Content-Type", "application/xml")
	if f.RetryAfter > 0 {
		c.w.Header().Set("Retry-After", fmt.Sprint(int(f.RetryAfter.Seconds())))
	}
	if f.Location != "" {
		c.w.Header().Set("Location", f.Location)
	}
	if f.Date != 0 {
		c.w.Header().Set("Date", time.Now().Add(f.Date).UTC().Format(http.TimeFormat))
	}
	c.record.Status = f.Status
	c.w.WriteHeader(f.Status)
	if c.r.Method != http.MethodHead {
		n, _ := io.WriteString(c.w, text)
		c.record.Sent += int64(n)
	}
}

// forward sends the request on and gives its reply back.
func (c *call) forward() {
	out := c.r.Clone(c.ctx)
	out.URL.Scheme, out.URL.Host = c.proxy.target.Scheme, c.proxy.target.Host
	out.RequestURI = ""
	out.Host = c.r.Host
	out.Header.Del("Expect") // the body is here or on its way
	for _, h := range []string{"Connection", "Keep-Alive", "Te", "Upgrade", "Proxy-Connection"} {
		out.Header.Del(h)
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header.Set("User-Agent", "")
	}
	out.Body = http.NoBody
	if c.r.ContentLength != 0 {
		out.Body = io.NopCloser(c.body())
	}
	reply, err := c.proxy.transport.RoundTrip(out)
	if err != nil {
		c.reset() // what the client sees of a server that is not there
		return
	}
	defer reply.Body.Close()
	if c.fault.pass() {
		c.passOn(reply)
		return
	}
	c.spoil(reply)
}

// passOn copies an unchanged reply.
func (c *call) passOn(reply *http.Response) {
	header := c.w.Header()
	for k, v := range reply.Header {
		header[k] = v
	}
	c.record.Status = reply.StatusCode
	c.w.WriteHeader(reply.StatusCode)
	n, err := io.CopyBuffer(onlyWriter{c.w}, reply.Body, make([]byte, 64<<10))
	c.record.Sent += n
	if err != nil && c.ctx.Err() == nil {
		c.reset()
	}
}

type onlyWriter struct{ io.Writer }
