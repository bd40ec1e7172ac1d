package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark/cgo/assemble"
	"tidemark/cgo/assemble/assembletest"
	"tidemark/tables"
)

// world is a broker and an operator beside it.
type world struct {
	*assembletest.Broker
	t      *testing.T
	config string // server.properties
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Broker: assembletest.New(t), t: t, config: filepath.Join(t.TempDir(), "server.properties")}
	w.properties(w.Properties)
	return w
}

func (w *world) properties(p map[string]string) {
	w.t.Helper()
	text := "node.id=1\nlog.dirs=/x\n"
	for _, k := range slices.Sorted(maps.Keys(p)) {
		text += assemble.Prefix + k + "=" + p[k] + "\n"
	}
	if err := os.WriteFile(w.config, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// definitions makes the topic of definitions, as the first broker does.
func (w *world) definitions() {
	w.t.Helper()
	if err := w.Client.EnsureTopic(w.t.Context(), tables.DefinitionsTopic, 1, 1, map[string]string{"cleanup.policy": "compact"}); err != nil {
		w.t.Fatal(err)
	}
}

// tidemark runs a command.
func tidemark(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	code = run(t.Context(), args, &o, &e)
	return code, o.String(), e.String()
}

// at runs a command against the broker.
func (w *world) at(args ...string) (code int, out, errs string) {
	w.t.Helper()
	return tidemark(w.t, append(args, "--bootstrap-server", w.Bootstrap())...)
}

// ok runs a command that has to succeed.
func (w *world) ok(args ...string) string {
	w.t.Helper()
	code, out, errs := w.at(args...)
	if code != exitOK {
		w.t.Fatalf("tidemark %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// fails runs a command that has to end with a code and words on either output.
func (w *world) fails(want int, words []string, args ...string) {
	w.t.Helper()
	code, out, errs := w.at(args...)
	text := out + errs
	bad := code != want
	for _, word := range words {
		bad = bad || !strings.Contains(text, word)
	}
	if bad {
		w.t.Errorf("tidemark %s: exit code %d, want %d and %q\n%s", strings.Join(args, " "), code, want, words, text)
	}
}

var lowerCamel = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)

// object parses the JSON of a command and checks that every name in it is stable: lower camel case.
func (w *world) object(v any, args ...string) {
	w.t.Helper()
	_, out, errs := w.at(append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		w.t.Fatalf("tidemark %s --json: %v\n%s%s", strings.Join(args, " "), err, out, errs)
	}
	var any any
	_ = json.Unmarshal([]byte(out), &any)
	if bad := badNames(any); len(bad) > 0 {
		w.t.Errorf("tidemark %s --json: names %q\n%s", strings.Join(args, " "), bad, out)
	}
}

func badNames(v any) (bad []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if !lowerCamel.MatchString(name) {
				bad = append(bad, name)
			}
			bad = append(bad, badNames(value)...)
		}
	case []any:
		for _, value := range v {
			bad = append(bad, badNames(value)...)
		}
	}
	return bad
}

// filled is a world whose table holds the rows of three segments of three records, and whose instance is closed.
func filled(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.Define(nil)
	w.Open()
	w.Until("the table is live", func() bool { return strings.Contains(w.Log.String(), "to=LIVE") })
	for n := range 3 {
		w.Roll(fmt.Sprint("a", n), fmt.Sprint("b", n), fmt.Sprint("c", n))
		w.Covered(int64(3*n + 3))
	}
	w.Close()
	return w
}

// files are the objects below a prefix whose names end so, by key.
func (w *world) files(prefix, suffix string) (found []string) {
	w.t.Helper()
	err := filepath.WalkDir(filepath.Join(w.StoreDir, prefix), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, suffix) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || len(found) == 0 {
		w.t.Fatalf("%s*%s: %v, %v", prefix, suffix, found, err)
	}
	slices.Sort(found)
	return found
}

// change rewrites a file.
func (w *world) change(path string, f func([]byte) []byte) {
	w.t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, f(data), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
