// Command cmd runs the fault proxy before an S3 server until it is interrupted, and then prints what passed through as JSON.
//
//	go run ./integration/faultproxy/cmd -target http://127.0.0.1:8333 -listen 127.0.0.1:9000 -latency 30ms -jitter 10ms
//
// With -control it serves GET /totals, GET /requests, POST /forget and POST /rules (a JSON list of rules; durations are nanoseconds).
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"tidemark/integration/faultproxy"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "faultproxy:", err)
		os.Exit(1)
	}
}

func run() error {
	var o faultproxy.Options
	var f faultproxy.Fault
	var rules, control string
	flag.StringVar(&o.Target, "target", "", "http://host:port of the S3 server")
	flag.StringVar(&o.Listen, "listen", "127.0.0.1:0", "host:port to listen on")
	flag.Uint64Var(&o.Seed, "seed", 1, "seed of chances and jitter")
	flag.DurationVar(&f.Latency, "latency", 0, "delay of every request that no rule of the file is for")
	flag.DurationVar(&f.Jitter, "jitter", 0, "latency varies by so much to both sides")
	flag.StringVar(&rules, "rules", "", "JSON file with a list of rules")
	flag.StringVar(&control, "control", "", "host:port of the control endpoint; unset: none")
	flag.Parse()
	var list []faultproxy.Rule
	if rules != "" {
		b, err := os.ReadFile(rules)
		if err == nil {
			err = json.Unmarshal(b, &list)
		}
		if err != nil {
			return err
		}
	}
	p, err := faultproxy.Start(o)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Script(append(list, faultproxy.Rule{Name: "latency", Fault: f})...); err != nil {
		return err
	}
	if control != "" {
		go func() { fmt.Fprintln(os.Stderr, http.ListenAndServe(control, handler(p))) }()
	}
	fmt.Println(p.Endpoint)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	<-ended
	return json.NewEncoder(os.Stdout).Encode(p.Totals())
}

func handler(p *faultproxy.Proxy) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /totals", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(p.Totals()) })
	mux.HandleFunc("GET /requests", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(p.Requests()) })
	mux.HandleFunc("POST /forget", func(http.ResponseWriter, *http.Request) { p.Forget() })
	mux.HandleFunc("POST /rules", func(w http.ResponseWriter, r *http.Request) {
		var rules []faultproxy.Rule
		err := json.NewDecoder(r.Body).Decode(&rules)
		if err == nil {
			err = p.Script(rules...)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	return mux
}
