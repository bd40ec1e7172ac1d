package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of CPU times in /proc/PID/stat: USER_HZ is 100 on every Linux that Kafka runs on.
const tick = 10 * time.Millisecond

// CPU is the CPU time a process has used since it started.
type CPU struct {
	User, System time.Duration // of its threads
	Children     time.Duration // of ended child processes it waited for
}

// Total is the sum; a broker that leaves work to child processes pays for it.
func (c CPU) Total() time.Duration { return c.User + c.System + c.Children }

// CPUOf reads the CPU time of a process from /proc/PID/stat (proc_pid_stat(5), fields 14 to 17).
func CPUOf(pid int) (CPU, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return CPU{}, err
	}
	return parseStat(string(b))
}

func parseStat(stat string) (CPU, error) {
	// The command in parentheses may hold spaces and parentheses: fields are counted from the last one.
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return CPU{}, fmt.Errorf("no command in process status %.40q", stat)
	}
	fields := strings.Fields(stat[end+1:]) // fields[0] is field 3, the state
	if len(fields) < 15 {
		return CPU{}, fmt.Errorf("process status has only %d fields after the command", len(fields))
	}
	var ticks [4]time.Duration
	for i := range ticks {
		n, err := strconv.ParseInt(fields[11+i], 10, 64)
		if err != nil {
			return CPU{}, fmt.Errorf("field %d of process status: %w", 14+i, err)
		}
		ticks[i] = time.Duration(n) * tick
	}
	return CPU{User: ticks[0], System: ticks[1], Children: ticks[2] + ticks[3]}, nil
}

// OwnCPU is the CPU time of this process.
func OwnCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Memory is the resident memory of a process in bytes.
type Memory struct{ RSS, Peak int64 }

// MemoryOf reads the resident memory of a process from /proc/PID/status: VmRSS, and VmHWM as its peak.
func MemoryOf(pid int) (Memory, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, err
	}
	return parseStatus(string(b))
}

func parseStatus(status string) (m Memory, err error) {
	if m.RSS, err = kilobytes(status, "VmRSS:"); err != nil {
		return m, err
	}
	m.Peak, err = kilobytes(status, "VmHWM:")
	return m, err
}

// kilobytes is the value of a "name  n kB" line in bytes.
func kilobytes(lines, name string) (int64, error) {
	for line := range strings.Lines(lines) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s %w", name, err)
		}
		return n * 1024, nil
	}
	return 0, fmt.Errorf("there is no %s line", name)
}
