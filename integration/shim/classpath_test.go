package shim

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/integration/cluster"
)

// alone checks that nothing in the jar can hide a class of another jar on the broker's one class path, and that its classes need
// nothing there but Kafka, its SLF4J and the JDK, so that no version of another library matters.
func alone(t *testing.T, jar string) {
	z, err := zip.OpenReader(jar)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	classes := 0
	for _, f := range z.File {
		ours := strings.HasPrefix(f.Name, "io/tidemark/kafka/") || f.Name == "io/" || f.Name == "io/tidemark/"
		switch {
		case ours && strings.HasSuffix(f.Name, ".class"):
			classes++
		case strings.HasPrefix(f.Name, "META-INF/services/") || strings.HasPrefix(f.Name, "META-INF/versions/"):
			t.Errorf("%s changes what other jars do", f.Name)
		case !ours && !strings.HasPrefix(f.Name, "META-INF/"):
			t.Errorf("%s is not ours", f.Name)
		}
	}
	if classes < 20 {
		t.Errorf("only %d classes in the jar", classes)
	}
	needs := map[string]bool{}
	for line := range strings.Lines(run(t, nil, "jdeps", "-verbose:package", "--ignore-missing-deps", jar)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[1] != "->" || !strings.HasPrefix(fields[0], "io.tidemark.") {
			continue
		}
		needs[fields[2]] = true
		if !allowedPackage(fields[2]) {
			t.Errorf("%s needs %s", fields[0], fields[2])
		}
	}
	for _, known := range []string{"java.lang", "org.slf4j", "org.apache.kafka.common"} {
		if !needs[known] {
			t.Errorf("jdeps does not see that %s is needed, so it sees nothing: %v", known, needs)
		}
	}
}

func allowedPackage(name string) bool {
	for _, prefix := range []string{"java.", "javax.management", "io.tidemark.kafka", "org.apache.kafka.", "org.slf4j"} {
		if strings.HasPrefix(name+".", strings.TrimSuffix(prefix, ".")+".") {
			return true
		}
	}
	return false
}

// beside runs the plugin class with another SLF4J in front of Kafka's own, as vendors' images have it.
func beside(t *testing.T, jar, other string) {
	const version = "2.0.17"
	newer := slf4j(t, version)
	classPath := compile(t, "4.4.0")
	out := run(t, []string{"GOGC=off"}, "java", "-Xmx256m", "-Djava.io.tmpdir="+t.TempDir(), "-cp", newer+"/*:"+classPath, "Shim", jar, other)
	if !strings.HasSuffix(out, "done\n") {
		t.Errorf("the program did not reach its end:\n%s", out)
	}
	for _, want := range []string{"INFO io.tidemark", "boundary.open"} { // in the layout of slf4j-simple
		if !strings.Contains(out, want) {
			t.Errorf("the log has no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "StaticLoggerBinder") {
		t.Errorf("the SLF4J in use is not %s:\n%s", version, out)
	}
}

// slf4j is a folder with an SLF4J and its simplest provider.
func slf4j(t *testing.T, version string) string {
	t.Helper()
	target := filepath.Join(cluster.CacheDir(), "slf4j-"+version)
	if _, err := os.Stat(target); err == nil {
		return target
	}
	if err := os.MkdirAll(cluster.CacheDir(), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(cluster.CacheDir(), ".slf4j")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	for _, artifact := range []string{"slf4j-api", "slf4j-simple"} {
		run(t, nil, "mvn", "-q", "-B", "-Dstyle.color=never", "dependency:copy", "-Dartifact=org.slf4j:"+artifact+":"+version, "-DoutputDirectory="+filepath.Join(work, "out"))
	}
	// Another run may have been first: its folder is as good as ours.
	if err := os.Rename(filepath.Join(work, "out"), target); err != nil {
		if _, there := os.Stat(target); there != nil {
			t.Fatal(err)
		}
	}
	return target
}
