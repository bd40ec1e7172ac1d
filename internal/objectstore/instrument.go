package objectstore

import (
	"context"
	"time"

	"tidemark/internal/status"
	"tidemark/internal/telemetry"
)

// The operations, as metric labels.
const (
	opGet    = "get"
	opRange  = "range"
	opHead   = "head"
	opList   = "list"
	opPut    = "put"
	opDelete = "delete"
)

var ops = []string{opGet, opRange, opHead, opList, opPut, opDelete}

// Instrument counts what a store is asked and how it answers: requests and seconds by operation, bytes read and written,
// errors by class. It belongs below Retrying, so that every attempt counts. One set takes one store: the series have the
// store's name only.
func Instrument(store Store, set *telemetry.Set) Store {
	i := &instrumented{
		Store:    store,
		requests: set.Counters("store_requests_total", "calls of the object store, each attempt", "op", ops...),
		errors:   set.Counters("store_errors_total", "failed calls of the object store", "class", classNames()...),
		read:     set.Counter("store_read_bytes_total", "bytes read from the object store"),
		written:  set.Counter("store_written_bytes_total", "bytes of objects written to the object store"),
		seconds:  map[string]telemetry.Histogram{},
	}
	for _, op := range ops {
		i.seconds[op] = set.Histogram("store_"+op+"_seconds", "duration of "+op+" calls of the object store", telemetry.Seconds)
	}
	return i
}

func classNames() []string {
	var names []string
	for _, c := range status.Classes() {
		names = append(names, c.String())
	}
	return names
}

type instrumented struct {
	Store
	requests, errors map[string]telemetry.Counter
	read, written    telemetry.Counter
	seconds          map[string]telemetry.Histogram
}

// observe is called deferred with the time of the call's start.
func (i *instrumented) observe(op string, start time.Time, err *error) {
	i.requests[op].Inc()
	i.seconds[op].Observe(time.Since(start).Seconds())
	if *err != nil {
		i.errors[status.Of(*err).String()].Inc()
	}
}

// Get counts the call and the bytes.
func (i *instrumented) Get(ctx context.Context, key string, limit int64) (data []byte, info Info, err error) {
	defer i.observe(opGet, time.Now(), &err)
	data, info, err = i.Store.Get(ctx, key, limit)
	i.read.Add(int64(len(data)))
	return data, info, err
}

// ReadRange counts the call and the bytes.
func (i *instrumented) ReadRange(ctx context.Context, key string, dst []byte, offset int64) (err error) {
	defer i.observe(opRange, time.Now(), &err)
	if err = i.Store.ReadRange(ctx, key, dst, offset); err == nil {
		i.read.Add(int64(len(dst)))
	}
	return err
}

// ReadScatter counts the call and the bytes of the filled buffers.
func (i *instrumented) ReadScatter(ctx context.Context, key string, dsts [][]byte, offset int64, filled func(n int)) (err error) {
	defer i.observe(opRange, time.Now(), &err)
	return i.Store.ReadScatter(ctx, key, dsts, offset, func(n int) { i.read.Add(int64(len(dsts[n]))); filled(n) })
}

// Head counts the call.
func (i *instrumented) Head(ctx context.Context, key string) (info Info, err error) {
	defer i.observe(opHead, time.Now(), &err)
	return i.Store.Head(ctx, key)
}

// List counts the call.
func (i *instrumented) List(ctx context.Context, prefix, after string, max int) (page []Info, more bool, err error) {
	defer i.observe(opList, time.Now(), &err)
	return i.Store.List(ctx, prefix, after, max)
}

// Put counts the call and the bytes of a success.
func (i *instrumented) Put(ctx context.Context, key string, src Source, cond Condition) (info Info, err error) {
	defer i.observe(opPut, time.Now(), &err)
	if info, err = i.Store.Put(ctx, key, src, cond); err == nil {
		i.written.Add(src.Size())
	}
	return info, err
}

// Delete counts the call, not its keys.
func (i *instrumented) Delete(ctx context.Context, keys ...string) (err error) {
	defer i.observe(opDelete, time.Now(), &err)
	return i.Store.Delete(ctx, keys...)
}
