package telemetry

import "log/slog"

// Secret is a string that must not be shown: it prints, logs and marshals as [redacted], or as nothing when empty.
type Secret string

const redacted = "[redacted]"

// Reveal returns the value, for the one place that needs it.
func (s Secret) Reveal() string { return string(s) }

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return s.String() }

// LogValue hides the value from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the value from encoding/json and its like.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
