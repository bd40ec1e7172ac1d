package s3

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tidemark/internal/objectstore"
	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// fake is a server that answers as a test says and keeps what it was sent.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string // "METHOD path?query"
	bodies   []string
	answer   func(n int, w http.ResponseWriter, r *http.Request, body []byte)
}

// newFake starts a server; n counts requests from 1.
func newFake(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request, body []byte)) *fake {
	f := &fake{answer: answer}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.requests = append(f.requests, r.Method+" "+r.URL.RequestURI())
	f.bodies = append(f.bodies, string(body))
	n := len(f.requests)
	f.mu.Unlock()
	f.answer(n, w, r, body)
}

func (f *fake) seen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.requests...)
}

func (f *fake) count(part string) (n int) {
	for _, r := range f.seen() {
		if strings.Contains(r, part) {
			n++
		}
	}
	return n
}

func testConfig(endpoint string) Config {
	return Config{Bucket: "b", Endpoint: endpoint, PathStyle: true, Credentials: Static, AccessKey: "AKIDEXAMPLE", SecretKey: "wJalrXUtnFEMI",
		SinglePutBelow: minPart, PartSize: minPart, Concurrency: 2, Connections: 8, Checksum: CRC32C, SignPayload: true}
}

func openAt(t *testing.T, endpoint string) *Store {
	t.Helper()
	s, err := Open(t.Context(), testConfig(endpoint), slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// reply writes an error as S3 does.
func reply(w http.ResponseWriter, code int, name string) {
	w.WriteHeader(code)
	if name != "" {
		fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>words of %s</Message><StringToSign>AWS4-HMAC-SHA256 x</StringToSign></Error>`, name, name)
	}
}

// cut ends the connection without a reply.
func cut(w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		c.Close()
	}
}

func want(t *testing.T, what string, err error, class status.Class, words ...string) {
	t.Helper()
	if !status.Is(err, class) {
		t.Errorf("%s: class %v (%v), want %v", what, status.Of(err), err, class)
	}
	for _, w := range words {
		if err != nil && !strings.Contains(err.Error(), w) {
			t.Errorf("%s: the error does not say %q: %v", what, w, err)
		}
	}
	if err != nil && (strings.Contains(err.Error(), "wJalrXUtnFEMI") || strings.Contains(err.Error(), "AWS4") || strings.Contains(err.Error(), "\n")) {
		t.Errorf("%s: the error shows what it must not: %q", what, err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	elsewhere := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, _ []byte) { w.WriteHeader(200) })
	for code, class := range map[int]status.Class{301: status.Invalid, 302: status.Invalid, 308: status.Invalid, 307: status.Transient} {
		f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, _ []byte) {
			w.Header().Set("Location", elsewhere.URL+r.URL.Path)
			w.WriteHeader(code)
		})
		s := openAt(t, f.URL)
		_, _, err := s.Get(t.Context(), "a", 10)
		want(t, fmt.Sprint("get ", code), err, class, "store.s3.region", "store.s3.endpoint")
		_, err = s.Put(t.Context(), "a", strings.NewReader("x"), objectstore.Condition{})
		want(t, fmt.Sprint("put ", code), err, class)
		if len(f.seen()) != 2 {
			t.Errorf("%d: %d requests for 2 calls", code, len(f.seen()))
		}
	}
	if got := elsewhere.seen(); len(got) > 0 {
		t.Errorf("the place of the redirect was asked: %v", got)
	}
}

func TestTheRightRegionIsNamed(t *testing.T) {
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, _ []byte) {
		w.Header().Set("X-Amz-Bucket-Region", "eu-central-9")
		reply(w, []int{301, 400}[n-1], []string{"PermanentRedirect", "AuthorizationHeaderMalformed"}[n-1])
	})
	s := openAt(t, f.URL)
	for range 2 {
		_, _, err := s.Get(t.Context(), "a", 10)
		want(t, "get", err, status.Invalid, "region eu-central-9", "us-east-1", "store.s3")
	}
}

func TestProxy(t *testing.T) {
	var authorization, target string
	f := newFake(t, func(_ int, w http.ResponseWriter, r *http.Request, _ []byte) {
		authorization, target = r.Header.Get("Proxy-Authorization"), r.URL.String()
		reply(w, 404, "NoSuchKey")
	})
	c := testConfig("http://store.invalid:9000")
	c.Proxy = telemetry.Secret(strings.Replace(f.URL, "http://", "http://user:wJalrXUtnFEMI@", 1))
	s, err := Open(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Head(t.Context(), "a")
	want(t, "through the proxy", err, status.NotFound)
	if target != "http://store.invalid:9000/b/a" || authorization == "" {
		t.Errorf("the proxy saw %q, authorization %v", target, authorization != "")
	}
	s.Close()
	f.Close()
	if s, err = Open(t.Context(), c, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Head(t.Context(), "a")
	want(t, "proxy gone", err, status.Transient)
}

func TestCAFile(t *testing.T) {
	f := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { reply(w, 404, "NoSuchKey") }))
	defer f.Close()
	f.Config.ErrorLog = slog.NewLogLogger(slog.NewTextHandler(t.Output(), nil), slog.LevelInfo)
	name := filepath.Join(t.TempDir(), "ca.pem")
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	if err := os.WriteFile(name, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	c := testConfig(f.URL)
	for _, file := range []string{"", name} {
		c.CAFile = file
		s, err := Open(t.Context(), c, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Head(t.Context(), "a")
		class := status.Transient
		if file != "" {
			class = status.NotFound
		}
		want(t, "head with CA file "+file, err, class)
		s.Close()
	}
	for _, bad := range []string{name + ".none", os.Args[0]} {
		c.CAFile = bad
		_, err := Open(t.Context(), c, slog.New(slog.DiscardHandler))
		want(t, "open with a bad CA file", err, status.Invalid, "store.s3.ca.file")
	}
}

func TestNothingIsPrinted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "stderr")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = file, file
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	f := newFake(t, func(n int, w http.ResponseWriter, r *http.Request, _ []byte) {
		w.Header().Set("X-Amz-Checksum-Sha512", "unknown")
		w.Header().Set("ETag", `"e"`)
		w.Write([]byte("hello"))
	})
	s := openAt(t, f.URL)
	if data, _, err := s.Get(t.Context(), "a", 10); err != nil || !bytes.Equal(data, []byte("hello")) {
		t.Errorf("get: %q, %v", data, err)
	}
	_, _ = s.Put(t.Context(), "a", strings.NewReader("x"), objectstore.Condition{})
	f.CloseClientConnections()
	if b, _ := os.ReadFile(name); len(b) > 0 {
		t.Errorf("printed: %s", b)
	}
}

func TestAddressesOfHadoop(t *testing.T) {
	c := testConfig("http://127.0.0.1:1")
	c.Prefix = "p/q"
	s, err := Open(context.Background(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, scheme := range []string{"s3", "s3a", "s3n"} {
		if key, ok := s.Key(scheme + "://b/p/q/x/y"); !ok || key != "x/y" {
			t.Errorf("%s: %q, %v", scheme, key, ok)
		}
	}
	for _, uri := range []string{"s3://b/p/x", "s3://c/p/q/x", "s3://b/p/qx", "gs://b/p/q/x", "s3://b/p/q/../x"} {
		if key, ok := s.Key(uri); ok {
			t.Errorf("%s is taken for %q", uri, key)
		}
	}
	if got := s.URI("x/y"); got != "s3://b/p/q/x/y" {
		t.Errorf("URI = %q", got)
	}
}
