package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	promiseRow = regexp.MustCompile(`(?m)^\| ([A-Z]{2}\d+) \| (.+) \| (.+) \|$`)
	proof      = regexp.MustCompile("`([^`]+)`")
)

// TestPromisesHaveTheirTests keeps docs/promises.md true: every promise names a proof, and every proof named is there.
func TestPromisesHaveTheirTests(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "promises.md"))
	if err != nil {
		t.Fatal(err)
	}
	kept, _, found := strings.Cut(string(page), "## Not kept yet")
	rows := promiseRow.FindAllStringSubmatch(kept, -1)
	if !found || len(rows) < 15 {
		t.Fatalf("docs/promises.md has %d promises that are kept", len(rows))
	}
	if lines := strings.Count(kept, "\n| "); lines != len(rows)+2 { // the header and its rule
		t.Errorf("%d lines of the table are no promise with an id, a sentence and a proof", lines-len(rows)-2)
	}
	bench := benchRows(t)
	seen := map[string]bool{}
	for _, row := range rows {
		id := row[1]
		if seen[id] {
			t.Errorf("%s is there twice", id)
		}
		seen[id] = true
		proofs := proof.FindAllStringSubmatch(row[3], -1)
		if len(proofs) == 0 || strings.TrimSpace(proof.ReplaceAllString(row[3], "")) != "" {
			t.Errorf("%s: the proof is %q, not a list of tests", id, row[3])
		}
		for _, p := range proofs {
			if fault := missing(p[1], bench); fault != "" {
				t.Errorf("%s: `%s`: %s", id, p[1], fault)
			}
		}
	}
}

// missing says what is not there of a proof: path:name of a test in Go or Java, or bench and a row.
func missing(name string, bench string) string {
	if row, ok := strings.CutPrefix(name, "bench "); ok {
		if !strings.Contains(bench, `"`+row+`"`) {
			return "no such row in bench"
		}
		return ""
	}
	path, test, ok := strings.Cut(name, ":")
	if !ok {
		return "neither path:test nor bench row"
	}
	source, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		return err.Error()
	}
	declared := `(?m)^func ` + regexp.QuoteMeta(test) + `\(t \*testing\.T\)`
	if strings.HasSuffix(path, ".java") {
		declared = `@Test\s+void ` + regexp.QuoteMeta(test) + `\(\)`
	}
	if !regexp.MustCompile(declared).Match(source) {
		return "no such test in that file"
	}
	return ""
}

// benchRows is the source of the benchmarks, which holds the names of all rows.
func benchRows(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "bench", "*", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of bench: %v", err)
	}
	var all strings.Builder
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(raw)
	}
	return all.String()
}
