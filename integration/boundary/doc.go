// Package boundary is the test that a JVM and the native library understand each other.
//
// It builds the library with a scripted instance behind it (build tag boundarytest), compiles the real declarations of
// the native methods and calls all of them from Java under -Xcheck:jni.
//
// # Guarantees
//
// What passes here passes through the same exports, glue, frames, handles and slabs that a broker uses.
//
// # Not its job
//
// Storage, Kafka, and the plugin classes around the native methods.
//
// # Concurrency
//
// One JVM per test.
//
// # Entry points
//
// go test ./integration/boundary. It needs a JDK 17 or later and a C compiler.
package boundary
