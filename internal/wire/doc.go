// Package wire is the generated FlatBuffers accessors of boundary messages and of what is stored about a segment.
//
// # Guarantees
//
// The Go here and the Java under jni-shim/src/generated are what flatc makes of the schemas in this folder: nothing is
// edited by hand. Fields are only appended, an id is never reused.
//
// # Not its job
//
// Meaning and safety. FlatBuffers for Go has no verifier: an accessor on damaged bytes may panic or lie. Bytes are
// checked by the frame around them (docs/format/messages.md, docs/format/sidecar.md) before the first accessor runs,
// and accessors are called only where a recover turns a panic into an error.
//
// # Concurrency
//
// Accessors read; a message may be read by several goroutines as long as nobody writes its bytes.
//
// # Entry points
//
// [GetRootAsCopyRequest] and its likes read a message; [CopyRequestStart] and its likes write one with a Builder.
package wire

//go:generate ./generate.sh
