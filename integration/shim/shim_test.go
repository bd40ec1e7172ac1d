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

// compile compiles the program against a Kafka and returns its class path.
func compile(t *testing.T, version string) string {
	t.Helper()
	libs, err := cluster.Fetch(version)
	if err != nil {
		t.Fatal(err)
	}
	classes := t.TempDir()
	run(t, nil, "javac", "-Xlint:all,-classfile", "-Werror", "--release", "17", "-proc:none", "-d", classes,
		"-cp", libs+"/*", "testdata/Shim.java")
	return classes + ":" + libs + "/*"
}

func TestPluginClasses(t *testing.T) {
	jar, other := buildJars(t)
	t.Run("command line tool", func(t *testing.T) { runTool(t, jar) })
	t.Run("nothing else is needed or hidden", func(t *testing.T) { alone(t, jar) })
	t.Run("beside another SLF4J", func(t *testing.T) { beside(t, jar, other) })
	t.Run("refusals", func(t *testing.T) { refusals(t, jar) })
	for _, version := range []string{"4.0.2", "4.4.0"} {
		classPath := compile(t, version)
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
					"-cp", classPath, "Shim", jar, other)
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

// refusals checks the words for what keeps the library from being loaded: one sentence each, and never a dead JVM.
func refusals(t *testing.T, jar string) {
	classPath, dir := compile(t, "4.0.2"), t.TempDir()
	start := func(t *testing.T, env []string, properties ...string) string {
		args := append([]string{"-Xmx128m", "-Dlog4j2.configurationFile=testdata/log4j2.properties"}, properties...)
		out := run(t, env, "java", append(args, "-cp", classPath, "Shim", jar)...)
		for _, line := range strings.Split(out, "\n") {
			if line == "started" || strings.HasPrefix(line, "refused: ") {
				return line
			}
		}
		t.Fatalf("no answer:\n%s", out)
		return ""
	}
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	expect(t, start(t, nil, "-Djava.io.tmpdir="+tmp), "started")
	extracted, err := filepath.Glob(filepath.Join(tmp, "tidemark-*", "*", "libtidemark.so"))
	if err != nil || len(extracted) != 1 {
		t.Fatalf("extracted %v, %v", extracted, err)
	}
	library, err := os.ReadFile(extracted[0])
	if err != nil {
		t.Fatal(err)
	}

	t.Run("an extracted library that was damaged is replaced", func(t *testing.T) {
		damaged := append([]byte{}, library...)
		damaged[len(damaged)/2] ^= 1
		write(t, extracted[0], damaged)
		expect(t, start(t, nil, "-Djava.io.tmpdir="+tmp), "started")
		if again, err := os.ReadFile(extracted[0]); err != nil || string(again) != string(library) {
			t.Errorf("the damaged library is still there, %v", err)
		}
	})
	badLibraries(t, start, library)
	t.Run("a folder that others may write to", func(t *testing.T) {
		if err := os.Chmod(filepath.Dir(filepath.Dir(extracted[0])), 0o777); err != nil {
			t.Fatal(err)
		}
		expect(t, start(t, nil, "-Djava.io.tmpdir="+tmp), "only this user may write to", "Linux/amd64")
	})
	t.Run("libjsig", func(t *testing.T) {
		jsig, _ := filepath.Glob("/usr/lib/jvm/*/lib/libjsig.so")
		if len(jsig) == 0 {
			t.Skip("skipped: no libjsig on this machine")
		}
		expect(t, start(t, []string{"LD_PRELOAD=" + jsig[0]}, "-Djava.io.tmpdir="+t.TempDir()), "libjsig", "LD_PRELOAD")
	})
}

// badLibraries names files that are no library for this machine.
func badLibraries(t *testing.T, start func(*testing.T, []string, ...string) string, library []byte) {
	named := func(t *testing.T, content []byte) string {
		file := filepath.Join(t.TempDir(), "lib.so")
		write(t, file, content)
		return start(t, nil, "-Dtidemark.native.lib="+file)
	}
	t.Run("another architecture", func(t *testing.T) {
		arm := append([]byte{}, library...)
		arm[18], arm[19] = 183, 0
		expect(t, named(t, arm), "built for aarch64", "Linux/amd64", "lib.so")
	})
	t.Run("cut off", func(t *testing.T) { expect(t, named(t, library[:len(library)/2]), "cut off", "lib.so") })
	t.Run("not a library", func(t *testing.T) {
		expect(t, named(t, []byte("no library")), "not a Linux library", "lib.so")
	})
	t.Run("not there", func(t *testing.T) {
		expect(t, start(t, nil, "-Dtidemark.native.lib=/nowhere/lib.so"), "absolute path of a file", "/nowhere/lib.so")
	})
}

func expect(t *testing.T, line string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(line, w) {
			t.Errorf("%q has no %q", line, w)
		}
	}
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o755); err != nil {
		t.Fatal(err)
	}
}
