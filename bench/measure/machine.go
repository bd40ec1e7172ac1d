package measure

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is what a report says about where it was measured.
type Machine struct {
	CPU    string
	Cores  int
	Memory int64 // bytes
	Kernel string
}

// ThisMachine reads the facts from /proc and uname; what cannot be read is "unknown" or 0.
func ThisMachine() Machine {
	m := Machine{CPU: "unknown", Cores: runtime.NumCPU(), Kernel: "unknown"}
	info, _ := os.ReadFile("/proc/cpuinfo")
	m.CPU = cpuModel(string(info), m.CPU)
	mem, _ := os.ReadFile("/proc/meminfo")
	m.Memory, _ = kilobytes(string(mem), "MemTotal:")
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		m.Kernel = text(u.Sysname[:]) + " " + text(u.Release[:]) + " " + text(u.Machine[:])
	}
	return m
}

func cpuModel(info, otherwise string) string {
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return otherwise
}

func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

// Times are the machine's CPU times since boot, in clock ticks.
type Times struct{ Busy, All uint64 }

// Busy reads the times of all cores together: two readings give how busy the machine was between them.
func Busy() Times {
	b, _ := os.ReadFile("/proc/stat")
	return parseTimes(string(b))
}

func parseTimes(stat string) (t Times) {
	line, _, _ := strings.Cut(stat, "\n")
	var v [8]uint64
	_, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7])
	if err != nil {
		return Times{}
	}
	for i, n := range v {
		t.All += n
		if i != 3 && i != 4 { // idle and waiting for disks
			t.Busy += n
		}
	}
	return t
}

// Others is the share, 0 to 1, of the machine's CPU time between two readings that other processes used, when own is what the caller's
// processes used meanwhile.
func Others(from, to Times, own time.Duration) float64 {
	if to.All <= from.All {
		return 0
	}
	others := time.Duration(to.Busy-from.Busy)*tick - own
	return max(0, float64(others)/float64(time.Duration(to.All-from.All)*tick))
}
