package key

import "strings"

// escape starts an escaped byte. It is safe in S3 keys, in file names and unencoded in the path of a URI ('%' and '~'
// are not all three).
const escape = '!'

const hexDigits = "0123456789ABCDEF"

// Escape makes any string one part of a key: letters, digits, '-', '_' and '.' stay, a leading dot and every other byte
// become '!' and two upper-case hex digits, and the empty string becomes a lone '!'. The result is at most three times
// as long; a file store refuses parts above 255 bytes.
func Escape(name string) string {
	if name == "" {
		return string(escape)
	}
	var out strings.Builder
	out.Grow(len(name))
	for i := range len(name) {
		c := name[i]
		if plain(c, i) {
			out.WriteByte(c)
			continue
		}
		out.WriteByte(escape)
		out.WriteByte(hexDigits[c>>4])
		out.WriteByte(hexDigits[c&15])
	}
	return out.String()
}

// Unescape is the inverse of [Escape]; ok is false for a string that Escape does not write.
func Unescape(part string) (name string, ok bool) {
	if part == string(escape) {
		return "", true
	}
	out := make([]byte, 0, len(part))
	for i := 0; i < len(part); i++ {
		c := part[i]
		if c == escape {
			if i+2 >= len(part) {
				return "", false
			}
			hi, lo := strings.IndexByte(hexDigits, part[i+1]), strings.IndexByte(hexDigits, part[i+2])
			if hi < 0 || lo < 0 {
				return "", false
			}
			c = byte(hi<<4 | lo)
			if plain(c, len(out)) {
				return "", false
			}
			i += 2
		} else if !plain(c, len(out)) {
			return "", false
		}
		out = append(out, c)
	}
	return string(out), len(out) > 0
}

// plain reports whether byte c stays as it is at position i of a name.
func plain(c byte, i int) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		return true
	}
	return c == '.' && i > 0
}
