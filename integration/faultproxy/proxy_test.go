package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidemark/integration/objectserver"
	"tidemark/internal/objectstore"
	"tidemark/internal/objectstore/s3"
)

// content is what every object of the test server holds.
var content = bytes.Repeat([]byte("0123456789abcdef"), 64<<10/16)

// origin is a server that keeps count of what it has applied.
type origin struct {
	mu      sync.Mutex
	applied []string // "PUT /b/k 5"
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	o.mu.Lock()
	o.applied = append(o.applied, fmt.Sprintf("%s %s %d", r.Method, r.URL.RequestURI(), len(body)))
	o.mu.Unlock()
	if r.Method == http.MethodGet {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
		return
	}
	w.Header().Set("ETag", `"e"`)
}

func (o *origin) list() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.applied...)
}

func setup(t *testing.T, rules ...Rule) (*Proxy, *origin, *http.Client) {
	t.Helper()
	o := &origin{}
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	p, err := Start(Options{Target: server.URL, Seed: 7, Object: func(context.Context, string) (io.ReadCloser, int64, error) {
		return io.NopCloser(bytes.NewReader(content)), int64(len(content)), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if err := p.Script(rules...); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return p, o, &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// do sends one request; body and error of the reply are what a client gets.
func do(t *testing.T, c *http.Client, method, url, ranged string, body []byte) (*http.Response, []byte, error) {
	t.Helper()
	r, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if ranged != "" {
		r.Header.Set("Range", ranged)
	}
	reply, err := c.Do(r)
	if err != nil {
		return nil, nil, err
	}
	defer reply.Body.Close()
	got, err := io.ReadAll(reply.Body)
	return reply, got, err
}

func TestRequestsPassUnchangedAndAreCounted(t *testing.T) {
	p, o, c := setup(t)
	for _, r := range []struct{ method, uri, ranged, body string }{
		{"PUT", "/b/a%20b%2Fc/%C3%BC", "", "hello"},
		{"PUT", "/b/k?partNumber=1&uploadId=u", "", "part"},
		{"POST", "/b/k?uploads=", "", ""},
		{"POST", "/b/k?uploadId=u", "", "<x/>"},
		{"DELETE", "/b/k?uploadId=u", "", ""},
		{"DELETE", "/b/k", "", ""},
		{"POST", "/b/?delete=", "", "<y/>"},
		{"GET", "/b/?list-type=2&prefix=x%2F", "", ""},
		{"GET", "/b/k", "", ""},
		{"GET", "/b/k", "bytes=16-31", ""},
		{"HEAD", "/b/k", "", ""},
	} {
		if _, _, err := do(t, c, r.method, p.Endpoint+r.uri, r.ranged, []byte(r.body)); err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		applied := o.list()
		if want := fmt.Sprintf("%s %s %d", r.method, r.uri, len(r.body)); applied[len(applied)-1] != want {
			t.Errorf("the server saw %q, sent was %q", applied[len(applied)-1], want)
		}
	}
	got := p.Totals()
	if got.Puts != 4 || got.Gets != 3 || got.Lists != 1 || got.Deletes != 3 || got.Requests != 11 || got.Failed != 0 {
		t.Errorf("%+v", got)
	}
	if got.MinGet != 16 || got.MaxGet != int64(len(content)) || got.ObjectGets != 2 || got.Received != 5+4+4+4 {
		t.Errorf("%+v", got)
	}
	if r := p.Requests()[0]; r.Key != "a b/c/ü" || r.Op != PutObject || r.Status != 200 {
		t.Errorf("%+v", r)
	}
	if r := p.Requests()[9]; r.Op != GetRange || r.Range != "bytes=16-31" || r.Status != 206 || r.Sent != 16 {
		t.Errorf("%+v", r)
	}
	p.Forget()
	if p.Totals().Requests != 0 {
		t.Error("Forget kept records")
	}
}

func TestRulesHitWhatTheySay(t *testing.T) {
	refuse := Fault{Status: 503}
	p, _, c := setup(t, Rule{Name: "third part", Ops: []Op{UploadPart}, Key: `\.log$`, Skip: 2, Count: 1, Fault: refuse})
	var statuses []int
	for _, uri := range []string{"/b/x.log?partNumber=1", "/b/x.log", "/b/y?partNumber=1", "/b/x.log?partNumber=2", "/b/x.log?partNumber=3", "/b/x.log?partNumber=4"} {
		reply, body, err := do(t, c, "PUT", p.Endpoint+uri, "", []byte("data"))
		if err != nil {
			t.Fatal(err)
		}
		statuses = append(statuses, reply.StatusCode)
		if reply.StatusCode == 503 && !strings.Contains(string(body), "<Code>SlowDown</Code>") {
			t.Errorf("body %s", body)
		}
	}
	if fmt.Sprint(statuses) != "[200 200 200 200 503 200]" {
		t.Errorf("statuses %v", statuses)
	}
	if n := p.Totals().Faults["third part"]; n != 1 {
		t.Errorf("%d recorded", n)
	}
}

func TestChancesFollowTheSeed(t *testing.T) {
	outcome := func() string {
		p, _, c := setup(t, Rule{Chance: 0.3, Fault: Fault{Status: 500}})
		var b strings.Builder
		for range 60 {
			reply, _, err := do(t, c, "GET", p.Endpoint+"/b/k", "", nil)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(&b, reply.StatusCode/100)
		}
		return b.String()
	}
	a, b := outcome(), outcome()
	if n := strings.Count(a, "5"); a != b || n < 8 || n > 30 {
		t.Errorf("%s\n%s", a, b)
	}
}

func TestBadRules(t *testing.T) {
	p, _, _ := setup(t)
	if p.Script(Rule{Key: "("}) == nil || p.Script(Rule{Chance: 2}) == nil || p.Script(Rule{Skip: -1}) == nil {
		t.Error("a rule that says nothing was taken")
	}
	if _, err := Start(Options{Target: "nowhere"}); err == nil {
		t.Error("a target that is no address was taken")
	}
}

// TestFaults injects each fault into one request and looks at what the client gets and what the server has applied.
func TestFaults(t *testing.T) {
	size := int64(len(content))
	isReset := func(err error) bool { return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) }
	for _, f := range []struct {
		name           string
		method, range_ string
		fault          Fault
		applied        int
		check          func(reply *http.Response, body []byte, err error) bool
	}{
		{"reset at the request", "PUT", "", Fault{Reset: AtRequest}, 0, func(_ *http.Response, _ []byte, err error) bool { return err != nil }},
		{"reset in the request", "PUT", "", Fault{Reset: InRequestBody, After: 100}, 0, func(_ *http.Response, _ []byte, err error) bool { return err != nil }},
		{"reset before the ack", "PUT", "", Fault{Reset: BeforeAck}, 0, func(_ *http.Response, _ []byte, err error) bool { return isReset(err) }},
		{"lost reply", "PUT", "", Fault{LostReply: true}, 1, func(_ *http.Response, _ []byte, err error) bool { return isReset(err) }},
		{"reset in the reply's headers", "GET", "", Fault{Reset: InReply}, 1, func(_ *http.Response, _ []byte, err error) bool { return err != nil }},
		{"reset in the reply's body", "GET", "", Fault{Reset: InReplyBody, After: 1000}, 1, func(r *http.Response, b []byte, err error) bool {
			return err != nil && r.ContentLength == size && int64(len(b)) < size
		}},
		{"truncated", "GET", "", Fault{Truncate: true, After: 1000}, 1, func(r *http.Response, b []byte, err error) bool {
			return errors.Is(err, io.ErrUnexpectedEOF) && r.ContentLength == size && len(b) == 1000
		}},
		{"shorter", "GET", "", Fault{Resize: -5}, 1, func(_ *http.Response, b []byte, err error) bool {
			return err == nil && bytes.Equal(b, content[:size-5])
		}},
		{"longer", "GET", "", Fault{Resize: 5}, 1, func(_ *http.Response, b []byte, err error) bool {
			return err == nil && bytes.Equal(b, append(bytes.Clone(content), 0, 0, 0, 0, 0))
		}},
		{"flipped", "GET", "", Fault{Flip: true, After: 3}, 1, func(_ *http.Response, b []byte, err error) bool {
			return err == nil && b[3] == content[3]^1 && bytes.Equal(b[4:], content[4:]) && bytes.Equal(b[:3], content[:3])
		}},
		{"shifted range", "GET", "bytes=16-31", Fault{ShiftRange: 16}, 1, func(r *http.Response, b []byte, err error) bool {
			return err == nil && r.Header.Get("Content-Range") == fmt.Sprintf("bytes 32-47/%d", size) && len(b) == 16
		}},
		{"ignored range", "GET", "bytes=16-31", Fault{IgnoreRange: true}, 1, func(r *http.Response, b []byte, err error) bool {
			return err == nil && r.StatusCode == 200 && bytes.Equal(b, content)
		}},
		{"stalled body that goes on", "GET", "", Fault{StallBody: 50 * time.Millisecond, After: 10}, 1, func(_ *http.Response, b []byte, err error) bool {
			return err == nil && bytes.Equal(b, content)
		}},
		{"slow body", "GET", "bytes=0-99", Fault{BytesPerSecond: 1000}, 1, func(_ *http.Response, b []byte, err error) bool {
			return err == nil && len(b) == 100
		}},
		{"not found", "GET", "", Fault{Status: 404}, 0, func(r *http.Response, b []byte, err error) bool {
			return err == nil && r.StatusCode == 404 && strings.Contains(string(b), "NoSuchKey")
		}},
		{"too many requests", "GET", "", Fault{Status: 429, RetryAfter: 2 * time.Second}, 0, func(r *http.Response, _ []byte, err error) bool {
			return err == nil && r.StatusCode == 429 && r.Header.Get("Retry-After") == "2"
		}},
	} {
		t.Run(f.name, func(t *testing.T) {
			p, o, c := setup(t, Rule{Name: f.name, Fault: f.fault})
			var body []byte
			if f.method == "PUT" {
				body = content
			}
			reply, got, err := do(t, c, f.method, p.Endpoint+"/b/k", f.range_, body)
			if !f.check(reply, got, err) {
				t.Errorf("reply %+v, %d bytes, error %v", reply, len(got), err)
			}
			if n := len(o.list()); n != f.applied {
				t.Errorf("the server has applied %d requests, want %d", n, f.applied)
			}
			if err := p.Script(); err != nil {
				t.Fatal(err)
			}
			if _, got, err := do(t, c, "GET", p.Endpoint+"/b/k", "", nil); err != nil || !bytes.Equal(got, content) {
				t.Errorf("after the faults: %d bytes, %v", len(got), err)
			}
		})
	}
}

func TestWhatDoesNotAnswerEndsWithTheClient(t *testing.T) {
	for name, fault := range map[string]Fault{
		"black hole": {BlackHole: true}, "stalled headers": {StallHeaders: time.Hour}, "stalled body": {StallBody: time.Hour, After: 100}, "latency": {Latency: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, c := setup(t, Rule{Fault: fault})
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, "GET", p.Endpoint+"/b/k", nil)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := c.Do(r)
			if err == nil {
				_, err = io.ReadAll(reply.Body)
				reply.Body.Close()
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			p.Close() // returns although an hour has not passed
		})
	}
}

func TestLatencyIsAdded(t *testing.T) {
	p, _, c := setup(t, Rule{Fault: Fault{Latency: 40 * time.Millisecond, Jitter: 20 * time.Millisecond}})
	for range 5 {
		if _, _, err := do(t, c, "GET", p.Endpoint+"/b/k", "", nil); err != nil {
			t.Fatal(err)
		}
	}
	took := map[time.Duration]bool{}
	for _, r := range p.Requests() {
		if r.Took < 20*time.Millisecond {
			t.Errorf("a request took %v", r.Took)
		}
		took[r.Took.Truncate(time.Millisecond)] = true
	}
	if len(took) < 2 {
		t.Errorf("no jitter: %v", took)
	}
}

// TestSignedRequestsPass goes through the product's own client to a real server, which verifies signatures of path, query and Host.
func TestSignedRequestsPass(t *testing.T) {
	server, err := objectserver.Start(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	p, err := Start(Options{Target: server.Endpoint})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	config := server.Config("through")
	config.Endpoint = p.Endpoint
	config.PartSize, config.SinglePutBelow = 5<<20, 6<<20
	store, err := s3.Open(t.Context(), config, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	big := bytes.Repeat(content, 12<<20/len(content))
	for key, data := range map[string][]byte{"a b+c=d%/ü": content, "big": big} {
		if _, err := store.Put(t.Context(), key, bytes.NewReader(data), objectstore.Condition{}); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		got, _, err := store.Get(t.Context(), key, int64(len(data)))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", key, len(got), err)
		}
		if err := store.Delete(t.Context(), key); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if got := p.Totals(); got.Ops[UploadPart] != 3 || got.Ops[Complete] != 1 || got.Failed != 0 || got.Deletes != 2 {
		t.Errorf("%+v", got)
	}
}
