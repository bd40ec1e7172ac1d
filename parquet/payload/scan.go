package payload

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner checks JSON text against RFC 8259 and finds where values end. Positions are byte offsets; -1 means that the text
// is bad, and fault says why.
type scanner struct {
	b     []byte
	depth int // nesting that is still allowed
	fault struct {
		reason Reason
		at     int
		text   string
	}
}

func (s *scanner) reset(b []byte, depth int) { s.b, s.depth = b, depth }

func (s *scanner) fail(reason Reason, at int, text string) int {
	s.fault.reason, s.fault.at, s.fault.text = reason, at, text
	return -1
}

// bad is the fault as a row error.
func (s *scanner) bad() *BadValue {
	return &BadValue{Stage: StageDecode, Reason: s.fault.reason, Message: s.fault.text + " at byte " + strconv.Itoa(s.fault.at)}
}

// space skips white space.
func (s *scanner) space(i int) int {
	for i < len(s.b) && (s.b[i] == ' ' || s.b[i] == '\n' || s.b[i] == '\r' || s.b[i] == '\t') {
		i++
	}
	return i
}

// value returns the end of the value that starts at i.
func (s *scanner) value(i int) int {
	if i >= len(s.b) {
		return s.fail(BadJSON, i, "the text ends early")
	}
	switch c := s.b[i]; {
	case c == '"':
		end, _ := s.text(i)
		return end
	case c == '{':
		return s.object(i)
	case c == '[':
		return s.array(i)
	case c == '-' || c >= '0' && c <= '9':
		return s.number(i)
	case c == 't':
		return s.literal(i, "true")
	case c == 'f':
		return s.literal(i, "false")
	case c == 'n':
		return s.literal(i, "null")
	}
	return s.fail(BadJSON, i, "no JSON value")
}

func (s *scanner) literal(i int, word string) int {
	if len(s.b)-i < len(word) || string(s.b[i:i+len(word)]) != word {
		return s.fail(BadJSON, i, "no JSON value")
	}
	return i + len(word)
}

// enter starts an object or array at i and returns the position of its first content.
func (s *scanner) enter(i int) int {
	if s.depth--; s.depth < 0 {
		return s.fail(Limit, i, "nested too deep")
	}
	return s.space(i + 1)
}

func (s *scanner) object(i int) int {
	if i = s.enter(i); i < 0 {
		return -1
	}
	if i < len(s.b) && s.b[i] == '}' {
		s.depth++
		return i + 1
	}
	for {
		_, _, i = s.key(i)
		if i < 0 {
			return -1
		}
		if i = s.value(i); i < 0 {
			return -1
		}
		var more bool
		if i, more = s.next(i, '}'); i < 0 || !more {
			s.depth++
			return i
		}
	}
}

func (s *scanner) array(i int) int {
	if i = s.enter(i); i < 0 {
		return -1
	}
	if i < len(s.b) && s.b[i] == ']' {
		s.depth++
		return i + 1
	}
	for {
		if i = s.value(i); i < 0 {
			return -1
		}
		var more bool
		if i, more = s.next(i, ']'); i < 0 || !more {
			s.depth++
			return i
		}
	}
}

// key reads the key at i with its colon. key is the text between the quotes, escaped whether it has a backslash; next is
// the start of the value.
func (s *scanner) key(i int) (key []byte, escaped bool, next int) {
	if i >= len(s.b) || s.b[i] != '"' {
		return nil, false, s.fail(BadJSON, i, "no key")
	}
	end, escaped := s.text(i)
	if end < 0 {
		return nil, false, -1
	}
	key = s.b[i+1 : end-1]
	i = s.space(end)
	if i >= len(s.b) || s.b[i] != ':' {
		return nil, false, s.fail(BadJSON, i, "no colon")
	}
	return key, escaped, s.space(i + 1)
}

// next goes over the comma after a value, or over the closing bracket; more tells which.
func (s *scanner) next(i int, closing byte) (next int, more bool) {
	i = s.space(i)
	switch {
	case i >= len(s.b):
	case s.b[i] == ',':
		return s.space(i + 1), true
	case s.b[i] == closing:
		return i + 1, false
	}
	return s.fail(BadJSON, i, "no comma or closing bracket"), false
}

// plain marks the bytes of a string that need no look: printable ASCII but quote and backslash.
var plain = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// text returns the end of the string that starts at i with its quote, and whether it has escapes.
func (s *scanner) text(i int) (end int, escaped bool) {
	b := s.b
	for i++; ; {
		for i < len(b) && plain[b[i]] {
			i++
		}
		if i >= len(b) {
			return s.fail(BadJSON, i, "the text ends inside a string"), false
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			if i = s.escape(i); i < 0 {
				return -1, false
			}
		case c < 0x20:
			return s.fail(BadJSON, i, "control character in a string"), false
		default:
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n <= 1 {
				return s.fail(BadUTF8, i, "invalid UTF-8"), false
			}
			i += n
		}
	}
}

// escape returns the end of the escape sequence (for a surrogate, of the pair) that starts at i.
func (s *scanner) escape(i int) int {
	if i+1 >= len(s.b) {
		return s.fail(BadJSON, i, "the text ends inside a string")
	}
	switch s.b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		r := hex4(s.b[i+2:])
		switch {
		case r < 0:
			return s.fail(BadJSON, i, "bad escape")
		case r < 0xd800 || r > 0xdfff:
			return i + 6
		case r < 0xdc00 && len(s.b) > i+7 && s.b[i+6] == '\\' && s.b[i+7] == 'u':
			if low := hex4(s.b[i+8:]); low >= 0xdc00 && low <= 0xdfff {
				return i + 12
			}
		}
		return s.fail(BadUTF8, i, "lone surrogate")
	}
	return s.fail(BadJSON, i, "bad escape")
}

// hex4 is the number in the first four hexadecimal digits of b, -1 if there are none.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	r := rune(0)
	for _, c := range b[:4] {
		d := hexDigit(c)
		if d < 0 {
			return -1
		}
		r = r<<4 | rune(d)
	}
	return r
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// unescape appends the meaning of the checked text between two quotes to dst.
func unescape(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		start := i
		for i < len(text) && text[i] != '\\' {
			i++
		}
		dst = append(dst, text[start:i]...)
		if i == len(text) {
			break
		}
		switch c := text[i+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(text[i+2:])
			if utf16.IsSurrogate(r) {
				r = utf16.DecodeRune(r, hex4(text[i+8:]))
				i += 6
			}
			dst = utf8.AppendRune(dst, r)
			i += 4
		default:
			dst = append(dst, c)
		}
		i += 2
	}
	return dst
}

// number returns the end of the number that starts at i.
func (s *scanner) number(i int) int {
	start, b := i, s.b
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case i < len(b) && b[i] >= '1' && b[i] <= '9':
		i = digits(b, i)
	default:
		return s.fail(BadJSON, start, "bad number")
	}
	if i < len(b) && b[i] == '.' {
		if j := digits(b, i+1); j > i+1 {
			i = j
		} else {
			return s.fail(BadJSON, start, "bad number")
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if j := digits(b, i); j > i {
			i = j
		} else {
			return s.fail(BadJSON, start, "bad number")
		}
	}
	if i < len(b) && (b[i] >= '0' && b[i] <= '9' || b[i] == '.' || b[i] == '+' || b[i] == '-') {
		return s.fail(BadJSON, start, "bad number") // 01, 1.2.3, 1-2
	}
	return i
}

func digits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}
