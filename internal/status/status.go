package status

import (
	"context"
	"errors"
	"fmt"
)

// Class says what kind of failure an error is. The zero value means success.
type Class int32

// The classes. Numbers are part of the boundary protocol.
const (
	OK          Class = 0  // no error
	NotFound    Class = 1  // the object, table or topic does not exist
	Corrupt     Class = 2  // bytes that must agree do not: length, checksum, structure
	Conflict    Class = 3  // a condition did not hold: somebody else was first
	Unknown     Class = 4  // the request may or may not have taken effect
	Throttled   Class = 5  // the other side asks for less
	Transient   Class = 6  // may work later: network, time-out, 5xx
	Cancelled   Class = 7  // the caller gave up
	Invalid     Class = 8  // the input is wrong: configuration, message, definition
	Unsupported Class = 9  // right, but not something this version, platform or store can do
	Closed      Class = 10 // the instance or handle is gone
	Internal    Class = 11 // a broken invariant of ours
)

var names = [...]string{
	"OK", "NotFound", "Corrupt", "Conflict", "Unknown", "Throttled",
	"Transient", "Cancelled", "Invalid", "Unsupported", "Closed", "Internal",
}

// Classes are all classes an error can have, in the order of their numbers.
func Classes() []Class {
	all := make([]Class, 0, len(names)-1)
	for i := 1; i < len(names); i++ {
		all = append(all, Class(i))
	}
	return all
}

// String is the name used in logs, metric labels and exception texts.
func (c Class) String() string {
	if c < 0 || int(c) >= len(names) {
		return fmt.Sprintf("Class(%d)", int32(c))
	}
	return names[c]
}

// Retryable reports whether the same request may succeed later without anybody changing anything.
// Unknown is not retryable: the caller must first find out what happened.
func (c Class) Retryable() bool { return c == Throttled || c == Transient }

// Error is an error with a class. The text is complete: it names the object and what was wrong.
type Error struct {
	Class Class
	text  string
	cause error
}

// Error returns the text without the class, which callers print as a field of its own.
func (e *Error) Error() string { return e.text }

// Unwrap returns the cause, if the format held a %w.
func (e *Error) Unwrap() error { return e.cause }

// Errorf makes an error of a class. A %w keeps the cause for errors.Is and errors.As; the new class wins over
// the class of the cause.
func Errorf(c Class, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &Error{Class: c, text: err.Error(), cause: errors.Unwrap(err)}
}

// Wrapf adds context in front of err and keeps its class. It returns nil for a nil err.
func Wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Class: Of(err), text: fmt.Sprintf(format, args...) + ": " + err.Error(), cause: err}
}

// Of returns the class of err: OK for nil, that of the outermost *Error in the chain, Cancelled and Transient for
// context errors, Internal for everything else.
func Of(err error) Class {
	if err == nil {
		return OK
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Class
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		return Transient
	}
	return Internal
}

// Is reports whether err has class c.
func Is(err error, c Class) bool { return Of(err) == c }
