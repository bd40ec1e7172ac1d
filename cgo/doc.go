//go:build cgo

// Package main is the C face of Tidemark: the exported functions and the JNI glue around them.
//
// It builds as a shared library (build.sh). Exports are named tm_*, take and return plain numbers and C memory, and are
// free of JNI types; jni.c turns the native methods of io.tidemark.kafka.Native into calls of them.
//
// # Guarantees
//
// Every export begins with a deferred guard: a panic becomes the class Internal. No Go pointer leaves: replies and
// errors are copied into C memory that tm_free takes back, read buffers are mapped once and never unmapped. The glue
// makes JNI calls only before and after its single call into Go, and looks for a pending exception after each that can
// allocate. Request memory is read during the call only.
//
// # Not its job
//
// Any decision: messages, handles and streams are package dispatch's, building an instance is package assemble's.
//
// # Concurrency
//
// Every export may be called from any thread. Go attaches no thread to the JVM, keeps no JNI reference and calls nothing
// back.
//
// # Entry points
//
// tm_abi, tm_init, tm_rsm_open, tm_copy, tm_stream_open, tm_stream_next.
package main
