package main

import (
	"bufio"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"

	"tidemark/cgo/assemble"
	"tidemark/internal/status"
)

// maxLine bounds one line of a properties file.
const maxLine = 1 << 20

// readProperties reads the settings of Tidemark from a server.properties file, prefix stripped.
func readProperties(path string) (map[string]string, error) {
	all, err := readAllProperties(path)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for key, value := range all {
		if name, ok := strings.CutPrefix(key, assemble.Prefix); ok {
			out[name] = value
		}
	}
	if len(out) == 0 {
		return nil, status.Errorf(status.Invalid, "%s has no setting that starts with %s; --config takes the server.properties of a broker with Tidemark", path, assemble.Prefix)
	}
	return out, unresolved(path, out)
}

// readAllProperties reads a server.properties file.
func readAllProperties(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, status.Errorf(status.Invalid, "read the configuration: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	out := map[string]string{}
	for lines.Scan() {
		line := strings.TrimLeft(lines.Text(), " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continues(line) && lines.Scan() {
			line = line[:len(line)-1] + strings.TrimLeft(lines.Text(), " \t\f")
		}
		key, value := property(line)
		out[key] = value
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = status.Errorf(status.Invalid, "a line is longer than %d bytes", maxLine)
		}
		return nil, status.Errorf(status.Invalid, "read %s: %w", path, err)
	}
	return out, nil
}

// reference is how Kafka writes a value that a config provider has.
var reference = regexp.MustCompile(`\$\{([^}:]*):[^}]*\}`)

// unresolved names the settings of the store that only the broker can resolve.
func unresolved(path string, properties map[string]string) error {
	for _, key := range assemble.StoreSettings(properties) {
		if m := reference.FindStringSubmatch(properties[key]); m != nil {
			return status.Errorf(status.Unsupported, "%s%s in %s is taken from the config provider %s, which only the broker asks; "+
				"give --config a copy of the file with the value itself", assemble.Prefix, key, path, m[1])
		}
	}
	return nil
}

// continues reports whether a line goes on in the next: it ends in an odd number of backslashes.
func continues(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// property splits a logical line as java.util.Properties does: the key ends at the first =, : or blank that is not escaped.
func property(line string) (key, value string) {
	end := 0
	for end < len(line) && !strings.ContainsRune("=: \t\f", rune(line[end])) {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	rest := strings.TrimLeft(line[end:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	// Kafka trims values of its settings.
	return unescape(line[:end]), strings.TrimSpace(unescape(rest))
}

var escapes = map[byte]string{'t': "\t", 'n': "\n", 'r': "\r", 'f': "\f"}

func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		if text[i] == 'u' && i+4 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+5], 16, 16); err == nil {
				b.WriteRune(rune(n))
				i += 4
				continue
			}
		}
		if special, ok := escapes[text[i]]; ok {
			b.WriteString(special)
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
