package shim

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/integration/cluster"
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

// buildJars packs the jar around a scripted library, and a second one that differs in a byte of the library.
func buildJars(t *testing.T) (jar, other string) {
	t.Helper()
	dir := t.TempDir()
	native := filepath.Join(dir, "native")
	lib := filepath.Join(native, "libtidemark.so")
	run(t, []string{"TIDEMARK_TAGS=boundarytest"}, root+"/cgo/build.sh", lib)
	tool := "#!/bin/sh\necho \"tool: $*\"\nread -r line\necho \"input: $line\"\nexit 7\n"
	if err := os.WriteFile(filepath.Join(native, "tidemark"), []byte(tool), 0o755); err != nil {
		t.Fatal(err)
	}
	build := func(name string) string {
		dist := filepath.Join(dir, name)
		run(t, nil, "gradle", "-q", "-p", root, "jar", "-PnativeDir="+native, "-PdistDir="+dist)
		jars, err := filepath.Glob(filepath.Join(dist, "*.jar"))
		if err != nil || len(jars) != 1 {
			t.Fatalf("gradle made %v, %v", jars, err)
		}
		return jars[0]
	}
	jar = build("one")
	f, err := os.OpenFile(lib, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("another build"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return jar, build("other")
}

func TestPluginClasses(t *testing.T) {
	jar, other := buildJars(t)
	t.Run("command line tool", func(t *testing.T) { runTool(t, jar) })
	classes := t.TempDir()
	for _, version := range []string{"4.0.2", "4.4.0"} {
		libs, err := cluster.Fetch(version)
		if err != nil {
			t.Fatal(err)
		}
		run(t, nil, "javac", "-Xlint:all,-classfile", "-Werror", "--release", "17", "-proc:none", "-d", classes,
			"-cp", libs+"/*", "testdata/Shim.java")
		jdks := cluster.JDKs("17", "25")
		for _, name := range []string{"17", "25"} {
			java, ok := jdks[name]
			if !ok {
				t.Logf("skipped: no JDK %s on this machine", name)
				continue
			}
			t.Run("Kafka "+version+" on JDK "+name, func(t *testing.T) {
				// Kafka's own logger writes nothing without a configuration; the warnings go to standard error.
				out := run(t, []string{"GOGC=off"}, java, "-Xmx256m", "-Xcheck:jni",
					"-Dlog4j2.configurationFile=testdata/log4j2.properties", "-Djava.io.tmpdir="+t.TempDir(),
					"-cp", classes+":"+libs+"/*", "Shim", jar, other)
				if !strings.HasSuffix(out, "done\n") {
					t.Errorf("the program did not reach its end:\n%s", out)
				}
				for _, want := range []string{"INFO io.tidemark", "boundary.open", "class.path is set"} {
					if !strings.Contains(out, want) {
						t.Errorf("the log has no %q:\n%s", want, out)
					}
				}
			})
		}
	}
}

// runTool checks that java -jar passes arguments, standard streams and exit code through, with no other class path.
func runTool(t *testing.T, jar string) {
	cmd := exec.Command("java", "-Djava.io.tmpdir="+t.TempDir(), "-jar", jar, "table", "list it")
	cmd.Stdin = strings.NewReader("from outside\n")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 7 || string(out) != "tool: table list it\ninput: from outside\n" {
		t.Errorf("%v: %s", err, out)
	}
}
