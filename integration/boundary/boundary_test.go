package boundary

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// run runs a command of the test to its end and fails the test with its output if it fails.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func buildLibrary(t *testing.T) string {
	t.Helper()
	lib := filepath.Join(t.TempDir(), "libtidemark.so")
	run(t, []string{"TIDEMARK_TAGS=boundarytest"}, root+"/cgo/build.sh", lib)
	return lib
}

func TestJavaCallsEveryExport(t *testing.T) {
	lib := buildLibrary(t)
	t.Run("symbols", func(t *testing.T) { checkELF(t, lib) })
	version, err := os.ReadFile(root + "/VERSION")
	if err != nil {
		t.Fatal(err)
	}
	crash := filepath.Join(t.TempDir(), "crash.log")
	frames := writeFrames(t, strings.TrimSpace(string(version)), crash)
	classes := t.TempDir()
	run(t, nil, "javac", "-Xlint:all", "-Werror", "--release", "17", "-d", classes,
		"-sourcepath", root+"/jni-shim/src/main/java",
		root+"/jni-shim/src/main/java/io/tidemark/kafka/Native.java", "testdata/Smoke.java", "testdata/Panics.java")
	out := run(t, []string{"GOGC=off", "GOMEMLIMIT=1MiB"}, "java", "-Xcheck:jni", "-Xmx128m",
		"-cp", classes, "io.tidemark.kafka.Smoke", lib, frames)
	if !strings.HasSuffix(out, "\ndone\n") {
		t.Errorf("the program did not reach its end:\n%s", out)
	}
	for _, export := range exports(t) {
		if !strings.Contains(out, "\nok panic in "+export+"\n") {
			t.Errorf("testdata/Panics.java does not let %s panic", export)
		}
	}
	for _, line := range strings.Split(out, "\n") {
		// The JVM notices that Go put itself in front of its handlers, which is what Go must do.
		known := strings.Contains(line, "handler") || strings.Contains(line, "libjsig") || strings.Contains(line, "jsig library")
		if strings.Contains(line, "WARNING") && !known {
			t.Errorf("-Xcheck:jni: %s\n%s", line, out)
		}
	}
	if _, err := os.Stat(crash); err != nil {
		t.Errorf("crash file: %v", err)
	}
}

// checkELF looks at what a JVM that loads the library can see and must rely on.
func checkELF(t *testing.T, lib string) {
	f, err := elf.Open(lib)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	exported := 0
	for _, s := range symbols {
		if s.Section == elf.SHN_UNDEF || elf.ST_BIND(s.Info) == elf.STB_LOCAL {
			continue
		}
		exported++
		if s.Name != "JNI_OnLoad" && !strings.HasPrefix(s.Name, "Java_io_tidemark_kafka_Native_") && !strings.HasPrefix(s.Name, "tm_") {
			t.Errorf("%s is exported", s.Name)
		}
	}
	if exported < 40 {
		t.Errorf("%d symbols are exported", exported)
	}
	flags, err := f.DynValue(elf.DT_FLAGS_1)
	if err != nil || len(flags) != 1 || elf.DynFlag1(flags[0])&elf.DF_1_NODELETE == 0 {
		t.Errorf("DT_FLAGS_1 = %v, %v: the library could be unloaded", flags, err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_TLS && p.Memsz > 16 {
			t.Errorf("%d bytes of static TLS: loading fails when the JVM's surplus is used up", p.Memsz)
		}
	}
}
