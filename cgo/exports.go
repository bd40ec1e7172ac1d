//go:build cgo

package main

// #include <stdlib.h>
// #include "tm.h"
import "C"

import (
	"time"
	"unsafe"

	"tidemark/cgo/dispatch"
)

//export tm_abi
func tm_abi() C.int32_t { return dispatch.ABI }

//export tm_free
func tm_free(p unsafe.Pointer) { C.free(p) }

//export tm_init
func tm_init(req unsafe.Pointer, n C.int64_t, errb *C.tm_buf) (class C.int32_t) {
	defer guard("tm_init", &class, errb)
	entered("tm_init")
	return fail(errb, process.Init(frame(req, n)))
}

//export tm_slabs
func tm_slabs(base *unsafe.Pointer, count *C.int32_t, size *C.int64_t) (class C.int32_t) {
	defer guard("tm_slabs", &class, nil)
	entered("tm_slabs")
	*base, *count, *size = slabs.base, C.int32_t(slabs.count), C.int64_t(slabs.size)
	return 0
}

//export tm_rsm_open
func tm_rsm_open(req unsafe.Pointer, n C.int64_t, inst *C.uint64_t, errb *C.tm_buf) (class C.int32_t) {
	defer guard("tm_rsm_open", &class, errb)
	entered("tm_rsm_open")
	h, err := process.Open(frame(req, n))
	*inst = C.uint64_t(h)
	return fail(errb, err)
}

//export tm_rsm_close
func tm_rsm_close(inst C.uint64_t, deadlineMs C.int32_t, errb *C.tm_buf) (class C.int32_t) {
	defer guard("tm_rsm_close", &class, errb)
	entered("tm_rsm_close")
	return fail(errb, process.Close(dispatch.Handle(inst), millis(deadlineMs)))
}

//export tm_op_new
func tm_op_new(inst C.uint64_t) (op C.uint64_t) {
	var class C.int32_t
	defer guard("tm_op_new", &class, nil)
	entered("tm_op_new")
	return C.uint64_t(process.OpNew(dispatch.Handle(inst)))
}

//export tm_op_cancel
func tm_op_cancel(op C.uint64_t) (class C.int32_t) {
	defer guard("tm_op_cancel", &class, nil)
	entered("tm_op_cancel")
	process.OpCancel(dispatch.Handle(op))
	return 0
}

//export tm_op_free
func tm_op_free(op C.uint64_t) (class C.int32_t) {
	defer guard("tm_op_free", &class, nil)
	entered("tm_op_free")
	process.OpFree(dispatch.Handle(op))
	return 0
}

//export tm_copy
func tm_copy(op C.uint64_t, req unsafe.Pointer, n C.int64_t, reply, errb *C.tm_buf) (class C.int32_t) {
	defer guard("tm_copy", &class, errb)
	entered("tm_copy")
	custom, err := process.Copy(dispatch.Handle(op), frame(req, n))
	return answer(reply, errb, custom, err)
}

//export tm_stream_open
func tm_stream_open(op C.uint64_t, req unsafe.Pointer, n C.int64_t, stream *C.uint64_t, total *C.int64_t, errb *C.tm_buf) (class C.int32_t) {
	defer guard("tm_stream_open", &class, errb)
	entered("tm_stream_open")
	h, size, err := process.StreamOpen(dispatch.Handle(op), frame(req, n))
	*stream, *total = C.uint64_t(h), C.int64_t(size)
	return fail(errb, err)
}

//export tm_stream_next
func tm_stream_next(stream C.uint64_t, slab *C.int32_t, off, length *C.int64_t, errb *C.tm_buf) (class C.int32_t) {
	defer guard("tm_stream_next", &class, errb)
	entered("tm_stream_next")
	i, from, n, err := process.StreamNext(dispatch.Handle(stream))
	*slab, *off, *length = C.int32_t(i), C.int64_t(from), C.int64_t(n)
	return fail(errb, err)
}

//export tm_stream_close
func tm_stream_close(stream C.uint64_t) (class C.int32_t) {
	defer guard("tm_stream_close", &class, nil)
	entered("tm_stream_close")
	process.StreamClose(dispatch.Handle(stream))
	return 0
}

//export tm_delete
func tm_delete(op C.uint64_t, req unsafe.Pointer, n C.int64_t, errb *C.tm_buf) (class C.int32_t) {
	defer guard("tm_delete", &class, errb)
	entered("tm_delete")
	return fail(errb, process.Delete(dispatch.Handle(op), frame(req, n)))
}

//export tm_leadership
func tm_leadership(inst C.uint64_t, req unsafe.Pointer, n C.int64_t, errb *C.tm_buf) (class C.int32_t) {
	defer guard("tm_leadership", &class, errb)
	entered("tm_leadership")
	return fail(errb, process.Leadership(dispatch.Handle(inst), frame(req, n)))
}

//export tm_call
func tm_call(op C.uint64_t, req unsafe.Pointer, n C.int64_t, reply, errb *C.tm_buf) (class C.int32_t) {
	defer guard("tm_call", &class, errb)
	entered("tm_call")
	out, err := process.Call(dispatch.Handle(op), frame(req, n))
	return answer(reply, errb, out, err)
}

//export tm_log_poll
func tm_log_poll(limit, waitMs C.int32_t, reply *C.tm_buf) (class C.int32_t) {
	defer guard("tm_log_poll", &class, nil)
	entered("tm_log_poll")
	return answer(reply, nil, process.LogPoll(int(limit), millis(waitMs)), nil)
}

//export tm_log_level
func tm_log_level(level C.int32_t) (class C.int32_t) {
	defer guard("tm_log_level", &class, nil)
	entered("tm_log_level")
	process.LogLevel(int(level))
	return 0
}

//export tm_metrics_schema
func tm_metrics_schema(inst C.uint64_t, reply, errb *C.tm_buf) (class C.int32_t) {
	defer guard("tm_metrics_schema", &class, errb)
	entered("tm_metrics_schema")
	out, err := process.MetricsSchema(dispatch.Handle(inst))
	return answer(reply, errb, out, err)
}

//export tm_metrics
func tm_metrics(inst C.uint64_t, reply, errb *C.tm_buf) (class C.int32_t) {
	defer guard("tm_metrics", &class, errb)
	entered("tm_metrics")
	out, err := process.Metrics(dispatch.Handle(inst))
	return answer(reply, errb, out, err)
}

//export tm_health
func tm_health(reply, errb *C.tm_buf) (class C.int32_t) {
	defer guard("tm_health", &class, errb)
	entered("tm_health")
	out, err := process.Health()
	return answer(reply, errb, out, err)
}

func millis(ms C.int32_t) time.Duration { return time.Duration(ms) * time.Millisecond }
