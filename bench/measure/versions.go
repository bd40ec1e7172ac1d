package measure

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"tidemark/integration/cluster"
)

// Versions are lines about what was measured: Kafka, Java, the jar and the command (both may be ""), and this benchmark.
func Versions(kafka, jar, cli string) []string {
	lines := []string{"Apache Kafka " + kafka, Printed("java", "-version"), runtime.Version() + ", franz-go " + module("github.com/twmb/franz-go")}
	if jar != "" {
		if b, err := os.ReadFile(jar); err == nil {
			lines = append(lines, fmt.Sprintf("%s, %.1f MB, SHA-256 %x", filepath.Base(jar), float64(len(b))/1e6, sha256.Sum256(b)))
		}
		if cli != "" {
			lines = append(lines, "tidemark command: "+Printed(cli, "version"))
		}
	}
	commit := Printed("git", "rev-parse", "--short=12", "HEAD")
	if Printed("git", "status", "--porcelain", "--untracked-files=no") != "" {
		commit += " with local changes"
	}
	return append(lines, "benchmark of commit "+commit+"; the jar is what its SHA-256 says")
}

// Printed is the first line that a command prints, on whichever stream; it runs in the repository's root.
func Printed(name string, args ...string) string {
	cmd := exec.Command(name, args...)
	if root, err := cluster.Root(); err == nil {
		cmd.Dir = root
	}
	out, err := cmd.CombinedOutput()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil {
		return "unknown"
	}
	return line
}

func module(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, d := range info.Deps {
		if d.Path == path {
			return d.Version
		}
	}
	return "unknown"
}
