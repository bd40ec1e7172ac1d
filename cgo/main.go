//go:build cgo

package main

// #include "tm.h"
import "C"

import (
	"unsafe"

	"tidemark/cgo/dispatch"
	"tidemark/internal/status"
)

// version is set by the linker (build.sh).
var version = "unset"

var process = dispatch.New(dispatch.Config{
	Version: version,
	Open:    opener,
	Slabs:   mapSlabs,
	Probe:   probe,
})

// slabs is the pool as the other side sees it. Written once by Init, which happens before any call that reads it.
var slabs struct {
	base        unsafe.Pointer
	count, size int
}

func main() {}

func mapSlabs(count, size int) ([][]byte, error) {
	base := C.tm_map(C.int64_t(count) * C.int64_t(size))
	if base == nil {
		return nil, status.Errorf(status.Transient, "the system gives no %d MiB for read buffers", count*size>>20)
	}
	all := unsafe.Slice((*byte)(base), count*size)
	out := make([][]byte, count)
	for i := range out {
		out[i] = all[i*size : (i+1)*size : (i+1)*size]
	}
	slabs.base, slabs.count, slabs.size = base, count, size
	return out, nil
}

func probe() []dispatch.Fact {
	var installed, without C.int32_t
	C.tm_handlers(&installed, &without)
	return []dispatch.Fact{
		{Key: "runtime", Value: "inprocess"},
		{Key: "signal_handlers", Value: int(installed)},
		{Key: "signal_handlers_without_onstack", Value: int(without)},
	}
}

// frame is the request at p. It is the caller's memory, read during the call only.
func frame(p unsafe.Pointer, n C.int64_t) []byte {
	if p == nil || n <= 0 {
		return nil
	}
	return unsafe.Slice((*byte)(p), int(n))
}

// guard is deferred by every export: a panic that no layer below has caught becomes Internal.
func guard(where string, class *C.int32_t, errb *C.tm_buf) {
	if v := recover(); v != nil {
		*class = fail(errb, process.Panicked(where, v))
	}
}

// fail returns the class of err and puts its frame into errb; without memory for it the class alone has to do.
func fail(errb *C.tm_buf, err error) C.int32_t {
	if err == nil {
		return 0
	}
	put(errb, dispatch.EncodeError(err))
	return C.int32_t(status.Of(err))
}

func answer(reply, errb *C.tm_buf, out []byte, err error) C.int32_t {
	if err != nil {
		return fail(errb, err)
	}
	if len(out) > 0 && !put(reply, out) {
		return fail(errb, status.Errorf(status.Internal, "no memory for a reply of %d bytes", len(out)))
	}
	return 0
}

// put copies b into C memory, which the caller frees with tm_free.
func put(dst *C.tm_buf, b []byte) bool {
	if dst == nil {
		return false
	}
	p := C.tm_alloc(C.int64_t(len(b)))
	if p == nil {
		return false
	}
	copy(unsafe.Slice((*byte)(p), len(b)), b)
	dst.p, dst.n = p, C.int64_t(len(b))
	return true
}
