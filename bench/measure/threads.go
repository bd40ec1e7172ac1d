package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Threads is the CPU time of a broker's threads by what they do. Threads that have ended are not in it.
type Threads map[string]time.Duration

// groups tell what a thread does by how its name begins. The kernel keeps 15 bytes of a name; threads of a library have that of the process.
var groups = []struct{ prefix, group string }{
	{"C1 Compiler", "JIT compiler"}, {"C2 Compiler", "JIT compiler"},
	{"GC Thread", "garbage collector"}, {"G1 ", "garbage collector"}, {"VM Thread", "garbage collector"},
	{"data-plane-kafk", "network threads and request handlers"},
	{"remote-log-read", "remote readers"},
	{"kafka-rlm-copy", "remote copiers"},
	{"java", "library"},
}

// ThreadsOf reads the threads of a process.
func ThreadsOf(pid int) (Threads, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("process %d has no threads (%v)", pid, err)
	}
	all := Threads{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		name, cpu, err := parseThread(string(b))
		if err != nil {
			return nil, err
		}
		all[groupOf(name)] += cpu
	}
	return all, nil
}

func parseThread(stat string) (name string, cpu time.Duration, err error) {
	from, to := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if from < 0 || to < from {
		return "", 0, fmt.Errorf("no name in thread status %.40q", stat)
	}
	c, err := parseStat(stat)
	return stat[from+1 : to], c.User + c.System, err
}

func groupOf(name string) string {
	for _, g := range groups {
		if strings.HasPrefix(name, g.prefix) {
			return g.group
		}
	}
	return "others"
}

// Since is what was used after an earlier reading.
func (t Threads) Since(before Threads) Threads {
	d := Threads{}
	for g, v := range t {
		if v -= before[g]; v > 0 {
			d[g] = v
		}
	}
	return d
}
