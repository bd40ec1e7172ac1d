package driver

import (
	"strings"
	"testing"

	"tidemark/bench/broker"
	"tidemark/integration/cluster"
)

func TestAnswers(t *testing.T) {
	a, err := parse("ok ns=1500 bytes=3.5")
	if err != nil || a["bytes"] != 3.5 || a.Took() != 1500 {
		t.Errorf("%v, %v", a, err)
	}
	if _, err := parse("error java.io.IOException: no"); err == nil || !strings.Contains(err.Error(), "IOException: no") {
		t.Errorf("%v", err)
	}
	if _, err := parse("ok ns=many"); err == nil {
		t.Error("an answer without a number was taken")
	}
}

// TestAPluginIsDriven goes through copy, fetch, index and delete of LocalTieredStorage, and sees what is wrong.
func TestAPluginIsDriven(t *testing.T) {
	libs, err := cluster.FetchLocalTieredStorage("4.4.0")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	segments, err := WriteSegments(dir, 1, 3, 100_000, 0)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Start(Options{Kafka: "4.4.0", Class: broker.LocalClass, Libs: libs, Dir: dir + "/driver",
		Settings: map[string]string{"dir": dir + "/store", "delete.on.close": "false"}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx := t.Context()
	if _, err := d.Configure(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Each(ctx, 2, segments, d.Copy); err != nil {
		t.Fatal(err)
	}
	for _, r := range [][2]int64{{0, -1}, {1000, -1}, {1000, 1999}} {
		if _, err := d.Fetch(ctx, segments[1], r[0], r[1], 4096); err != nil {
			t.Errorf("%v: %v", r, err)
		}
	}
	if a, err := d.Index(ctx, segments[0], "OFFSET"); err != nil || a["bytes"] == 0 {
		t.Errorf("%v, %v", a, err)
	}
	other := segments[2]
	other.content = append([]byte{1}, other.content[1:]...)
	if _, err := d.Fetch(ctx, other, 0, -1, 4096); err == nil || !strings.Contains(err.Error(), "differ") {
		t.Errorf("other bytes were not seen: %v", err)
	}
	if _, err := d.Delete(ctx, segments[0]); err != nil {
		t.Error(err)
	}
	if _, err := d.Fetch(ctx, segments[0], 0, -1, 4096); err == nil {
		t.Error("a deleted segment was read")
	}
}
