// Package status is the classes an error can have, from which retryability, the JNI status and the metric label follow.
//
// # Guarantees
//
// Every error that leaves a Tidemark package has exactly one class: [Of] never fails, an error without a class is
// [Internal], a cancelled context is [Cancelled], a passed deadline is [Transient]. Class numbers are part of the
// boundary protocol (docs/format/messages.md): they are appended, never reused.
//
// # Not its job
//
// Messages: the text of an error says which object, which range, which attempt, and is written where it happens. It
// never holds a credential or a payload.
//
// # Concurrency
//
// Everything here is immutable and safe for concurrent use.
//
// # Entry points
//
// [Errorf] makes a classified error, [Of] reads the class, [Class.Retryable] decides.
package status
