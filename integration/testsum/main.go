// Command testsum runs go test, shows a line per package and per failure, and ends with "N passed, N failed" over all
// suites of the run: counts of other suites are given with -add passed,failed. It exits with 1 if anything failed.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

type summary struct {
	passed, failed, skipped int
	output                  map[string][]string // of the tests running, by package and test
	failedTests             []string
}

func main() {
	add := flag.String("add", "", "counts of other suites: passed,failed")
	flag.Parse()
	s := summary{output: map[string][]string{}}
	if *add != "" {
		if _, err := fmt.Sscanf(*add, "%d,%d", &s.passed, &s.failed); err != nil {
			fmt.Fprintln(os.Stderr, "testsum: -add wants passed,failed:", err)
			os.Exit(2)
		}
	}
	started := time.Now()
	cmd := exec.Command("go", append([]string{"test", "-json"}, flag.Args()...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(2)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 1<<20), 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text())
			continue
		}
		s.take(e)
	}
	runErr := cmd.Wait()
	if runErr != nil && s.failed == 0 {
		s.failed++ // a package that did not build
	}
	for _, name := range s.failedTests {
		fmt.Println("FAILED", name)
	}
	fmt.Printf("go test: %.0f s, %d skipped\n", time.Since(started).Seconds(), s.skipped)
	fmt.Printf("%d passed, %d failed\n", s.passed, s.failed)
	if s.failed > 0 {
		os.Exit(1)
	}
}

// take counts tests (not subtests) and shows what an operator of the build wants to see.
func (s *summary) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		s.output[key] = append(s.output[key], e.Output)
		if strings.HasPrefix(e.Output, "    SCENARIO ") || e.Action == "build-output" {
			fmt.Print(e.Output)
		}
	case "pass", "skip", "fail":
		if e.Test == "" {
			fmt.Printf("%-4s %s %.1fs\n", e.Action, e.Package, e.Elapsed)
			if e.Action == "fail" {
				fmt.Print(strings.Join(s.output[key], ""))
			}
			delete(s.output, key)
			return
		}
		if e.Action != "pass" {
			fmt.Printf("--- %s %s %s\n%s", e.Action, e.Package, e.Test, strings.Join(s.output[key], ""))
		}
		delete(s.output, key)
		if strings.Contains(e.Test, "/") {
			return
		}
		switch e.Action {
		case "pass":
			s.passed++
		case "skip":
			s.skipped++
		default:
			s.failed++
			s.failedTests = append(s.failedTests, key)
		}
	}
}
