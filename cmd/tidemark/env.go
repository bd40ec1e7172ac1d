package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"tidemark/catalog/builtin"
	"tidemark/cgo/assemble"
	"tidemark/internal/kafkaclient"
	"tidemark/internal/objectstore"
)

// env is what commands share: flags, outputs, and the broker and store behind them, opened when first used.
type env struct {
	out, errs io.Writer
	bootstrap string
	config    string
	json      bool
	timeout   time.Duration
	given     map[string]bool // flags that were given

	create createFlags
	topic  string
	data   bool // verify reads everything
	grace  time.Duration
	scrub  scrubFlags

	kafka   *kafkaclient.Client
	store   objectstore.Store
	catalog *builtin.Catalog
	release func() // of the store
}

func (e *env) flags(f *flag.FlagSet) {
	f.StringVar(&e.bootstrap, "bootstrap-server", "localhost:9092", "`host:port` of a broker")
	f.StringVar(&e.config, "config", "", "a broker's server.properties `file`: where the store is")
	f.BoolVar(&e.json, "json", false, "print JSON")
	f.DurationVar(&e.timeout, "timeout", time.Minute, "how `long` to wait for brokers and stores")
}

// context bounds a command's calls.
func (e *env) context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, e.timeout)
}

func (e *env) log() *slog.Logger {
	return slog.New(slog.NewTextHandler(e.errs, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

func (e *env) client() (*kafkaclient.Client, error) {
	if e.kafka != nil {
		return e.kafka, nil
	}
	c, err := kafkaclient.Open(kafkaclient.Config{Bootstrap: e.bootstrap, ClientID: "tidemark-cli", Log: e.log()})
	if err != nil {
		return nil, err
	}
	e.kafka = c
	return c, nil
}

// open opens the store and the catalog of --config.
func (e *env) open(ctx context.Context) error {
	if e.store != nil {
		return nil
	}
	if e.config == "" {
		return usageError("--config FILE is needed: a broker's server.properties, which says where the store is")
	}
	properties, err := readProperties(e.config)
	if err != nil {
		return err
	}
	e.store, e.catalog, e.release, err = assemble.OpenStore(ctx, properties, e.log())
	return err
}

func (e *env) close() {
	if e.kafka != nil {
		e.kafka.Close()
	}
	if e.release != nil {
		e.release()
	}
}

// print writes v as JSON with --json, else calls text.
func (e *env) print(v any, text func(w io.Writer)) error {
	if !e.json {
		text(e.out)
		return nil
	}
	enc := json.NewEncoder(e.out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// progress tells a person what a long command is doing; it is silent with --json.
func (e *env) progress(format string, args ...any) {
	if !e.json {
		fmt.Fprintf(e.errs, format+"\n", args...)
	}
}
