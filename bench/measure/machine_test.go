package measure

import (
	"testing"
	"time"
)

func TestThisMachine(t *testing.T) {
	m := ThisMachine()
	if m.Cores < 1 || m.Memory < 1<<20 || m.Kernel == "unknown" {
		t.Errorf("this machine is %+v", m)
	}
}

func TestCPUModel(t *testing.T) {
	if got := cpuModel("processor\t: 0\nmodel name\t: A CPU @ 2.10GHz\n", "unknown"); got != "A CPU @ 2.10GHz" {
		t.Errorf("got %q", got)
	}
	if got := cpuModel("processor\t: 0\n", "unknown"); got != "unknown" {
		t.Errorf("got %q", got)
	}
}

func TestOthers(t *testing.T) {
	from := parseTimes("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2 3\n")
	to := parseTimes("cpu  160 10 120 900 10 0 0 0 0 0\n")
	if from != (Times{Busy: 200, All: 1000}) || to != (Times{Busy: 290, All: 1200}) {
		t.Fatalf("parsed %+v and %+v", from, to)
	}
	// 90 of 200 ticks were busy, own processes used 50 of them.
	if got := Others(from, to, 500*time.Millisecond); got != 0.2 {
		t.Errorf("others used %v", got)
	}
	if got := Others(from, to, time.Hour); got != 0 {
		t.Errorf("more own time than busy time gave %v", got)
	}
	if got := Others(to, to, 0); got != 0 {
		t.Errorf("no time gave %v", got)
	}
	if got := parseTimes("intr 5"); got != (Times{}) {
		t.Errorf("garbage gave %+v", got)
	}
}
