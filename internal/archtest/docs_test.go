package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var markdownLink = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

func TestLinksOfTheDocsLead(t *testing.T) {
	root := filepath.Join("..", "..")
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/format/*.md", "bench/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	if len(pages) < 10 {
		t.Fatalf("only %d pages found", len(pages))
	}
	for _, page := range pages {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range markdownLink.FindAllStringSubmatch(string(raw), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", page, link[1])
			}
		}
	}
}

// TestTheMapIsTheTree compares the package map of docs/ARCHITECTURE.md with the packages there are.
func TestTheMapIsTheTree(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	mapped := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9/_-]+)` \\|").FindAllStringSubmatch(string(raw), -1) {
		mapped[strings.TrimSuffix(row[1], "/")] = true
	}
	packages := load(t).packages
	for pkg := range packages {
		if !mapped[pkg] && !isOutside(pkg) {
			t.Errorf("docs/ARCHITECTURE.md does not show %s", pkg)
		}
	}
	for pkg := range mapped {
		if info, err := os.Stat(filepath.Join("..", "..", pkg)); err != nil || !info.IsDir() {
			t.Errorf("docs/ARCHITECTURE.md shows %s, which is not there", pkg)
		}
	}
}

// TestEveryFormatHasAPage keeps the reader's list of formats whole.
func TestEveryFormatHasAPage(t *testing.T) {
	for _, page := range []string{
		"segment-object", "sidecar", "custom-metadata", "hold-file", "tombstones", "messages", "catalog-group", "table-files", "ledger", "table-definition", "cluster-mark",
	} {
		if _, err := os.Stat(filepath.Join("..", "..", "docs", "format", page+".md")); err != nil {
			t.Errorf("docs/format/%s.md: %v", page, err)
		}
	}
}
