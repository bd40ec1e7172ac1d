package dispatch

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"tidemark/internal/status"
)

func TestInitIsIdempotent(t *testing.T) {
	p := start(t, 4, nil)
	same := initFor(4)
	same.LogLevel = 3
	wantClass(t, "same", p.Init(buildInit(same)), status.OK)
	other := initFor(5)
	other.MemoryLimit = 5
	err := p.Init(buildInit(other))
	wantClass(t, "other values", err, status.Invalid)
	for _, part := range []string{"native.slabs is 4, not 5", "native.memory.limit"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
	old := initFor(4)
	old.Version = "0.0.1"
	wantClass(t, "other version", New(Config{Version: "1"}).Init(buildInit(old)), status.Invalid)
}

func TestCrashFile(t *testing.T) {
	p := start(t, 1, nil)
	t.Cleanup(func() { _ = debug.SetCrashOutput(nil, debug.CrashOptions{}) })
	path := filepath.Join(t.TempDir(), "crash.log")
	p.openCrashFile(path)
	if b := p.LogPoll(1<<20, 0); b != nil {
		t.Errorf("a first start logs %q", b)
	}
	if err := os.WriteFile(path, []byte("fatal error: x"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.openCrashFile(path)
	if b := string(p.LogPoll(1<<20, 0)); !strings.Contains(b, "native.crashed file="+path+".1") {
		t.Errorf("log: %q", b)
	}
	if b, err := os.ReadFile(path + ".1"); string(b) != "fatal error: x" {
		t.Errorf("rotated: %q %v", b, err)
	}
	p.openCrashFile(filepath.Join(path, "no/such/dir"))
	if b := string(p.LogPoll(1<<20, 0)); !strings.Contains(b, "native.crash.file") {
		t.Errorf("log: %q", b)
	}
}

func TestHealthBeforeInit(t *testing.T) {
	p := New(Config{Version: "9", Probe: func() []Fact { return []Fact{{"handlers", 3}} }})
	b, err := p.Health()
	if err != nil || !strings.Contains(string(b), "version=9\n") || !strings.Contains(string(b), "handlers=3\n") {
		t.Errorf("%s %v", b, err)
	}
	if p.LogPoll(100, 0) != nil {
		t.Error("a record before anything happened")
	}
}
