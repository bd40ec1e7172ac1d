package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// handler is the slog.Handler in front of the ring. A record becomes its event name and key=value pairs. The attribute
// "logger" names the logger on the other side; "stack" comes last, on lines of its own.
type handler struct {
	ring   *logRing
	logger string
	prefix string // of groups, with a dot
	attrs  string // of With, formatted
}

func (r *logRing) handler() slog.Handler { return handler{ring: r, logger: rootLogger} }

func (h handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.ring.level.Level()
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	l := line{logger: h.logger}
	l.text.WriteString(h.attrs)
	for _, a := range attrs {
		l.add(h.prefix, a)
	}
	h.logger, h.attrs = l.logger, l.String()
	return h
}

func (h handler) WithGroup(name string) slog.Handler {
	if name != "" {
		h.prefix += name + "."
	}
	return h
}

func (h handler) Handle(_ context.Context, rec slog.Record) error {
	l := line{logger: h.logger}
	l.text.WriteString(clean(rec.Message, false))
	l.text.WriteString(h.attrs)
	rec.Attrs(func(a slog.Attr) bool { l.add(h.prefix, a); return l.text.Len() < maxMessage })
	text := l.String()
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage-3], "") + "…"
	}
	logger := l.logger
	if len(logger) > maxShort {
		logger = rootLogger
	}
	h.ring.put(logRecord{levelNumber(rec.Level), logger, text})
	return nil
}

func levelNumber(l slog.Level) uint8 {
	switch {
	case l < slog.LevelInfo:
		return 0
	case l < slog.LevelWarn:
		return 1
	case l < slog.LevelError:
		return 2
	}
	return 3
}

type line struct {
	logger string
	text   strings.Builder
	stack  string
}

func (l *line) String() string {
	if l.stack == "" {
		return l.text.String()
	}
	return l.text.String() + "\n" + l.stack
}

func (l *line) add(prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, g := range v.Group() {
			l.add(prefix, g)
		}
		return
	}
	switch {
	case a.Equal(slog.Attr{}):
	case prefix == "" && a.Key == "logger":
		l.logger = clean(v.String(), false)
	case prefix == "" && a.Key == "stack":
		l.stack = clean(v.String(), true)
	default:
		l.text.WriteString(" " + clean(prefix+a.Key, false) + "=" + quote(valueText(v)))
	}
}

func valueText(v slog.Value) string {
	switch x := v.Any().(type) {
	case error:
		return x.Error()
	case time.Time:
		return x.UTC().Format(time.RFC3339Nano)
	case fmt.Stringer:
		return x.String()
	}
	return v.String()
}

// quote keeps plain values as they are and quotes the rest, so that a value cannot imitate another attribute.
func quote(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == '"' || r == '=' || r == utf8.RuneError
	})
	if plain {
		return s
	}
	return strconv.Quote(s)
}

// clean takes control characters out of text that is not quoted; lines keeps line feeds and tabs.
func clean(s string, lines bool) string {
	bad := func(r rune) bool {
		return (unicode.IsControl(r) && !(lines && (r == '\n' || r == '\t'))) || r == utf8.RuneError
	}
	if !strings.ContainsFunc(s, bad) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if bad(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}
