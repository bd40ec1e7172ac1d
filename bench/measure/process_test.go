package measure

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

func TestParseStatCountsFieldsAfterTheCommand(t *testing.T) {
	const stat = "42 (a (strange) name 7) S 1 42 42 0 -1 4194560 100 200 0 0 150 50 30 20 20 0 9 0 1000 1 2 3"
	c, err := parseStat(stat)
	if err != nil {
		t.Fatal(err)
	}
	want := CPU{User: 1500 * time.Millisecond, System: 500 * time.Millisecond, Children: 500 * time.Millisecond}
	if c != want || c.Total() != 2500*time.Millisecond {
		t.Errorf("got %+v, total %s", c, c.Total())
	}
	for _, bad := range []string{"", "42 (java", "42 (java) S 1 2 3", "42 (java) S 1 42 42 0 -1 0 0 0 0 0 x 0 0 0 0"} {
		if c, err := parseStat(bad); err == nil {
			t.Errorf("%q gave %+v", bad, c)
		}
	}
}

func TestCPUOfSeesWorkAndEndedChildren(t *testing.T) {
	before, err := CPUOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	own := OwnCPU()
	for x := 1; OwnCPU()-own < 100*time.Millisecond; x++ {
		_ = x * x
	}
	if err := exec.Command("sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done").Run(); err != nil {
		t.Fatal(err)
	}
	after, err := CPUOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	threads := after.User + after.System - before.User - before.System
	if threads < 80*time.Millisecond || after.Children <= before.Children {
		t.Errorf("threads %s after 100 ms of work, children from %s to %s", threads, before.Children, after.Children)
	}
	if _, err := CPUOf(-1); err == nil {
		t.Error("a process that does not exist has CPU time")
	}
}

func TestMemoryOf(t *testing.T) {
	m, err := MemoryOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if m.RSS < 1<<20 || m.Peak < m.RSS {
		t.Errorf("resident %d bytes, at most %d", m.RSS, m.Peak)
	}
	if _, err := parseStatus("VmRSS:\t  12 kB\n"); err == nil {
		t.Error("a status without a peak was accepted")
	}
	got, err := parseStatus("Name:\tjava\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n")
	if err != nil || got != (Memory{RSS: 1 << 20, Peak: 2 << 20}) {
		t.Errorf("got %+v, %v", got, err)
	}
}
