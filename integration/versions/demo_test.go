package versions

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"tidemark/integration/cluster"
	"tidemark/integration/rig"
)

// TestDemo: the main job, which is make demo with fewer rows, on every version.
func TestDemo(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	demo := filepath.Join(t.TempDir(), "demo")
	if out, err := exec.Command("go", "build", "-tags", "netgo,osusergo", "-o", demo, "tidemark/integration/demo").CombinedOutput(); err != nil {
		t.Fatalf("build the demo: %v\n%s", err, out)
	}
	each(t, "demo: tiered, consumed, read as a table", all, func(t *testing.T, version string) string {
		cmd := exec.Command(demo, "-kafka", version, "-rows", "84000", "-dir", filepath.Join("build", "versions-demo", version),
			"-jar", rig.Built(t, "build/dist/tidemark-*.jar"), "-cli", rig.Built(t, "build/native/tidemark"))
		cmd.Dir = root
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		saw := regexp.MustCompile(`(?m)^Tiered: +(\d+ records, [0-9.]+ MB in \d+ segments)`).FindStringSubmatch(out.String())
		if saw == nil {
			t.Fatalf("the demo does not say what it tiered:\n%s", out.String())
		}
		return saw[1] + " equal through the consumer, DuckDB and PyIceberg"
	})
}
