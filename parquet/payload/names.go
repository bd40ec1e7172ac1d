package payload

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"tidemark/parquet/schema"
)

// Unmapped is the column of the properties that the schema does not name.
const Unmapped = "_unmapped"

// reserved are names that engines give a meaning to (Iceberg spec, reserved field ids) or that Tidemark uses itself.
var reserved = []string{
	"_file", "_pos", "_deleted", "_partition", "_spec_id", "_row_id", "_last_updated_sequence_number", Unmapped,
}

// maxName bounds a column name: catalogs keep names in columns of a few hundred bytes.
const maxName = 255

// names gives columns of one level distinct names.
type names struct{ taken map[string]bool }

// newNames makes the names of one level; the top level has names that are taken from the start.
func newNames(top bool, more []string) *names {
	n := &names{taken: map[string]bool{}}
	if !top {
		return n
	}
	for _, f := range append(schema.System(), schema.RawValue()) {
		n.take(f.Name)
	}
	for _, name := range append(append([]string(nil), reserved...), more...) {
		n.take(name)
	}
	return n
}

func (n *names) take(name string) { n.taken[strings.ToLower(name)] = true }

// name is the column name of a source name: ASCII characters other than letters, digits and _ become _, everything else
// stays. If it is taken, without regard to case, it gets the first free suffix __2, __3, …
func (n *names) name(source string) string {
	folded := fold(source)
	name := folded
	for i := 2; n.taken[strings.ToLower(name)]; i++ {
		name = folded + "__" + strconv.Itoa(i)
	}
	n.take(name)
	return name
}

func fold(source string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= utf8.RuneSelf, r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, source)
	if len(name) > maxName {
		name = name[:maxName]
		for !utf8.ValidString(name) {
			name = name[:len(name)-1]
		}
	}
	if name == "" {
		return "_"
	}
	return name
}
