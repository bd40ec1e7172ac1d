package measure

import (
	"os"
	"testing"
	"time"
)

func TestThreadsAreGroupedByWhatTheyDo(t *testing.T) {
	const rest = " S 1 1 1 0 -1 4194368 1 0 0 0 150 50 7 9 20 0 1 0 5 0 0"
	for name, want := range map[string]string{
		"C2 CompilerThre": "JIT compiler", "G1 Conc#0": "garbage collector", "data-plane-kafk": "network threads and request handlers",
		"remote-log-read": "remote readers", "kafka-rlm-copy-": "remote copiers", "java": "library", "a (b) c": "others",
	} {
		got, cpu, err := parseThread("42 (" + name + ")" + rest)
		if err != nil || got != name || groupOf(got) != want || cpu != 2*time.Second {
			t.Errorf("%q: %q in %q, %v, %v", name, got, groupOf(got), cpu, err)
		}
	}
	if _, _, err := parseThread("42 nameless"); err == nil {
		t.Error("a line without a name was taken")
	}
}

func TestThreadsOfThisProcess(t *testing.T) {
	all, err := ThreadsOf(os.Getpid())
	if err != nil || len(all) == 0 {
		t.Fatalf("%v, %v", all, err)
	}
	if d := all.Since(all); len(d) != 0 {
		t.Errorf("nothing was used meanwhile: %v", d)
	}
}
