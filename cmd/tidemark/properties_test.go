package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"tidemark/internal/status"
)

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.properties")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadProperties(t *testing.T) {
	got, err := readProperties(written(t, strings.Join([]string{
		"# a comment that ends in a backslash \\", "! another", "", "   ",
		"rsm.config.a=1", "  rsm.config.b : two words  ", "rsm.config.c three", "rsm.config.d=", "rsm.config.e",
		"rsm.config.f=x\\", "    y\\", "z", `rsm.config.g=C:\\dir\\`, "rsm.config.h=next line is its own", `rsm.config.i=\u00e4\t|`, `rsm.config.j\=k=v=w:x`,
		"log.dirs=/x", "rsm.config.l=${notareference}",
	}, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "1", "b": "two words", "c": "three", "d": "", "e": "", "f": "xyz", "g": `C:\dir\`, "h": "next line is its own", "i": "ä\t|",
		"j=k": "v=w:x", "l": "${notareference}"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestReadPropertiesRefuses(t *testing.T) {
	for _, c := range []struct {
		text  string
		class status.Class
		words []string
	}{
		{"log.dirs=/x\n", status.Invalid, []string{"no setting that starts with rsm.config."}},
		{"a=" + strings.Repeat("x", maxLine+1), status.Invalid, []string{"longer than"}},
		{"rsm.config.store.type=s3\nrsm.config.store.s3.secret.key=${file:/run/secrets/s3:key}\n", status.Unsupported,
			[]string{"rsm.config.store.s3.secret.key", "config provider file,", "a copy of the file"}},
		{"rsm.config.store.path=/a/${env:DIR}/b\n", status.Unsupported, []string{"rsm.config.store.path", "config provider env,"}},
	} {
		path := written(t, c.text)
		_, err := readProperties(path)
		if !status.Is(err, c.class) {
			t.Errorf("%.60q: %v", c.text, err)
			continue
		}
		for _, w := range append(c.words, path) {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%.60q: %v lacks %q", c.text, err, w)
			}
		}
	}
	if _, err := readProperties("/does/not/exist"); !status.Is(err, status.Invalid) {
		t.Error(err)
	}
	// What only a broker needs may stay a reference.
	if _, err := readProperties(written(t, "rsm.config.store.type=file\nrsm.config.local.dir=${env:HOME}/t\n")); err != nil {
		t.Error(err)
	}
}
