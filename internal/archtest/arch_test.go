package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "tidemark/"

// source is one parsed file.
type source struct {
	path      string // relative to the root
	file      *ast.File
	lines     int
	test      bool
	generated bool
}

// tree is the repository, by package directory.
type tree struct {
	fset     *token.FileSet
	packages map[string][]source
}

func load(t *testing.T) tree {
	t.Helper()
	root := filepath.Join("..", "..")
	out := tree{fset: token.NewFileSet(), packages: map[string][]source{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "build" || name == "testdata" || len(name) > 2 && name[0] == '.' && name[1] != '.') {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(out.fset, path, raw, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(rel))
		out.packages[dir] = append(out.packages[dir], source{path: rel, file: f, lines: bytes.Count(raw, []byte("\n")),
			test: strings.HasSuffix(name, "_test.go"), generated: ast.IsGenerated(f)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.packages) < 10 {
		t.Fatalf("only %d packages found from %s", len(out.packages), root)
	}
	return out
}

func under(p string, roots []string) bool {
	for _, r := range roots {
		if p == r || strings.HasPrefix(p, r+"/") {
			return true
		}
	}
	return false
}

func imports(s source) []string {
	var out []string
	for _, i := range s.file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		out = append(out, p)
	}
	return out
}

func allowed(r rule, p string) bool {
	for _, a := range r.imports {
		if a == "..." || a == p || strings.HasSuffix(a, "/...") && strings.HasPrefix(p, strings.TrimSuffix(a, "...")) {
			return true
		}
	}
	return false
}

// isOutside reports whether a package is not part of the product: free in its imports, unseen by the broker.
func isOutside(pkg string) bool { return under(pkg, []string{"integration", "bench"}) }

func TestImportsFollowTheTable(t *testing.T) {
	for pkg, files := range load(t).packages {
		if isOutside(pkg) {
			continue
		}
		r, known := rules[pkg]
		if !known {
			t.Errorf("%s is not in the table of rules.go", pkg)
			continue
		}
		for _, s := range files {
			if s.test {
				continue
			}
			for _, p := range imports(s) {
				own, isOwn := strings.CutPrefix(p, module)
				switch {
				case isOwn && !under(pkg, tests) && under(own, tests):
					t.Errorf("%s imports %s, which is for tests only", s.path, own)
				case isOwn && !allowed(r, own):
					t.Errorf("%s may not import %s", s.path, own)
				case !isOwn && strings.Contains(p, ".") && !hasPrefix(p, r.libs) && !allowed(r, p):
					t.Errorf("%s may not import %s", s.path, p)
				}
			}
		}
	}
}

func hasPrefix(p string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(p, prefix) })
}

func TestLibrariesStandInOnePlace(t *testing.T) {
	for pkg, files := range load(t).packages {
		if isOutside(pkg) {
			continue
		}
		for _, s := range files {
			for _, p := range imports(s) {
				for lib, owners := range exclusive {
					if (p == lib || strings.HasPrefix(p, lib) && lib != "C") && !s.test && !slices.Contains(owners, pkg) && !under(pkg, tests) {
						t.Errorf("%s imports %s, which belongs to %v", s.path, p, owners)
					}
				}
			}
		}
	}
}

func TestForbiddenEdges(t *testing.T) {
	packages := load(t).packages
	reach := map[string]map[string]bool{}
	var visit func(pkg string) map[string]bool
	visit = func(pkg string) map[string]bool {
		if reach[pkg] != nil {
			return reach[pkg]
		}
		seen := map[string]bool{}
		reach[pkg] = seen
		for _, s := range packages[pkg] {
			if s.test {
				continue
			}
			for _, p := range imports(s) {
				if own, ok := strings.CutPrefix(p, module); ok {
					seen[own] = true
					for q := range visit(own) {
						seen[q] = true
					}
				}
			}
		}
		return seen
	}
	for pkg := range packages {
		for _, e := range forbidden {
			if !under(pkg, []string{e.from}) {
				continue
			}
			for p := range visit(pkg) {
				if under(p, []string{e.to}) {
					t.Errorf("%s reaches %s: %s", pkg, p, e.reason)
				}
			}
		}
	}
}

func TestPackagesAreDocumented(t *testing.T) {
	for pkg, files := range load(t).packages {
		if isOutside(pkg) && !under(pkg, []string{"integration/cluster", "integration/objectserver"}) {
			continue
		}
		var doc string
		main := false
		for _, s := range files {
			if s.file.Doc != nil && !s.test {
				doc = s.file.Doc.Text()
			}
			main = main || s.file.Name.Name == "main"
		}
		if main {
			if doc == "" {
				t.Errorf("%s has no package comment", pkg)
			}
			continue
		}
		for _, section := range []string{"# Guarantees", "# Not its job", "# Concurrency", "# Entry points"} {
			if !strings.Contains(doc, section) {
				t.Errorf("%s: the package comment has no section %q", pkg, section)
			}
		}
	}
}

func TestSizes(t *testing.T) {
	tr := load(t)
	for pkg, files := range tr.packages {
		total := 0
		for _, s := range files {
			if s.generated {
				continue
			}
			if s.lines > maxFileLines {
				t.Errorf("%s has %d lines, the limit is %d", s.path, s.lines, maxFileLines)
			}
			if !s.test {
				total += s.lines
			}
			for _, d := range s.file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || s.test {
					continue
				}
				if n := tr.fset.Position(f.End()).Line - tr.fset.Position(f.Pos()).Line + 1; n > maxFunctionLines {
					t.Errorf("%s: %s has %d lines, the limit is %d", s.path, f.Name.Name, n, maxFunctionLines)
				}
			}
		}
		if total > maxPackageLines {
			t.Errorf("%s has %d lines, the limit is %d", pkg, total, maxPackageLines)
		}
	}
}

func TestBannedCalls(t *testing.T) {
	tr := load(t)
	for pkg, files := range tr.packages {
		if isOutside(pkg) || under(pkg, tests) || under(pkg, []string{"cmd", "cgo/assemble/configdoc", "cgo/assemble/metricsdoc"}) {
			continue
		}
		for _, s := range files {
			if s.test {
				continue
			}
			for _, p := range imports(s) {
				if slices.Contains(bannedImports, p) || rules[pkg].pure && slices.Contains(impureImports, p) {
					t.Errorf("%s may not import %s", s.path, p)
				}
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					if pkg != "internal/budget" {
						t.Errorf("%s: a bare go statement at %s; budget.Tasks starts goroutines", s.path, tr.fset.Position(n.Pos()))
					}
				case *ast.SelectorExpr:
					x, ok := n.X.(*ast.Ident)
					if !ok {
						return true
					}
					call := x.Name + "." + n.Sel.Name
					if slices.Contains(bannedCalls, call) || rules[pkg].pure && slices.Contains(impureCalls, call) {
						t.Errorf("%s: %s at %s", s.path, call, tr.fset.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}
