package listener

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"tidemark/internal/budget"
	"tidemark/internal/telemetry"
)

// Limits of one connection. Answers are metadata documents of at most some hundred MB to a host nearby.
const (
	headerTime = 10 * time.Second
	readTime   = 30 * time.Second
	writeTime  = 5 * time.Minute
	idleTime   = 2 * time.Minute
	maxHeader  = 32 << 10 // bytes
	maxBody    = 1 << 20  // bytes; nothing that is mounted takes a body
)

// retryEvery is the pause between attempts to listen.
const retryEvery = 5 * time.Second

// Listener serves the mounted handlers on one address.
type Listener struct {
	address string
	log     *slog.Logger
	tasks   *budget.Tasks
	mux     *http.ServeMux
	server  *http.Server
	bound   atomic.Value // string
	every   time.Duration
}

// New makes a listener; it does not listen yet. Errors: Invalid.
func New(cfg Config, log *slog.Logger) (*Listener, error) {
	address, err := cfg.bind()
	if err != nil {
		return nil, err
	}
	l := &Listener{address: address, log: log, tasks: budget.NewTasks("listener", log), mux: http.NewServeMux(), every: retryEvery}
	l.server = &http.Server{
		Handler:           http.HandlerFunc(l.serve),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      writeTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return l.tasks.Context() },
	}
	return l, nil
}

// Mount serves a handler below a path such as /iceberg; the handler sees paths without it. Before Start only.
func (l *Listener) Mount(path string, h http.Handler) {
	path = "/" + strings.Trim(path, "/")
	l.mux.Handle(path+"/", http.StripPrefix(path, h))
	l.mux.Handle(path, http.StripPrefix(path, h))
}

// Start listens and returns. An address that is taken or not there is no reason to stop a broker: it is said once, and tried
// again until it is free or Stop is called.
func (l *Listener) Start() {
	socket, err := l.listen()
	if err != nil {
		l.log.Error("listener.unavailable", "address", l.address, "error", err.Error(), "retry", l.every,
			"effect", "no metrics, no table states and no catalog over HTTP on this broker until the address is free; everything else goes on")
	}
	started := l.tasks.Go("serve", func(ctx context.Context) {
		for err != nil && budget.Sleep(ctx, l.every) {
			socket, err = l.listen()
		}
		if err != nil {
			return
		}
		if err := l.server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			l.log.Error("listener.failed", "address", l.address, "error", err.Error())
		}
	})
	if !started && err == nil {
		_ = socket.Close()
	}
}

func (l *Listener) listen() (net.Listener, error) {
	socket, err := net.Listen("tcp", l.address)
	if err == nil {
		l.bound.Store(socket.Addr().String())
		l.log.Info("listener.started", "address", socket.Addr().String())
	}
	return socket, err
}

// Address is host:port of the socket, "" while nothing listens.
func (l *Listener) Address() string {
	address, _ := l.bound.Load().(string)
	return address
}

// Stop refuses new requests, lets the running ones finish until d has passed, and then closes their connections. It may be
// called again, and without Start.
func (l *Listener) Stop(d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if err := l.server.Shutdown(ctx); err != nil {
		_ = l.server.Close()
	}
	l.tasks.Stop(d)
}

// serve is the one entrance: bounds the body, recovers.
func (l *Listener) serve(w http.ResponseWriter, r *http.Request) {
	answer := &started{ResponseWriter: w}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		l.log.Error("listener.panic", "method", r.Method, "path", fmt.Sprintf("%q", r.URL.Path), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		if answer.begun {
			panic(http.ErrAbortHandler) // the client must not take half an answer for a whole one
		}
		http.Error(w, "internal error", http.StatusInternalServerError)
	}()
	r.Body = http.MaxBytesReader(answer, r.Body, maxBody)
	l.mux.ServeHTTP(answer, r)
}

// started notes whether an answer has begun.
type started struct {
	http.ResponseWriter
	begun bool
}

func (s *started) WriteHeader(code int) {
	s.begun = true
	s.ResponseWriter.WriteHeader(code)
}

func (s *started) Write(p []byte) (int, error) {
	s.begun = true
	return s.ResponseWriter.Write(p)
}

// Metrics answers with all series of a set in the Prometheus text format.
func Metrics(set *telemetry.Set) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		var text strings.Builder
		if err := set.WriteText(&text); err != nil {
			http.Error(w, "metrics cannot be read", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write([]byte(text.String())) // a client that has gone is no news
	})
}
