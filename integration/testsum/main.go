// Command testsum runs go test, shows a line per package and per failure, and ends with "N passed, N failed" over all
// suites of the run: -from FILE adds the counts at the end of another suite's output, -show FILE prints what a suite left. It exits with 1 if anything failed.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
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
	sub                     bool                // count subtests in place of the tests that have them
	output                  map[string][]string // of the tests running, by package and test
	failedTests             []string
}

func main() {
	s := summary{output: map[string][]string{}}
	show := flag.String("show", "", "`file` to print before the counts")
	flag.BoolVar(&s.sub, "sub", false, "count subtests in place of tests; every test has some")
	flag.Func("from", "`file` that ends with N passed, N failed of another suite", s.add)
	flag.Parse()
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
	if *show != "" {
		text, err := os.ReadFile(*show)
		if err != nil {
			fmt.Println(err)
		}
		fmt.Printf("\n%s\n", text)
	}
	fmt.Printf("go test: %.0f s, %d skipped\n", time.Since(started).Seconds(), s.skipped)
	fmt.Printf("%d passed, %d failed\n", s.passed, s.failed)
	if s.failed > 0 {
		os.Exit(1)
	}
}

var counts = regexp.MustCompile(`(?m)^(\d+) passed, (\d+) failed$`)

// add takes the last counts of a file; a file without any is a suite that did not end.
func (s *summary) add(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	found := counts.FindAllSubmatch(raw, -1)
	if len(found) == 0 { // the suite did not end
		fmt.Printf("%s has no line like 3 passed, 0 failed\n", file)
		s.failed++
		s.failedTests = append(s.failedTests, file)
		return nil
	}
	last := found[len(found)-1]
	passed, _ := strconv.Atoi(string(last[1]))
	failed, _ := strconv.Atoi(string(last[2]))
	s.passed += passed
	s.failed += failed
	return nil
}

// take counts tests, or subtests where those are asked for, and shows what an operator of the build wants to see.
func (s *summary) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		s.output[key] = append(s.output[key], e.Output)
		if _, line, ok := strings.Cut(e.Output, ": SCENARIO "); ok { // long tests say what they saw
			fmt.Print("     ", line)
		} else if e.Action == "build-output" {
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
		if strings.Contains(e.Test, "/") != s.sub {
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
