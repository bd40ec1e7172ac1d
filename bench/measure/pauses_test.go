package measure

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPausesOfAJVM(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gc.log")
	text := "[0.1s][info][gc] Using G1\n[1.2s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 51M->9M(1024M) 7.500ms\n" +
		"[1.3s][info][gc] GC(1) Concurrent Mark Cycle 30.000ms\n[2.2s][info][gc] GC(1) Pause Remark 20M->20M(1024M) 2.250ms\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := PausesOf(file)
	if want := (Pauses{2, 9750 * time.Microsecond, 7500 * time.Microsecond}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if _, err := PausesOf(file + ".none"); err == nil {
		t.Error("a missing log has pauses")
	}
}
