package listener

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

func TestOnlyLoopbackUnlessAllowedInWords(t *testing.T) {
	for _, test := range []struct {
		address string
		remote  bool
		bind    string // "" is a refusal
	}{
		{":8080", false, "127.0.0.1:8080"}, {"localhost:0", false, "127.0.0.1:0"}, {"127.0.0.1:1", false, "127.0.0.1:1"},
		{"127.1.2.3:1", false, "127.1.2.3:1"}, {"[::1]:1", false, "[::1]:1"}, {"[::ffff:127.0.0.1]:1", false, "[::ffff:127.0.0.1]:1"},
		{"0.0.0.0:1", false, ""}, {"[::]:1", false, ""}, {"10.0.0.1:1", false, ""}, {"host:1", false, ""}, {"host:1", true, ""},
		{"0.0.0.0:1", true, "0.0.0.0:1"}, {"10.0.0.1:1", true, "10.0.0.1:1"}, {":x", false, ""}, {":70000", false, ""}, {"8080", false, ""},
	} {
		got, err := Config{Address: test.address, AllowRemote: test.remote}.bind()
		if got != test.bind || test.bind == "" && !status.Is(err, status.Invalid) {
			t.Errorf("%q (remote %v): %q, %v; want %q", test.address, test.remote, got, err, test.bind)
		}
	}
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("no listener is a valid choice: %v", err)
	}
}

func TestServesRecoversAndStops(t *testing.T) {
	defer goleak.VerifyNone(t)
	l, err := New(Config{Address: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	set := telemetry.NewSet()
	set.Counter("things_total", "things")
	l.Mount("/metrics", Metrics(set))
	l.Mount("/echo", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	l.Mount("/panic", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") }))
	entered, release := make(chan bool), make(chan bool)
	l.Mount("/slow", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { entered <- true; <-release; fmt.Fprint(w, "done") }))
	l.Start()
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string) (int, string) {
		r, err := client.Get("http://" + l.Address() + path)
		if err != nil {
			return 0, err.Error()
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(body)
	}
	if code, body := get("/metrics"); code != 200 || !strings.Contains(body, "tidemark_things_total 0") {
		t.Errorf("/metrics: %d %s", code, body)
	}
	if code, body := get("/echo/a/b"); code != 200 || body != "/a/b" {
		t.Errorf("/echo/a/b: %d %s", code, body)
	}
	if code, _ := get("/panic/"); code != 500 {
		t.Errorf("/panic/: %d", code)
	}
	if code, _ := get("/none"); code != 404 {
		t.Errorf("/none: %d", code)
	}
	answer := make(chan string)
	go func() { _, body := get("/slow/"); answer <- body }()
	<-entered
	stopped := make(chan bool)
	go func() { l.Stop(time.Minute); close(stopped) }()
	release <- true
	if body := <-answer; body != "done" {
		t.Errorf("a running request ended with %q", body)
	}
	<-stopped
	l.Stop(time.Second)
	if code, _ := get("/metrics"); code != 0 {
		t.Errorf("after Stop: %d", code)
	}
}

func TestAnAddressThatIsTakenIsTriedAgain(t *testing.T) {
	defer goleak.VerifyNone(t)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := New(Config{Address: other.Addr().String()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	l.every = time.Millisecond
	l.Start()
	if l.Address() != "" {
		t.Error("two sockets on one address")
	}
	_ = other.Close()
	waitFor(t, "the address is free", func() bool { return l.Address() == other.Addr().String() })
	l.Stop(time.Minute)
}

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) { // between looks
		if time.Now().After(end) {
			t.Fatal("not within a minute: " + what)
		}
	}
}
